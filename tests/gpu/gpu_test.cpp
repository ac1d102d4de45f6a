// What only a GPU can show. Skipped by name where there is none; where there is one: build/bin/test_gpu, or the bundle's klineage-gpu-tests.
#include "gate/gate.h"
#include "gate/self_test.h"
#include "support/files.h"
#include <gtest/gtest.h>

using namespace klineage;

namespace {

const char *const affineWorkload = R"({"schema": "klineage.workload/1", "name": "affine", "entry": "launch", "family": "elementwise",
  "sources": ["kernel.cu"], "axes": ["n"], "reference": "reference.cpp",
  "arguments": [{"name": "x", "kind": "input", "type": "f32", "shape": ["n"], "fill": "normal"}, {"name": "y", "kind": "output", "type": "f32", "shape": ["n"]},
                {"name": "n", "kind": "scalar", "type": "i32", "value": "n"}],
  "instances": [{"name": "aligned", "axes": {"n": 4096}, "role": "check"}, {"name": "ragged", "axes": {"n": 1031}, "role": "check"},
                {"name": "large", "axes": {"n": 33554432}, "role": "profile"}, {"name": "short", "axes": {"n": 65536}, "role": "profile"}]})";
const char *const affineReference =
    "extern \"C\" void reference(const double *x, double *y, long long n) { for (long long i = 0; i < n; ++i) y[i] = 2 * x[i] + 1; }\n";

std::string kernelText(const std::string &body, const std::string &launcher = "") {
  return "__global__ void affine(const float *x, float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "\n}\n" +
         "extern \"C\" void launch(const float *x, float *y, int n, cudaStream_t stream) {\n" +
         (launcher.empty() ? "  affine<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);\n" : launcher) + "}\n";
}
const std::string right = "  if (i < n) y[i] = 2 * x[i] + 1;";

class Gpu : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    auto made = makeCudaDevice(0);
    if (made) device = std::move(*made);
    else why = made.error().message();
  }
  static void TearDownTestSuite() { device.reset(); }
  void SetUp() override {
    if (!device) GTEST_SKIP() << "no GPU: " << why;
    for (auto [file, text] : {std::pair{"workload.json", affineWorkload}, {"reference.cpp", affineReference}})
      ASSERT_TRUE(writeFile(scratch.path() / file, text));
    ASSERT_TRUE(writeFile(scratch.path() / "kernel.cu", kernelText(right)));
    auto loaded = loadWorkload(scratch.path());
    ASSERT_TRUE(loaded) << loaded.error().message();
    workload = *loaded;
    good = version(kernelText(right));
  }
  SourceSet version(const std::string &text) {
    SourceSet set;
    set.mainFile = (scratch.path() / ("v" + std::to_string(versions++) + ".cu")).string();
    set.files[set.mainFile] = text;
    return set;
  }
  const Instance &instance(const std::string &name) {
    for (const auto &one : workload.instances)
      if (one.name == name) return one;
    ADD_FAILURE() << name;
    return workload.instances.front();
  }
  RunOutcome once(const std::string &text, const std::string &on = "ragged") {
    RunRequest request;
    request.workload = &workload;
    request.instance = &instance(on);
    return device->run(version(text), {request}).front();
  }
  Verdict judge(const SourceSet &candidate, const SourceSet *baseline = nullptr, GateOptions options = {}) {
    options.useCache = false;
    return Gate(*device, scratch.path() / "records").judge(workload, candidate, baseline, options);
  }
  PairOutcome pair(const SourceSet &a, const SourceSet &b, const std::string &on, bool counters = false) {
    PairRequest request;
    request.workload = &workload;
    request.instance = &instance(on);
    request.baselineCounters = request.candidateCounters = counters;
    return device->timePair(a, b, request);
  }

  static std::unique_ptr<Device> device;
  static std::string why;
  ScratchFolder scratch;
  Workload workload;
  SourceSet good;
  int versions = 0;
};
std::unique_ptr<Device> Gpu::device;
std::string Gpu::why;

} // namespace

TEST_F(Gpu, ARightKernelIsAcceptedWithMeasuredTimes) {
  Verdict verdict = judge(good);
  EXPECT_EQ(verdict.reason, Reason::None) << verdict.detail;
  ASSERT_EQ(verdict.profile.size(), 1u);
  EXPECT_TRUE(verdict.profile[0].measured);
  EXPECT_GT(verdict.profile[0].candidateSeconds, 10e-6);
  EXPECT_GT(verdict.resources["registers"], 0);
}

TEST_F(Gpu, AWrongKernelIsRefused) {
  EXPECT_EQ(judge(version(kernelText("  if (i < n) y[i] = 2 * x[i] + 1.01f;"))).reason, Reason::WrongValue);
  EXPECT_EQ(judge(version(kernelText("  if (i < n / 2) y[i] = 2 * x[i] + 1;"))).reason, Reason::UnwrittenOutput);
}

TEST_F(Gpu, WhatEndsTheContextIsAReasonAndTheNextCallGetsAFreshWorker) {
  RunRequest first, second;
  first.workload = second.workload = &workload;
  first.instance = &instance("ragged");
  second.instance = &instance("aligned");
  auto outcomes = device->run(version(kernelText("  if (i < n) y[n == 1031 ? (1ll << 40) + i : i] = 2 * x[i] + 1;")), {first, second, first});
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0].reason, Reason::OutOfBounds) << outcomes[0].detail;
  EXPECT_EQ(outcomes[1].reason, Reason::None) << outcomes[1].detail;
  EXPECT_EQ(outcomes[2].reason, Reason::OutOfBounds);
}

