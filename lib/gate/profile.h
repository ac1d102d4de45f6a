// Comparing times: what a difference is, for modelled and for measured samples, and what each policy makes of it.
#pragma once
#include "gate/gate.h"

namespace klineage {

/// Candidate against baseline, as baseline time over candidate time.
struct TimeComparison {
  double baseline = 0, candidate = 0; ///< Medians, seconds.
  double speedup = 1, low = 1, high = 1; ///< With its interval; all three are equal for modelled times.
  double smallestDifference = 0;      ///< Relative; below it nothing is called a difference.
};

/// The middle value; the mean of the two middle ones of an even count. The samples must not be empty.
double median(std::vector<double> samples);

/// The noise of a device on one version: how far its own samples lie from each other, relative to their median. Two runs of the
/// same thing, `first` and `second`, are what it is taken from.
double selfNoise(const std::vector<double> &first, const std::vector<double> &second);

/// Modelled times are single, exact values. Of measured ones (A-B-B-A in one process, so that drift falls on both alike) the interval is
/// the 95 % percentile bootstrap of the ratio of medians, from 2000 resamples of a fixed generator. A user error names what the samples lack.
Result<TimeComparison> compareTimes(const std::vector<double> &baseline, const std::vector<double> &candidate, bool measured, double noise);

/// Accepted, or refused as slower or within_noise.
struct ProfileDecision {
  Outcome outcome = Outcome::Accepted;
  Reason reason = Reason::None;
  std::string detail;
};
ProfileDecision decide(Policy policy, const TimeComparison &times);

} // namespace klineage
