// The first two stages of the gate, compile and correct, for one version.
#pragma once
#include "gate/oracle.h"
#include "gate/record.h"

namespace klineage {

/// What a workload asks, as a hash: its own, and everything that a caller may have changed in memory (probes do).
std::string questionHash(const Workload &workload);

/// The instances with a role that this device takes. "emulated" and "cuda" are the part of its id before ':' or '/'.
std::vector<const Instance *> instancesFor(const Device &device, const Workload &workload, bool Instance::*role);

/// Builds, reads the launcher, runs every check instance with `seeds` fresh inputs and one repeat, and judges each call. The record is
/// complete but for its key and version. `profileRequest`, when given, rides along in the same worker once all calls are made, and its
/// outcome is stored in `profiled`.
RunRecord checkVersion(Device &device, const Workload &workload, const SourceSet &sources, Result<std::shared_ptr<Oracle>> &oracle, unsigned seeds,
                       const RunRequest *profileRequest, std::optional<RunOutcome> &profiled);

} // namespace klineage
