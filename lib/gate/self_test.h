// SelfTest: equal builds timed against each other. How often would the gate have called them different?
#pragma once
#include "gate/gate.h"

namespace klineage {

struct SelfTest {
  Reason reason = Reason::None;
  std::string detail;
  std::string instance;
  unsigned verdicts = 0, wrong = 0;           ///< Live: each has a timing against itself of its own, and a timing of the pair.
  unsigned resampled = 0, resampledWrong = 0; ///< Drawn with replacement from all recorded blocks.
  double medianSeconds = 0, medianSmallest = 0; ///< Of one call; of the smallest difference that the verdicts would have called one.
  unsigned blocksAVerdict = 0;                ///< Median.
  std::vector<std::vector<TimingBlock>> recorded;
  Counters clocks;
};

/// Times `sources` against a copy of itself, so that `verdicts` are reached, in one worker process; then `resampled` from the recorded blocks.
SelfTest againstItself(Device &device, const Workload &workload, const SourceSet &sources, const Instance &instance, unsigned verdicts, unsigned resampled);

/// One line of JSON with every block.
std::string toJson(const SelfTest &test);

} // namespace klineage
