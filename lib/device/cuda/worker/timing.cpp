#include "device/cuda/worker/timing.h"
#include <algorithm>
#include <chrono>
#include <cmath>

namespace klineage::cuda {
namespace {

/// Below this one cold call is too short for the clock's grain of 32 ns, and a sample is the mean of several, each with its own cold cache.
constexpr double shortCall = 10e-6;
constexpr unsigned innerAtMost = 16;
/// Above this one call is enough to see that it is not short.
constexpr double slowCall = 0.1;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A buffer larger than the L2, written before each call.
class Flush {
public:
  Flush(const Driver &driver, CUdevice device) : driver(driver) {
    int l2 = 0;
    driver.deviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
    bytes = std::max<size_t>(2 * size_t(l2), 64u << 20);
    if (driver.memoryAllocate(&memory, bytes) != CUDA_SUCCESS) memory = 0;
  }
  ~Flush() {
    if (memory) driver.memoryFree(memory);
  }
  /// Lines that a candidate asked to keep are given up first: they would survive the write.
  CUresult operator()() {
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    driver.contextSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0); // not every device has it
    driver.resetPersistingL2();
    CUresult result = driver.set8(memory, value++, bytes);
    return result == CUDA_SUCCESS ? driver.contextSynchronize() : result;
  }

private:
  const Driver &driver;
  CUdeviceptr memory = 0;
  size_t bytes = 0;
  unsigned char value = 0;
};

class Pair {
public:
  Pair(Bench &bench, const Task &task, Answer &answer) : bench(bench), task(task), answer(answer), flush(bench.driver, bench.device) {}

  /// One cold call, in seconds; 0 when it failed.
  double cold(const Launcher &launcher) {
    CUresult result = bench.buffers.hasInOut() ? bench.buffers.restore() : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) result = flush();
    if (result != CUDA_SUCCESS) {
      DriverVerdict verdict = verdictOf(result);
      failure = {verdict.reason, "while the cache was flushed: " + bench.driver.nameOf(result), verdict.contextLost};
      return 0;
    }
    bench.activity.take();
    if (Failure failed = callOnce(bench.driver, launcher, bench.arguments(), bench.watchdog, task.secondsAtMost)) {
      failure = failed;
      return 0;
    }
    CallRecord call = bench.activity.take();
    for (int again = 0; call.kernels == 0 && again < 20; ++again) call = bench.activity.take(); // records may come a little late
    if (call.kernels == 0) {
      failure = {"no_device_kernel", "a timed call launched no kernel", false};
      return 0;
    }
    last = call;
    return call.busySeconds;
  }

  double sample(const Launcher &launcher) {
    double sum = 0;
    for (unsigned i = 0; i < answer.innerRepeats; ++i) {
      double one = cold(launcher);
      if (one <= 0) return 0;
      sum += one;
    }
    return sum / answer.innerRepeats;
  }

  Timing time(const Launcher &a, const Launcher &b) {
    PairedPlan plan;
    plan.secondsAtMost = task.timingSeconds;
    unsigned taken = 0;
    auto samples = timePaired(
        plan,
        [&](bool sideB) {
          if (taken++ % 16 == 0) bench.nvml.sample();
          return sample(sideB ? b : a);
        },
        seconds);
    Timing timing;
    timing.stoppedBy = samples.stoppedBy;
    for (const auto &block : samples.blocks) timing.blocks.push_back({block.a1, block.b1, block.b2, block.a2});
    return timing;
  }

  Failure failure;
  CallRecord last; ///< Of the last cold call.

private:
  Bench &bench;
  const Task &task;
  Answer &answer;
  Flush flush;
};

} // namespace

Failure timePair(Bench &bench, const Task &task, const std::vector<Launcher> &launchers, Answer &answer) {
  const Launcher &baseline = launchers[task.libraries.front()], &candidate = launchers[task.libraries.back()];
  Pair pair(bench, task, answer);
  double first = 0;
  for (const Launcher *side : {&baseline, &candidate})
    for (int i = 0; i < 3 && (i == 0 || first < slowCall); ++i) {
      double one = pair.cold(*side);
      if (one <= 0) {
        pair.failure.detail = std::string(side == &candidate ? "the candidate: " : "the baseline: ") + pair.failure.detail;
        return pair.failure;
      }
      first = first == 0 ? one : std::min(first, one);
    }
  answer.kernelsACall = pair.last.kernels + pair.last.copies; // the candidate's
  answer.gapSeconds = pair.last.gapSeconds;
  if (first < shortCall) {
    answer.innerRepeats = std::min(innerAtMost, unsigned(std::ceil(shortCall / first)));
    if (answer.innerRepeats < 2) answer.innerRepeats = 2;
    answer.notes.push_back("calls are shorter than 10 us: a sample is the mean of " + std::to_string(answer.innerRepeats) + " calls, each with a cold cache");
  }
  if (task.libraries.size() == 3) {
    answer.self = pair.time(baseline, launchers[task.libraries[1]]);
    if (pair.failure) return pair.failure;
  }
  for (unsigned i = 0; i < task.repeats; ++i) {
    answer.pairs.push_back(pair.time(baseline, candidate));
    if (pair.failure) return pair.failure;
  }
  answer.clocks = bench.nvml.summary();
  if (bench.nvml.isThrottled()) return {"throttled", "the card was throttled in most samples (clock_reasons " + std::to_string(int64_t(answer.clocks["clock_reasons"])) + ")", false};
  return {};
}

} // namespace klineage::cuda
