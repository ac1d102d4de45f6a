#include "gate/self_test.h"
#include "gate/profile.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace klineage {

SelfTest againstItself(Device &device, const Workload &workload, const SourceSet &sources, const Instance &instance, unsigned verdicts, unsigned resampled) {
  SelfTest test;
  test.instance = instance.name;
  PairRequest request;
  request.workload = &workload;
  request.instance = &instance;
  request.seed = instance.seed;
  request.self = request.baselineCounters = request.candidateCounters = false;
  request.repeats = 2 * verdicts; // the first of two sets the smallest difference of the second
  PairOutcome outcome = device.timePair(sources, sources, request);
  test.reason = outcome.reason;
  test.detail = outcome.detail;
  test.clocks = outcome.candidateCounters;
  test.recorded = outcome.pairs;
  std::vector<TimingBlock> all;
  std::vector<double> smallests, counts;
  for (size_t i = 0; i + 1 < outcome.pairs.size(); i += 2) {
    double smallest = smallestDifference(ratioOf(outcome.pairs[i]));
    ++test.verdicts;
    test.wrong += answerOf(ratioOf(outcome.pairs[i + 1]), smallest) != PairAnswer::WithinNoise;
    smallests.push_back(smallest);
    for (size_t side : {i, i + 1}) {
      counts.push_back(double(outcome.pairs[side].size()));
      all.insert(all.end(), outcome.pairs[side].begin(), outcome.pairs[side].end());
    }
  }
  if (test.verdicts == 0) {
    if (test.reason == Reason::None) test.reason = Reason::NoSamples;
    return test;
  }
  test.blocksAVerdict = unsigned(median(counts));
  test.medianSmallest = median(smallests);
  test.medianSeconds = median(samplesOf(all, false));
  test.resampled = resampled;
  test.resampledWrong = unsigned(std::lround(falseShare(all, all, resampled, 1, test.blocksAVerdict) * resampled));
  return test;
}

std::string toJson(const SelfTest &test) {
  nlohmann::json recorded = nlohmann::json::array();
  for (const auto &blocks : test.recorded) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto &block : blocks) rows.push_back({block.a1, block.b1, block.b2, block.a2});
    recorded.push_back(rows);
  }
  return nlohmann::json{{"schema", "klineage.self_test/1"},
                        {"reason", name(test.reason)},
                        {"detail", test.detail},
                        {"instance", test.instance},
                        {"verdicts", test.verdicts},
                        {"wrong", test.wrong},
                        {"upper_bound", upperBound(test.wrong, test.verdicts)},
                        {"resampled", test.resampled},
                        {"resampled_wrong", test.resampledWrong},
                        {"resampled_upper_bound", upperBound(test.resampledWrong, test.resampled)},
                        {"median_seconds", test.medianSeconds},
                        {"median_smallest_difference", test.medianSmallest},
                        {"blocks_a_verdict", test.blocksAVerdict},
                        {"clocks", test.clocks},
                        {"recorded", recorded}}
             .dump() +
         "\n";
}

} // namespace klineage
