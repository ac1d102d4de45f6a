#include "gate/profile.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

namespace klineage {
namespace {

/// Fewer measured samples than this have no interval worth the name.
constexpr size_t leastSamples = 5;

bool areTimes(const std::vector<double> &samples) {
  return !samples.empty() && std::all_of(samples.begin(), samples.end(), [](double t) { return std::isfinite(t) && t > 0; });
}

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * ratio);
  return text;
}

} // namespace

double median(std::vector<double> samples) {
  size_t middle = samples.size() / 2;
  std::nth_element(samples.begin(), samples.begin() + middle, samples.end());
  double upper = samples[middle];
  if (samples.size() % 2) return upper;
  return (upper + *std::max_element(samples.begin(), samples.begin() + middle)) / 2;
}

double selfNoise(const std::vector<double> &first, const std::vector<double> &second) {
  if (!areTimes(first) || !areTimes(second)) return 0;
  double a = median(first), b = median(second);
  return std::fabs(a - b) / std::min(a, b);
}

Result<TimeComparison> compareTimes(const std::vector<double> &baseline, const std::vector<double> &candidate, bool measured, double noise) {
  if (!areTimes(baseline)) return userError("the baseline has no valid times");
  if (!areTimes(candidate)) return userError("the candidate has no valid times");
  TimeComparison times;
  times.baseline = median(baseline);
  times.candidate = median(candidate);
  times.speedup = times.low = times.high = times.baseline / times.candidate;
  if (!measured) {
    times.smallestDifference = std::max(Gate::smallestModelledDifference, noise);
    return times;
  }
  if (baseline.size() < leastSamples || candidate.size() < leastSamples)
    return userError("fewer than " + std::to_string(leastSamples) + " measured samples");
  times.smallestDifference = noise;
  std::mt19937_64 generator(20240607);
  auto resampled = [&](const std::vector<double> &from) {
    std::vector<double> drawn(from.size());
    for (double &value : drawn) value = from[generator() % from.size()];
    return median(std::move(drawn));
  };
  std::vector<double> ratios(2000);
  for (double &ratio : ratios) ratio = resampled(baseline) / resampled(candidate);
  std::sort(ratios.begin(), ratios.end());
  times.low = ratios[ratios.size() * 25 / 1000];
  times.high = ratios[ratios.size() * 975 / 1000];
  return times;
}

ProfileDecision decide(Policy policy, const TimeComparison &times) {
  if (policy == Policy::Simplify) return {}; // the effect itself is what is wanted
  double least = 1 + times.smallestDifference;
  if (times.speedup < 1 / least && times.high < 1)
    return {Outcome::Refused, Reason::Slower, "slower by " + percent(1 / times.speedup - 1)};
  if (times.speedup <= least || times.low <= 1)
    return {Outcome::Refused, Reason::WithinNoise,
            "faster by " + percent(times.speedup - 1) + ", where less than " + percent(times.smallestDifference) + " is no difference"};
  return {};
}

} // namespace klineage