TEST_F(Gpu, EachWayToFailHasItsReason) {
  EXPECT_EQ(once(kernelText("  if (i < n - 1) reinterpret_cast<float2 *>(y + 1)[i / 2] = make_float2(x[i], x[i]);")).reason, Reason::Misaligned);
  EXPECT_EQ(once(kernelText("  asm volatile(\"trap;\");")).reason, Reason::Crash);
  EXPECT_EQ(once(kernelText("  y[n + i % 8] = 1;")).reason, Reason::OutOfBounds) << "one past the end, into the guard zone";
  EXPECT_EQ(once(kernelText(right, "  affine<<<(n + 255) / 256, 4096, 0, stream>>>(x, y, n);\n")).reason, Reason::LaunchError);
  EXPECT_EQ(once(kernelText(right, "  (void)x; (void)y; (void)n; (void)stream;\n")).reason, Reason::NoDeviceKernel);
  EXPECT_EQ(once(kernelText(right, "  *(volatile int *)8 = 1;\n")).reason, Reason::Crash);
  EXPECT_EQ(once("extern \"C\" void launch(const float *x, float *y, int n) { this is no C++; }\n").reason, Reason::CompileError);
}

TEST_F(Gpu, AKernelThatNeverEndsIsAHang) { EXPECT_EQ(once(kernelText("  volatile int *flag = reinterpret_cast<volatile int *>(y); while (flag[0] != 7) flag[1] = n;")).reason, Reason::Hang); }

TEST_F(Gpu, MoreMemoryThanTheCardHasIsAReason) {
  Workload vast = workload;
  vast.arguments[1].shape = {"n", "n"}; // 256 GiB
  Instance large = instance("large");
  large.axes["n"] = 1 << 18;
  RunRequest request;
  request.workload = &vast;
  request.instance = &large;
  EXPECT_EQ(device->run(good, {request}).front().reason, Reason::ResourcesExceeded);
}

TEST_F(Gpu, TwiceTheTrafficTakesAboutTwiceTheTime) {
  auto twice = version(kernelText("  if (i < n) { y[i] = 2 * x[i] + 1; __threadfence(); }", "  affine<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);\n"
                                                                                            "  affine<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);\n"));
  auto outcome = pair(good, twice, "large");
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  RatioInterval interval = ratioOf(outcome.pairs.front());
  EXPECT_GT(interval.ratio, 0.35);
  EXPECT_LT(interval.ratio, 0.65);
  EXPECT_EQ(outcome.candidateCounters["kernels_a_call"], 2);
}

TEST_F(Gpu, WorkOnAStreamOfItsOwnAndThroughTheDriverIsCounted) {
  auto hidden = version(kernelText(right, "  static cudaStream_t side = [] { cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); return s; }();\n"
                                          "  affine<<<(n + 255) / 256, 256, 0, side>>>(x, y, n);\n"));
  auto outcome = pair(good, hidden, "large");
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_NEAR(ratioOf(outcome.pairs.front()).ratio, 1, 0.02);
  auto driver = version("#include <cuda.h>\n" + kernelText(right, "  void *entry = nullptr;\n  cudaDriverEntryPointQueryResult found;\n"
                                                                  "  cudaGetDriverEntryPointByVersion(\"cuLaunchKernel\", &entry, 12000, cudaEnableDefault, &found);\n"
                                                                  "  cudaFunction_t function;\n  cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(affine));\n"
                                                                  "  void *arguments[] = {&x, &y, &n};\n"
                                                                  "  reinterpret_cast<CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **)>(entry)(\n"
                                                                  "      function, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);\n"));
  outcome = pair(good, driver, "large");
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_NEAR(ratioOf(outcome.pairs.front()).ratio, 1, 0.02);
}

TEST_F(Gpu, AResultThatWasKeptIsCaughtOnNewValues) {
  auto kept = version("__device__ int calls;\n" + kernelText("  if (calls < 3 && i < n) y[i] = 2 * x[i] + 1;\n  if (i == 0) atomicAdd(&calls, n > 5000);"));
  GateOptions options;
  options.instance = "short";
  Verdict verdict = judge(kept, &good, options);
  EXPECT_EQ(verdict.outcome, Outcome::Refused) << name(verdict.reason) << verdict.detail;
  EXPECT_TRUE(verdict.reason == Reason::UnwrittenOutput || verdict.reason == Reason::WrongValue) << name(verdict.reason) << ": " << verdict.detail;
}

TEST_F(Gpu, ShortCallsAreMeansOfSeveralColdOnes) {
  auto outcome = pair(good, good, "short");
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_GT(outcome.candidateCounters["inner_repeats"], 1);
}

TEST_F(Gpu, CountersOfAKnownKernelAreExact) {
  auto outcome = pair(good, good, "large", true);
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  if (!outcome.countersUnavailable.empty()) GTEST_SKIP() << outcome.countersUnavailable;
  double n = 33554432;
  EXPECT_EQ(outcome.candidateCounters["global_load_requests"], n / 32);
  EXPECT_EQ(outcome.candidateCounters["global_load_sectors"], n / 8);
  EXPECT_EQ(outcome.candidateCounters["global_store_sectors"], n / 8);
  EXPECT_NEAR(outcome.candidateCounters["dram_read_bytes"] / (4 * n), 1, 0.05);
  EXPECT_EQ(outcome.candidateCounters["blocks"], n / 256);
}

TEST_F(Gpu, EqualBuildsAreWithinNoise) {
  SelfTest test = againstItself(*device, workload, good, instance("large"), 10, 1000);
  ASSERT_EQ(test.reason, Reason::None) << test.detail;
  EXPECT_EQ(test.verdicts, 10u);
  EXPECT_EQ(test.wrong, 0u);
  EXPECT_GT(test.clocks["clock_sm_mhz_high"], 0);
}
