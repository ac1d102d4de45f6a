// What the mutation engine plants in small kernels, and what it leaves alone.
#include "mutate/mutate.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace klineage;

namespace {

SourceSet kernelOf(const std::string &text) {
  SourceSet set;
  set.mainFile = "/klineage-test/kernel.cu";
  set.files[set.mainFile] = "#include <cuda_runtime.h>\n" + text;
  return set;
}

/// The texts that an operation makes of a kernel, in order.
std::vector<std::string> made(const std::string &text, const std::string &operation) {
  SourceSet set = kernelOf(text);
  auto mutants = mutantsOf(set);
  EXPECT_TRUE(mutants) << (mutants ? "" : mutants.error().message());
  std::vector<std::string> texts;
  if (!mutants) return texts;
  for (const Mutant &mutant : *mutants) {
    if (mutant.operation != operation) continue;
    auto changed = applyEdits(set, mutant.edits);
    EXPECT_TRUE(changed) << mutant.id();
    if (changed) texts.push_back(changed->mainText());
  }
  return texts;
}

bool holds(const std::vector<std::string> &texts, const std::string &what) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string &text) { return text.find(what) != std::string::npos; });
}

const std::string mirror = R"(
__global__ void mirror(const float *x, float *y, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = tile[63 - threadIdx.x];
}
extern "C" void launch(const float *x, float *y, int n, cudaStream_t s) { mirror<<<(n + 63) / 64, 64, 0, s>>>(x, y, n); }
)";

} // namespace

TEST(Mutate, SameVersionGivesTheSameListAndEveryMutantDiffers) {
  SourceSet set = kernelOf(mirror);
  auto once = mutantsOf(set), again = mutantsOf(set);
  ASSERT_TRUE(once && again);
  ASSERT_EQ(once->size(), again->size());
  std::set<std::string> texts{set.mainText()};
  for (size_t i = 0; i < once->size(); ++i) {
    EXPECT_EQ((*once)[i].id(), (*again)[i].id());
    auto changed = applyEdits(set, (*once)[i].edits);
    ASSERT_TRUE(changed);
    EXPECT_TRUE(texts.insert(changed->mainText()).second) << (*once)[i].id();
  }
  EXPECT_GE(once->size(), 12u);
}

TEST(Mutate, BarrierIsDroppedAndMovedOverTheAccessesBesideIt) {
  EXPECT_TRUE(holds(made(mirror, "barrier_dropped"), "(void)0;\n  if (i < n)"));
  EXPECT_TRUE(holds(made(mirror, "barrier_moved_up"), "__syncthreads(); tile[threadIdx.x] ="));
  EXPECT_TRUE(made(mirror, "barrier_moved_down").empty()) << "nothing stands behind the last access";
}

TEST(Mutate, GuardsAreDroppedWidenedAndClosed) {
  EXPECT_EQ(made(mirror, "guard_dropped").size(), 2u);
  EXPECT_TRUE(holds(made(mirror, "guard_widened"), "if (i <= n)"));
  EXPECT_TRUE(holds(made(mirror, "guard_closed"), "false ? x[i]"));
}

TEST(Mutate, LaunchLosesItsPartialBlockAndMayReadItsOutput) {
  EXPECT_TRUE(holds(made(mirror, "division_floored"), "(n) / 64"));
  EXPECT_TRUE(holds(made(mirror, "buffer_aliased"), "(y, y, n)"));
}

TEST(Mutate, SharedArrayIsShrunkOnlyWhereItsLengthIsWritten) {
  EXPECT_TRUE(holds(made(mirror, "shared_shrunk"), "tile[(64) - 1]"));
  EXPECT_TRUE(made("__global__ void k(float *y) { extern __shared__ float s[]; s[threadIdx.x] = 1; y[0] = s[0]; }\n", "shared_shrunk").empty());
}

TEST(Mutate, NamesDoNotMatter) {
  // A function of the kernel's own that is called like a barrier's wrapper is none; the barrier inside it is found there.
  const std::string wrapped = "__device__ void everybody() { __syncthreads(); }\n__global__ void k(float *y) { y[threadIdx.x] = 1; everybody(); y[0] = 2; }\n";
  EXPECT_EQ(made(wrapped, "barrier_dropped").size(), 1u);
  EXPECT_TRUE(holds(made(wrapped, "barrier_dropped"), "everybody() { (void)0; }"));
}

TEST(Mutate, InstantiationsOfOneTemplateAreOneText) {
  const std::string two = "template <int N> __global__ void k(float *y) { for (int i = 0; i < N; ++i) y[i] = 1; }\n"
                          "extern \"C\" void launch(float *y) { k<4><<<1, 1>>>(y); k<8><<<1, 1>>>(y); }\n";
  EXPECT_EQ(made(two, "loop_bound_more").size(), 1u);
}

TEST(Mutate, AccumulatorsLoseTheirStartAndTheirDigits) {
  const std::string sum = "__global__ void k(const float *x, float *y, int n) {\n  float total = 0.0f, most = -1e30f;\n  float part = 0.0f;\n"
                          "  for (int i = 0; i < n; ++i) part += x[i];\n  y[0] = part;\n}\n";
  EXPECT_TRUE(holds(made(sum, "identity_wrong"), "part = (0.0f) + 1"));
  EXPECT_TRUE(holds(made(sum, "initializer_dropped"), "float part;"));
  EXPECT_TRUE(holds(made(sum, "accumulator_narrowed"), "part = __half2float(__float2half(part + (x[i])))"));
}

TEST(Mutate, WarpSyncsMasksAndLanesAreTouched) {
  const std::string warp = "__global__ void k(float *y) {\n  float v = y[threadIdx.x];\n  v += __shfl_down_sync(0xffffffffu, v, 4);\n  __syncwarp();\n  y[threadIdx.x] = v;\n}\n";
  EXPECT_TRUE(holds(made(warp, "mask_bit_dropped"), "0x7fffffffu"));
  EXPECT_TRUE(holds(made(warp, "shuffle_lane"), "(4) + 1"));
  EXPECT_TRUE(holds(made(warp, "shuffle_direction"), "__shfl_up_sync"));
  EXPECT_EQ(made(warp, "syncwarp_dropped").size(), 1u);
}

TEST(Mutate, AtomicsBecomePlainOnlyWhereTheOldValueIsNotUsed) {
  EXPECT_TRUE(holds(made("__global__ void k(int *y) { atomicAdd(&y[0], 1); }\n", "atomic_to_plain"), "*(&y[0]) += 1"));
  EXPECT_TRUE(made("__global__ void k(int *y) { y[1] = atomicAdd(&y[0], 1); }\n", "atomic_to_plain").empty());
}

TEST(Mutate, CodeInAMacrosBodyIsLeftAlone) {
  EXPECT_TRUE(made("#define WAIT(c) do { if (c) __syncthreads(); } while (0)\n__global__ void k(float *y) { y[threadIdx.x] = 1; WAIT(true); y[0] = 2; }\n", "barrier_dropped").empty());
  // A whole expansion has a place of its own.
  EXPECT_EQ(made("#define WAIT() __syncthreads()\n__global__ void k(float *y) { y[threadIdx.x] = 1; WAIT(); y[0] = 2; }\n", "barrier_dropped").size(), 1u);
}

TEST(Mutate, VersionThatDoesNotParseIsAnErrorWithItsPlace) {
  auto mutants = mutantsOf(kernelOf("__global__ void k( {}\n"));
  ASSERT_FALSE(mutants);
  EXPECT_NE(mutants.error().message().find("kernel.cu:2"), std::string::npos) << mutants.error().message();
}
