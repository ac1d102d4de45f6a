// Counters: hardware counters of one call through CUPTI's range profiler. Each kernel is a range of its own and is replayed until all
// counters were collected; its memory is put back before each pass.
#pragma once
#include <cuda.h>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace klineage::cuda {

struct CounterResult {
  std::map<std::string, double> values; ///< By metric name. Sums are added over the call's kernels; shares and ratios are weighted by their times.
  std::string unavailable;              ///< Why there are none, with the remedy.
  std::vector<std::string> unknown;     ///< Metrics that this chip does not have.
  size_t passes = 0, kernels = 0;
};

/// `call` makes the call, waits for it and answers how many seconds that took, nothing when it failed (waiting for the GPU's turn is not counted). It is
/// run once before counting, so that code is loaded. Activity records must be off. A call that would hold the GPU too long is not counted, and says so.
CounterResult countCall(const std::string &cupti, int device, CUcontext context, const std::vector<std::string> &metrics,
                        const std::function<std::optional<double>()> &call);

/// The metrics of a chip that exist, without a device: for tests and for doctor.
std::vector<std::string> unknownMetrics(const std::string &cupti, const std::string &chip, const std::vector<std::string> &metrics, std::string &error);

} // namespace klineage::cuda
