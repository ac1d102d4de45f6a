// Candidates that want more than they may have: each is ended with a reason, soon, and the next candidate runs.
#include "candidate.h"
#include "device/emulated/bounds.h"
#include <chrono>

using namespace klineage;

namespace {

const std::string kernel = "#include <cuda_runtime.h>\n__global__ void k(float *out) { out[threadIdx.x] = 1; }\n";

struct Tight {
  std::unique_ptr<Device> device = makeEmulatedDevice(90, {.seconds = 3, .secondsARequest = 0, .memory = uint64_t(768) << 20});
  std::vector<RunOutcome> run(const std::string &launcher, unsigned requests = 1) {
    Candidate c(kernel + "extern \"C\" void launch(float *out, int n) { " + launcher + " k<<<1, 32>>>(out); }\n");
    c.out("out").size(32);
    return device->run(c.sources, std::vector<RunRequest>(requests, {&c.workload, &c.instance, 1, false, 0}));
  }
  void goodStillRuns() {
    auto outcomes = run("");
    EXPECT_EQ(outcomes.front().reason, Reason::None) << outcomes.front().detail;
  }
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

TEST(EmulatedBounds, MemoryWithoutEndIsAForbiddenSideEffect) {
  Tight tight;
  double before = seconds();
  auto outcomes = tight.run("for (;;) { void *more; cudaMalloc(&more, 1 << 26); cudaMemset(more, 1, 1 << 26); }");
  EXPECT_EQ(outcomes.front().reason, Reason::ForbiddenSideEffect) << outcomes.front().detail;
  EXPECT_NE(outcomes.front().detail.find("memory"), std::string::npos) << outcomes.front().detail;
  EXPECT_LT(seconds() - before, 30);
  tight.goodStillRuns();
}

TEST(EmulatedBounds, HostLoopWithoutEndIsAHangThatCostsItsTimeOnce) {
  Tight tight;
  double before = seconds();
  auto outcomes = tight.run("volatile int forever = n; while (forever == n) {}", 4);
  ASSERT_EQ(outcomes.size(), 4u);
  for (const RunOutcome &outcome : outcomes) EXPECT_EQ(outcome.reason, Reason::Hang) << outcome.detail;
  EXPECT_LT(seconds() - before, 20);
  tight.goodStillRuns();
}

TEST(EmulatedBounds, LargeLazyBuffersAreNotMemory) {
  Tight tight;
  // 16 GiB of addresses of which a few pages are touched.
  auto outcomes = tight.run("void *large; cudaMalloc(&large, size_t(16) << 30); cudaMemset(large, 0, 4096);");
  EXPECT_EQ(outcomes.front().reason, Reason::None) << outcomes.front().detail;
}
