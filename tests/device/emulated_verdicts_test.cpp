// What the emulated device answers to candidates that are wrong, stuck, or beyond it.
#include "candidate.h"
#include <cmath>

using namespace klineage;

namespace {

Candidate reduction(const char *barrier) {
  std::string text = R"(
__global__ void sum(const float *in, float *out) {
  __shared__ float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int o = 64; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    BARRIER
  }
  if (threadIdx.x == 0) out[0] = s[0];
}
extern "C" void launch(const float *in, float *out, int n) { sum<<<1, 128>>>(in, out); }
)";
  text.replace(text.find("BARRIER"), 7, barrier);
  Candidate c(text);
  c.in("in", ElementType::F32, "n", {"integers", -8, 8}).out("out", ElementType::F32, "1").size(128);
  return c;
}

} // namespace

TEST(EmulatedVerdicts, ReductionWithBarriersIsRightAndWithoutThemARace) {
  RunOutcome good = reduction("__syncthreads();").run();
  ASSERT_EQ(good.reason, Reason::None) << good.detail;
  float expected = 0;
  for (float v : reduction("").given<float>(0))
    expected += v;
  EXPECT_EQ(Candidate::elements<float>(good.outputs[1])[0], expected);
  RunOutcome bad = reduction("").run();
  EXPECT_EQ(bad.reason, Reason::Race) << bad.detail;
  EXPECT_NE(bad.detail.find("kernel.cu:7"), std::string::npos) << bad.detail;
}

TEST(EmulatedVerdicts, AStructPassedByValueIsNoAccessOfTheKernel) {
  Candidate c(R"(
struct Job { const float *in; float *out; int n; float factor; };
__global__ void scale(Job job) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < job.n) job.out[i] = job.in[i] * job.factor;
}
extern "C" void launch(const float *in, float *out, int n) { scale<<<2, 64>>>(Job{in, out, n, 2.0f}); }
)");
  c.in("in").out("out").size(100);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  std::vector<float> in = c.given<float>(0);
  EXPECT_EQ(Candidate::elements<float>(outcome.outputs[1])[99], 2.0f * in[99]);
}

TEST(EmulatedVerdicts, StorePastTheEndIsOutOfBoundsWithItsLine) {
  Candidate c(R"(
__global__ void k(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    out[i] = 1.0f;
}
extern "C" void launch(float *out, int n) { k<<<2, 64>>>(out, n); }
)");
  c.out("out").size(100);
  RunOutcome outcome = c.run();
  EXPECT_EQ(outcome.reason, Reason::OutOfBounds);
  EXPECT_NE(outcome.detail.find("kernel.cu:5"), std::string::npos) << outcome.detail;
}

TEST(EmulatedVerdicts, AccessThatLeavesItsSharedArrayForTheNextOneIsOutOfBounds) {
  auto twoArrays = [](const char *index) {
    std::string text = R"(
__global__ void k(const float *in, float *out) {
  __shared__ float a[32];
  __shared__ float b[32];
  a[threadIdx.x] = in[threadIdx.x];
  b[threadIdx.x] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = a[INDEX] + b[INDEX];
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 32>>>(in, out); }
)";
    for (size_t at; (at = text.find("INDEX")) != std::string::npos;) text.replace(at, 5, index);
    Candidate c(text);
    c.in("in").out("out").size(32);
    return c.run();
  };
  EXPECT_EQ(twoArrays("31 - threadIdx.x").reason, Reason::None);
  RunOutcome outcome = twoArrays("threadIdx.x + 1"); // of the last thread's: the first element of the other array, or nothing
  EXPECT_EQ(outcome.reason, Reason::OutOfBounds);
  EXPECT_NE(outcome.detail.find("its variable has bytes"), std::string::npos) << outcome.detail;
}

TEST(EmulatedVerdicts, LoopThatLeavesALocalArrayIsOutOfBoundsWithItsLine) {
  auto filled = [](const char *bound) {
    std::string text = R"(
__global__ void k(const float *in, float *out) {
  float part[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j BOUND; ++j)
      part[i][j] = in[threadIdx.x] * (i + j);
  out[threadIdx.x] = part[threadIdx.x % 4][3];
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 32>>>(in, out); }
)";
    text.replace(text.find("BOUND"), 5, bound);
    Candidate c(text);
    c.in("in").out("out").size(32);
    return c.run();
  };
  EXPECT_EQ(filled("< 4").reason, Reason::None);
  RunOutcome outcome = filled("<= 4");
  EXPECT_EQ(outcome.reason, Reason::OutOfBounds);
  EXPECT_NE(outcome.detail.find("kernel.cu:8"), std::string::npos) << outcome.detail;
}

