// Metrics: which of CUPTI's metrics stand for which of our counters (docs/device/counters.md), so that emulated and measured counts carry one name.
#pragma once
#include "device/device.h"

namespace klineage::cuda {

/// All that is asked of CUPTI, each once.
std::vector<std::string> wantedMetrics();

/// Counters under our own names. A counter that stands for several metrics is their sum; one whose metrics the chip lacks is left out.
Counters countersFrom(const std::map<std::string, double> &metrics);

} // namespace klineage::cuda
