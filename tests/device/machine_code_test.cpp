// What is read from nvcc and ptxas, and what follows from it: launches that do not fit, and occupancy.
#include "candidate.h"
#include "device/machine_code.h"
#include "source/toolchain.h"

using namespace klineage;

namespace {

bool hasNvcc() { return std::filesystem::exists(cudaFolder() + "/bin/nvcc"); }

/// A kernel whose threads hold many values at once; `bounds` stands before its name.
Candidate hungry(const std::string &bounds, const std::string &threads) {
  Candidate c("#include <cuda_runtime.h>\n__global__ void " + bounds + R"( k(const float *in, float *out, int n) {
  float held[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) held[i] = in[(threadIdx.x + 31 * i) % n];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 80; ++i) sum = sum * held[i] + held[79 - i];
  out[threadIdx.x] = sum;
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, )" +
              threads + ">>>(in, out, n); }\n");
  c.in("in").out("out").size(1024);
  return c;
}

SourceSet at(const std::string &folder, const std::string &text) {
  SourceSet set;
  set.mainFile = folder + "/kernel.cu";
  set.files[set.mainFile] = text;
  return set;
}

} // namespace

TEST(MachineCode, ReportOfPtxasIsReadByKernel) {
  auto kernels = readResourceReport(R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN38_GLOBAL__N__57624780_9_kernel_cu_sgemm12sgemm_kernelEPKfS1_Pfiii' for 'sm_90'
ptxas info    : Function properties for _ZN38_GLOBAL__N__57624780_9_kernel_cu_sgemm12sgemm_kernelEPKfS1_Pfiii
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 127 registers, used 1 barriers, 16640 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function '_Z5plainPf' for 'sm_90'
ptxas info    : Function properties for _Z5plainPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
)");
  ASSERT_EQ(kernels.size(), 2u);
  const KernelResources &tiled = kernels["_ZN12_GLOBAL__N_112sgemm_kernelEPKfS1_Pfiii"], &plain = kernels["_Z5plainPf"];
  EXPECT_EQ(tiled.registers, 127u);
  EXPECT_EQ(tiled.spillBytes, 20u);
  EXPECT_EQ(tiled.stackBytes, 16u);
  EXPECT_EQ(tiled.sharedBytes, 16640u);
  EXPECT_EQ(plain.registers, 8u);
  EXPECT_EQ(plain.sharedBytes, 0u);
}

TEST(MachineCode, NamesDoNotDependOnWhereAFileLies) {
  EXPECT_EQ(withoutPathInNames("call _ZN22_GLOBAL__N__0a_4_k_cu_1fEv, 7_GLOBAL__N_ and _GLOBAL__N_1"), "call _ZN12_GLOBAL__N_11fEv, 7_GLOBAL__N_ and _GLOBAL__N_1");
  if (!hasNvcc()) GTEST_SKIP() << "no nvcc";
  const std::string text = "namespace { __global__ void k(float *out) { out[threadIdx.x] = 1; } }\nextern \"C\" void launch(float *out) { k<<<1, 32>>>(out); }\n";
  MachineCode here = machineCode(at("/here", text)), there = machineCode(at("/there/below", "// moved\n" + text + "\n// end\n"));
  ASSERT_TRUE(here.known && there.known) << here.why << there.why;
  EXPECT_EQ(here.digest, there.digest);
  EXPECT_EQ(compareMachineCode(at("/here", text), at("/there", text + "static int unused;\n")).state, "inert");
  ASSERT_EQ(here.kernels.size(), 1u);
  EXPECT_TRUE(here.resourcesOf("_ZN12_GLOBAL__N_11kEPf"));
}

TEST(MachineCode, IsOfTheLanguageThatClangReads) {
  if (!hasNvcc()) GTEST_SKIP() << "no nvcc";
  MachineCode unmarked = machineCode(at("/here", "constexpr int lesser(int a, int b) { return a < b ? a : b; }\n"
                                                 "__global__ void k(float *out) { out[lesser(threadIdx.x, blockIdx.x)] = 1; }\n"));
  EXPECT_TRUE(unmarked.known) << unmarked.why;
}

TEST(MachineCode, AnErrorIsToldAndNotTheWarningsBeforeIt) {
  if (!hasNvcc()) GTEST_SKIP() << "no nvcc";
  MachineCode wrong = machineCode(at("/here", "__global__ void before() { int unused; }\n__global__ void k(float *out) { out[0] = absent; }\n"));
  EXPECT_FALSE(wrong.known);
  EXPECT_NE(wrong.why.find("identifier \"absent\" is undefined"), std::string::npos) << wrong.why;
  EXPECT_EQ(wrong.why.find("unused"), std::string::npos) << wrong.why;
}

TEST(MachineCode, ProfileUsesTheRegistersOfPtxas) {
  if (!hasNvcc()) GTEST_SKIP() << "no nvcc";
  Candidate c = hungry("", "256");
  RunOutcome outcome = c.run(true);
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_EQ(outcome.counters["registers_assumed"], 0);
  Build build = c.build();
  EXPECT_GT(build.resources["registers"], 64);
  EXPECT_EQ(build.resources["shared_bytes"], 0);
}

// Field fault 20: launch_bounds taken out of a kernel of 1024 threads that needs many registers.
TEST(MachineCode, BlockWithMoreRegistersThanAMultiprocessorIsNotLaunchable) {
  if (!hasNvcc()) GTEST_SKIP() << "no nvcc";
  for (bool profile : {false, true}) {
    RunOutcome outcome = hungry("", "1024").run(profile);
    EXPECT_EQ(outcome.reason, Reason::ResourcesExceeded) << outcome.detail;
    EXPECT_NE(outcome.detail.find("1024 threads"), std::string::npos) << outcome.detail;
    EXPECT_EQ(hungry("__launch_bounds__(1024)", "1024").run(profile).reason, Reason::None);
    EXPECT_EQ(hungry("", "512").run(profile).reason, Reason::None);
  }
}
