// Activity: what the device did during one call, from CUPTI's activity records: kernels of every stream, whoever launched them, copies and fills.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace klineage::cuda {

struct CallRecord {
  double busySeconds = 0; ///< The union of all intervals: work that overlaps counts once.
  double gapSeconds = 0;  ///< Within the call, when the device did nothing.
  unsigned kernels = 0, copies = 0;
};

class Activity {
public:
  /// Before the context exists. Empty, or why there are no records.
  std::string open(const std::string &cupti);
  bool isOpen() const { return opened; }
  /// All that was recorded since the last call of this; the device must be idle.
  CallRecord take();
  void close();

  struct Interval {
    uint64_t start, end;
    bool kernel;
  };

private:
  bool opened = false;
};

/// From intervals in nanoseconds.
CallRecord recordOf(std::vector<Activity::Interval> intervals);

} // namespace klineage::cuda