TEST(EmulatedVerdicts, SumThatBeginsWithNothingIsNoNumber) {
  Candidate c(R"(
__global__ void k(const float *in, float *out, int n) {
  float sums[2];
  sums[0] = 0;
  for (int i = 0; i < n; ++i)
    for (int s = 0; s < 2; ++s) sums[s] += in[i];
  out[0] = sums[0];
  out[1] = sums[1];
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 1>>>(in, out, n); }
)");
  c.in("in").out("out", ElementType::F32, "2").size(8);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  auto sums = Candidate::elements<float>(outcome.outputs[1]);
  EXPECT_FALSE(std::isnan(sums[0]));
  EXPECT_TRUE(std::isnan(sums[1])) << sums[1];
}

TEST(EmulatedVerdicts, WideAccessOffItsAlignmentIsMisaligned) {
  Candidate c(R"(
__global__ void k(const float *in, float *out) { *(float4 *)(out + 4 * threadIdx.x) = *(const float4 *)(in + 1 + 4 * threadIdx.x); }
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 8>>>(in, out); }
)");
  c.in("in", ElementType::F32, "n + 4").out("out").size(32);
  EXPECT_EQ(c.run().reason, Reason::Misaligned);
}

TEST(EmulatedVerdicts, AWideViewOfSharedMemoryOffItsAlignmentIsMisaligned) {
  for (const char *view : {"*reinterpret_cast<float4 *>(&tile[4 * threadIdx.x + OFF])", "reinterpret_cast<float4 &>(tile[4 * threadIdx.x + OFF])",
                           "*(float4 *)(tile + 4 * threadIdx.x + OFF)"})
    for (int off : {0, 2}) {
      Candidate c(std::string(R"(
__global__ void k(const float *in, float *out) {
  __shared__ float tile[132];
  for (int i = threadIdx.x; i < 132; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  float4 v = )") + view + R"(;
  out[threadIdx.x] = v.x + v.w;
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 32>>>(in, out); }
)");
      c.sources.defines = {"OFF=" + std::to_string(off)};
      c.in("in").out("out", ElementType::F32, "32").size(132);
      RunOutcome outcome = c.run();
      EXPECT_EQ(outcome.reason, off ? Reason::Misaligned : Reason::None) << view << ": " << outcome.detail;
    }
}

TEST(EmulatedVerdicts, BarrierInDivergentCodeIsNamed) {
  Candidate c(R"(
__global__ void k(const float *in, float *out, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 16) __syncthreads();
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 64>>>(in, out, n); }
)");
  c.in("in").out("out").size(64);
  RunOutcome outcome = c.run();
  EXPECT_EQ(outcome.reason, Reason::BarrierDivergence) << outcome.detail;
}

TEST(EmulatedVerdicts, SharedReadBeforeAnyWriteIsNamed) {
  Candidate c(R"(
__global__ void k(float *out) { __shared__ float s[64]; if (threadIdx.x < 63) s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; }
extern "C" void launch(float *out, int n) { k<<<1, 64>>>(out); }
)");
  c.out("out").size(64);
  EXPECT_EQ(c.run().reason, Reason::UninitializedRead);
}

TEST(EmulatedVerdicts, EndlessWaitIsAHang) {
  for (const char *flag : {"__shared__ int flag;", "__shared__ volatile int flag;"}) {
    Candidate c(std::string("__global__ void k(float *out) { ") + flag + R"(
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  while (flag == 0);
  out[threadIdx.x] = 1;
}
extern "C" void launch(float *out, int n) { k<<<1, 32>>>(out); }
)");
    c.out("out").size(32);
    EXPECT_EQ(c.run().reason, Reason::Hang) << flag;
  }
}

