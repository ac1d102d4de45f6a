// Wrong kernels through the whole gate, on the device that users have. Each is wrong in one way, and each way has its own answer.
#include "gate/gate.h"
#include "support/files.h"
#include <gtest/gtest.h>

using namespace klineage;
namespace fs = std::filesystem;

namespace {

/// y = sums of each block's neighbours: y[i] = x[i] + x[(i ^ 1)], through shared memory, so that a barrier matters.
const std::string head = "#include <cuda_runtime.h>\n";
const std::string good = R"(
__global__ void pairs(const float *x, float *y, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] = tile[threadIdx.x] + 2 * tile[127 - threadIdx.x];
}
)";
const std::string launcher = R"(
extern "C" void launch(const float *x, float *y, int n, cudaStream_t stream) {
  pairs<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
)";
const char *const workloadText = R"({
  "schema": "klineage.workload/1", "name": "pairs", "entry": "launch", "family": "elementwise",
  "sources": ["kernel.cu"], "axes": ["n"], "reference": "reference.cpp",
  "arguments": [
    {"name": "x", "kind": "input", "type": "f32", "shape": ["n"], "fill": "normal"},
    {"name": "y", "kind": "output", "type": "f32", "shape": ["n"]},
    {"name": "n", "kind": "scalar", "type": "i32", "value": "n"}],
  "instances": [
    {"name": "aligned", "axes": {"n": 512}, "role": "both"},
    {"name": "ragged", "axes": {"n": 389}, "role": "check"}]
})";
const char *const referenceText = R"(
extern "C" void reference(const double *x, double *y, long long n) {
  for (long long i = 0; i < n; ++i) {
    long long other = i / 128 * 128 + 127 - i % 128;
    y[i] = x[i] + 2 * (other < n ? x[other] : 0);
  }
}
)";

class EmulatedGate : public ::testing::Test {
protected:
  void SetUp() override {
    if (!fs::exists(programFolder() / "klineage-worker")) GTEST_FAIL() << "klineage-worker is not beside this program";
    ASSERT_TRUE(writeFile(scratch.path() / "workload.json", workloadText));
    ASSERT_TRUE(writeFile(scratch.path() / "reference.cpp", referenceText));
    ASSERT_TRUE(writeFile(scratch.path() / "kernel.cu", head + good + launcher));
    auto loaded = loadWorkload(scratch.path());
    ASSERT_TRUE(loaded) << loaded.error().message();
    workload = *loaded;
    device = makeEmulatedDevice();
  }
  Verdict judge(const std::string &text, const GateOptions &options = {}) {
    SourceSet set;
    set.mainFile = (scratch.path() / "candidate.cu").string();
    set.files[set.mainFile] = head + text;
    return Gate(*device, scratch.path() / "records").judge(workload, set, nullptr, options);
  }
  static std::string replaced(std::string text, const std::string &from, const std::string &to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  void refused(Reason reason, const std::string &text) {
    auto verdict = judge(text);
    EXPECT_EQ(verdict.outcome, Outcome::Refused);
    EXPECT_STREQ(name(verdict.reason), name(reason)) << verdict.detail;
  }
  void goodStillPasses() {
    GateOptions fresh;
    fresh.useCache = false;
    auto verdict = judge(good + launcher, fresh);
    EXPECT_EQ(verdict.outcome, Outcome::Accepted) << name(verdict.reason) << ": " << verdict.detail;
  }

  ScratchFolder scratch;
  Workload workload;
  std::unique_ptr<Device> device;
};

} // namespace

TEST_F(EmulatedGate, RightKernelIsAcceptedWithAModelledTime) {
  auto verdict = judge(good + launcher);
  ASSERT_EQ(verdict.outcome, Outcome::Accepted) << name(verdict.reason) << ": " << verdict.detail;
  ASSERT_EQ(verdict.profile.size(), 1u);
  EXPECT_FALSE(verdict.profile[0].measured);
  EXPECT_GT(verdict.profile[0].candidateSeconds, 0);
  EXPECT_FALSE(verdict.profile[0].candidateCounters.empty());
}

TEST_F(EmulatedGate, WrongFactorIsAWrongValue) { refused(Reason::WrongValue, replaced(good, "2 * tile", "3 * tile") + launcher); }

TEST_F(EmulatedGate, OffByOneIsAWrongValueOrUnwritten) {
  refused(Reason::UnwrittenOutput, replaced(good, "if (i < n) y[i]", "if (i < n - 1) y[i]") + launcher);
  refused(Reason::UninitializedRead, replaced(good, "tile[threadIdx.x] = i < n", "if (threadIdx.x < 127) tile[threadIdx.x] = i < n") + launcher);
  refused(Reason::WrongValue, replaced(good, "127 - threadIdx.x", "126 - threadIdx.x % 127") + launcher);
}

TEST_F(EmulatedGate, MissingBarrierIsARace) {
  // Written once with a barrier and once without: each read finds something, but not always the last word.
  refused(Reason::Race, replaced(good, "__syncthreads();", "__syncthreads();\n  tile[threadIdx.x] = i < n ? x[i] : 0;") + launcher);
}

TEST_F(EmulatedGate, NoBarrierAtAllIsARaceOrAReadOfWhatNobodyWrote) {
  auto verdict = judge(replaced(good, "__syncthreads();", "") + launcher);
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_TRUE(verdict.reason == Reason::Race || verdict.reason == Reason::UninitializedRead) << name(verdict.reason);
}

TEST_F(EmulatedGate, ThreadsThatWaitAtTwoBarriersAreNamed) {
  refused(Reason::BarrierDivergence, replaced(good, "__syncthreads();", "if (threadIdx.x < 48) asm volatile(\"bar.sync 1, 128;\" ::: \"memory\"); else __syncthreads();") + launcher);
}

