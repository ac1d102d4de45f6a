// Bottleneck: what holds a kernel back, from measured shares of peak and the reasons for which warps wait.
#pragma once
#include "device/device.h"

namespace klineage {

/// The class: dram, l2, l1, tensor, fma or issue when a share is at 60 % of its peak or more (the largest counts); else latency, where
/// nothing is busy and warps wait; unknown without counters.
struct Bottleneck {
  std::string kind = "unknown";
  double percent = 0;    ///< The share of peak that decided; of latency, the largest share there was.
  std::string stall;     ///< The reason for which most warps wait, or empty: stall_long_scoreboard, ...
  double stallShare = 0; ///< Of all waiting warps.
  /// "dram at 91 % of peak; 62 % of waiting warps: stall_long_scoreboard".
  std::string text() const;
};
Bottleneck bottleneckOf(const Counters &counters);

} // namespace klineage
