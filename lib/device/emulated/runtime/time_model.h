// The time model: from what a launch did to how long it would take. docs/device/time-model.md gives every assumption; all of it is modelled.
#pragma once
#include "device/emulated/runtime/execution.h"

namespace klineage::emulated {

struct LaunchProfile {
  Counters counters;  ///< Sums of this launch, scaled up when a sample of the blocks ran.
  double seconds = 0; ///< Modelled.
};

LaunchProfile profileOf(const LaunchState &launch, const LaunchTotals &totals, unsigned knownRegisters);
double hostCopySeconds(size_t bytes);

} // namespace klineage::emulated