TEST_F(EmulatedGate, ZeroOutputIsAWrongValue) { refused(Reason::WrongValue, replaced(good, "y[i] = tile", "y[i] = 0 * tile") + launcher); }

TEST_F(EmulatedGate, EmptyBodyZeroedInputAndOwnStreamHaveThreeReasons) {
  refused(Reason::UnwrittenOutput, "__global__ void pairs(const float *x, float *y, int n) {}\n" + launcher);
  refused(Reason::InputModified, replaced(good, "y[i] = ", "const_cast<float *>(x)[i] = 0, y[i] = ") + launcher);
  refused(Reason::ForbiddenSideEffect, good + "extern \"C\" void launch(const float *x, float *y, int n, cudaStream_t stream) {\n"
                                              "  cudaStream_t mine; cudaStreamCreate(&mine);\n"
                                              "  pairs<<<(n + 127) / 128, 128, 0, mine>>>(x, y, n);\n}\n");
}

TEST_F(EmulatedGate, StoreBehindTheBufferIsOutOfBoundsAndTheNextKernelPasses) {
  refused(Reason::OutOfBounds, replaced(good, "if (i < n) y[i]", "y[i]") + launcher);
  goodStillPasses();
}

TEST_F(EmulatedGate, LoopWithoutEndIsAHangAndTheNextKernelPasses) {
  refused(Reason::Hang, replaced(good, "__syncthreads();", "__syncthreads();\n  volatile float *flag = tile;\n  while (flag[0] != 12345.0f) {}\n") + launcher);
  goodStillPasses();
}

TEST_F(EmulatedGate, CrashInHostCodeIsAVerdictAndTheNextKernelPasses) {
  refused(Reason::Crash, good + "extern \"C\" void launch(const float *x, float *y, int n, cudaStream_t stream) {\n"
                                "  int zero = n - n; pairs<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);\n  __builtin_trap();\n}\n");
  goodStillPasses();
}

TEST_F(EmulatedGate, LauncherThatSkipsTheLaunchHasNoDeviceKernel) {
  refused(Reason::NoDeviceKernel, good + "extern \"C\" void launch(const float *x, float *y, int n, cudaStream_t stream) {\n"
                                         "  if (n < 0) pairs<<<1, 128, 0, stream>>>(x, y, n);\n}\n");
}

TEST_F(EmulatedGate, ResultCachedInADeviceBufferIsCaught) {
  std::string cached = replaced(good, "__global__", "__device__ float kept[512];\n__device__ int filled;\n__global__");
  cached = replaced(cached, "if (i < n) y[i] = tile[threadIdx.x] + 2 * tile[127 - threadIdx.x];",
                    "float value = tile[threadIdx.x] + 2 * tile[127 - threadIdx.x];\n"
                    "  if (i < n) { if (filled) value = kept[i]; else kept[i] = value; y[i] = value; }");
  auto verdict = judge(cached + "__global__ void mark() { filled = 1; }\n" +
                       replaced(launcher, "(x, y, n);\n}", "(x, y, n);\n  mark<<<1, 1, 0, stream>>>();\n}"));
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_STREQ(name(verdict.reason), name(Reason::WrongValue)) << verdict.detail;
}

TEST_F(EmulatedGate, TooMuchSharedMemoryIsNeverTakenForEqual) {
  auto verdict = judge("__global__ void pairs(const float *x, float *y, int n) { extern __shared__ float big[]; big[threadIdx.x] = x[0]; y[0] = big[0]; }\n"
                       "extern \"C\" void launch(const float *x, float *y, int n, cudaStream_t stream) { pairs<<<1, 128, 60000, stream>>>(x, y, n); }\n");
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_TRUE(verdict.reason == Reason::LaunchError || verdict.reason == Reason::ResourcesExceeded) << name(verdict.reason);
}

TEST_F(EmulatedGate, SourceThatDoesNotParseIsACompileErrorWithItsPlace) {
  auto verdict = judge(replaced(good, "__syncthreads();", "__syncthreads(") + launcher);
  EXPECT_EQ(verdict.reason, Reason::CompileError);
  EXPECT_NE(verdict.detail.find("candidate.cu:"), std::string::npos) << verdict.detail;
}

TEST_F(EmulatedGate, SimplifiedVersionIsComparedWithItsBaselineAndTheSecondAnswerIsKept) {
  SourceSet base, slow;
  base.mainFile = slow.mainFile = (scratch.path() / "kernel.cu").string();
  base.files[base.mainFile] = head + good + launcher;
  slow.files[slow.mainFile] = head + replaced(good, "y[i] = tile", "for (int k = 0; k < n / 8; ++k) *(volatile float *)&y[i] = k + x[(i * 37 + k) % n]; if (i < n) y[i] = tile") + launcher;
  Gate gate(*device, scratch.path() / "records");
  auto back = gate.judge(workload, slow, &base);
  ASSERT_EQ(back.outcome, Outcome::Accepted) << name(back.reason) << ": " << back.detail;
  EXPECT_LT(back.profile.at(0).speedup(), 1.0);
  GateOptions forward;
  forward.policy = Policy::Materialize;
  auto refusedForward = gate.judge(workload, slow, &base, forward);
  EXPECT_EQ(refusedForward.reason, Reason::Slower) << refusedForward.detail;
  EXPECT_TRUE(refusedForward.fromCache);
  EXPECT_EQ(gate.judge(workload, base, &slow, forward).outcome, Outcome::Accepted);
}
