// What a workload tells the conditions: shapes, alignments, aliasing, tolerance.
#pragma once
#include "facts/environment.h"
#include "workload/workload.h"

namespace klineage {

/// Values are listed over the instances that the device runs; an argument's name is the workload's.
Environment environmentOf(const Workload &workload, const std::string &device = "emulated", unsigned sm = 90);

} // namespace klineage