TEST(EmulatedVerdicts, CrashOfALauncherIsAVerdictAndTheNextRequestRuns) {
  Candidate c(R"(
__global__ void k(float *out) { out[threadIdx.x] = 1; }
extern "C" void launch(float *out, int n) {
  static int calls = 0;
  if (calls++ == 0 && n == 32) *(volatile int *)8 = 1;
  k<<<1, 32>>>(out);
}
)");
  c.out("out").size(32);
  Candidate good = c;
  good.sources.files[good.sources.mainFile] = "__global__ void k(float *out) { out[threadIdx.x] = 1; }\nextern \"C\" void launch(float *out, int n) { k<<<1, 32>>>(out); }\n";
  EXPECT_EQ(c.run().reason, Reason::Crash);
  EXPECT_EQ(good.run().reason, Reason::None);
}

TEST(EmulatedVerdicts, LauncherWithoutALaunchHasNoDeviceKernel) {
  Candidate c("#include <cuda_runtime.h>\nextern \"C\" void launch(float *out, int n) { cudaMemset(out, 0, n * 4); }\n");
  c.out("out").size(32);
  EXPECT_EQ(c.run().reason, Reason::NoDeviceKernel);
}

TEST(EmulatedVerdicts, WhatCannotRunIsNamedWithItsPlace) {
  struct Case {
    const char *body, *says;
  };
  for (Case test : {Case{"asm volatile(\"wgmma.fence.sync.aligned;\");", "unsupported_ptx: wgmma.fence.sync.aligned"},
                    Case{"out[threadIdx.x] = (float)fib((int)out[0]);", "unsupported_recursion: fib"}}) {
    Candidate c(std::string("__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n__global__ void k(float *out) {\n") + test.body +
                "\n}\nextern \"C\" void launch(float *out, int n) { k<<<1, 32>>>(out); }\n");
    c.out("out").size(32);
    Build build = c.build();
    EXPECT_EQ(build.reason, Reason::Unsupported);
    EXPECT_NE(build.detail.find(test.says), std::string::npos) << build.detail;
    EXPECT_NE(build.detail.find("kernel.cu:"), std::string::npos) << build.detail;
    EXPECT_EQ(c.run().reason, Reason::Unsupported);
  }
}

TEST(EmulatedVerdicts, LauncherThatCallsTheSystemIsRefusedByName) {
  Candidate c("extern \"C\" int system(const char *);\n__global__ void k(float *out) { out[threadIdx.x] = 1; }\n"
              "extern \"C\" void launch(float *out, int n) { system(\"true\"); k<<<1, 32>>>(out); }\n");
  c.out("out").size(32);
  Build build = c.build();
  EXPECT_EQ(build.reason, Reason::Unsupported);
  EXPECT_NE(build.detail.find("unsupported_host_function: system"), std::string::npos) << build.detail;
}

TEST(EmulatedVerdicts, TooMuchSharedMemoryExceedsResourcesUntilAskedFor) {
  for (bool asks : {false, true}) {
    Candidate c(std::string(R"(
#include <cuda_runtime.h>
__global__ void k(float *out) {
  extern __shared__ float s[];
  s[threadIdx.x + 16000] = 2;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x + 16000];
}
extern "C" int launch(float *out, int n) {
)") + (asks ? "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);" : "") +
                "  k<<<1, 32, 65536>>>(out);\n  return cudaGetLastError();\n}\n");
    c.out("out").size(32);
    RunOutcome outcome = c.run();
    EXPECT_EQ(outcome.reason, asks ? Reason::None : Reason::ResourcesExceeded) << outcome.detail;
  }
}

// Field fault 20: 48 KiB of dynamic shared memory and four bytes of static.
TEST(EmulatedVerdicts, StaticAndDynamicSharedMemoryCountTogether) {
  for (bool asks : {false, true})
    for (int bytes : {49152, 49152 - 16}) {
      Candidate c(std::string(R"(
#include <cuda_runtime.h>
__global__ void k(float *out) {
  extern __shared__ float s[];
  __shared__ float one;
  s[threadIdx.x] = 2;
  if (threadIdx.x == 0) one = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x] + one;
}
extern "C" int launch(float *out, int n) {
)") + (asks ? "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152);" : "") +
                  "  k<<<1, 32, " + std::to_string(bytes) + ">>>(out);\n  return cudaGetLastError();\n}\n");
      c.out("out").size(32);
      RunOutcome outcome = c.run();
      bool fits = asks || bytes < 49152; // the static part takes one unit of 16 bytes
      EXPECT_EQ(outcome.reason, fits ? Reason::None : Reason::ResourcesExceeded) << outcome.detail;
    }
}
