#include "device/paired.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

namespace klineage {
namespace {

/// For deciding whether to go on, which is asked after every round.
constexpr unsigned fewResamples = 200;

/// The mean without the tenth at either end. Reorders its argument.
double trimmedMean(std::vector<double> &values) {
  std::sort(values.begin(), values.end());
  size_t cut = values.size() / 10;
  double sum = 0;
  for (size_t i = cut; i < values.size() - cut; ++i) sum += values[i];
  return sum / double(values.size() - 2 * cut);
}

bool isTime(double seconds) { return std::isfinite(seconds) && seconds > 0; }

std::vector<TimingBlock> drawn(const std::vector<TimingBlock> &from, unsigned count, std::mt19937_64 &generator) {
  std::vector<TimingBlock> blocks(count);
  for (auto &block : blocks) block = from[generator() % from.size()];
  return blocks;
}

/// Probability of at most `seen` of `trials` at a share of `p`.
double atMost(unsigned seen, unsigned trials, double p) {
  if (p <= 0) return 1;
  if (p >= 1) return seen >= trials ? 1 : 0;
  double sum = 0;
  for (unsigned k = 0; k <= seen; ++k)
    sum += std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0) + k * std::log(p) + (trials - k) * std::log1p(-p));
  return sum;
}

} // namespace

RatioInterval ratioOf(const std::vector<TimingBlock> &blocks, unsigned resamples, uint64_t seed) {
  RatioInterval interval;
  if (blocks.empty()) return interval;
  std::vector<double> sideA(2 * blocks.size()), sideB(2 * blocks.size());
  auto take = [&](size_t at, const TimingBlock &block) {
    sideA[2 * at] = block.a1;
    sideA[2 * at + 1] = block.a2;
    sideB[2 * at] = block.b1;
    sideB[2 * at + 1] = block.b2;
  };
  for (size_t i = 0; i < blocks.size(); ++i) take(i, blocks[i]);
  interval.ratio = trimmedMean(sideA) / trimmedMean(sideB);
  std::mt19937_64 generator(seed);
  std::vector<double> drawnRatios(resamples);
  for (double &ratio : drawnRatios) {
    for (size_t i = 0; i < blocks.size(); ++i) take(i, blocks[generator() % blocks.size()]);
    ratio = trimmedMean(sideA) / trimmedMean(sideB);
  }
  std::sort(drawnRatios.begin(), drawnRatios.end());
  interval.low = drawnRatios[resamples * 25 / 1000];
  interval.high = drawnRatios[resamples * 975 / 1000];
  return interval;
}

std::vector<double> samplesOf(const std::vector<TimingBlock> &blocks, bool sideB) {
  std::vector<double> samples;
  for (const auto &block : blocks) {
    samples.push_back(sideB ? block.b1 : block.a1);
    samples.push_back(sideB ? block.b2 : block.a2);
  }
  return samples;
}

PairedSamples timePaired(const PairedPlan &plan, const SampleFunction &sample, const ClockFunction &now) {
  PairedSamples result;
  double begin = now();
  auto elapsed = [&] { return now() - begin; };
  for (unsigned i = 0; i < plan.warmUps && (i == 0 || elapsed() < plan.secondsAtMost / 4); ++i)
    if (!isTime(sample(false)) || !isTime(sample(true))) {
      result.stoppedBy = "failed";
      return result;
    }
  for (unsigned round = 1;; ++round) {
    for (unsigned b = 0; b < plan.blocksARound; ++b) {
      // One thread doing a whole grid's work takes seconds a call, while others wait for the GPU.
      if (result.blocks.size() >= plan.leastBlocks && elapsed() >= plan.secondsAtMost) {
        result.stoppedBy = "time";
        return result;
      }
      TimingBlock block;
      bool whole = isTime(block.a1 = sample(false)) && isTime(block.b1 = sample(true)) && isTime(block.b2 = sample(true)) && isTime(block.a2 = sample(false));
      if (!whole) {
        result.stoppedBy = "failed";
        return result;
      }
      result.blocks.push_back(block);
    }
    if (round < plan.leastRounds) continue;
    if (ratioOf(result.blocks, fewResamples).width() <= plan.wantedWidth) result.stoppedBy = "narrow";
    else if (round >= plan.mostRounds) result.stoppedBy = "rounds";
    else if (elapsed() >= plan.secondsAtMost) result.stoppedBy = "time";
    else continue;
    return result;
  }
}

double smallestDifference(const RatioInterval &self) {
  return std::max(finestDifference, 2 * std::max(std::fabs(self.high - 1), std::fabs(1 - self.low)));
}

PairAnswer answerOf(const RatioInterval &pair, double smallest) {
  if (pair.low > 1 && pair.ratio > 1 + smallest) return PairAnswer::Faster;
  if (pair.high < 1 && pair.ratio < 1 / (1 + smallest)) return PairAnswer::Slower;
  return PairAnswer::WithinNoise;
}

double falseShare(const std::vector<TimingBlock> &self, const std::vector<TimingBlock> &pair, unsigned trials, uint64_t seed, unsigned blocksATrial) {
  if (self.empty() || pair.empty() || trials == 0) return 0;
  std::atomic<unsigned> next{0}, wrong{0};
  auto work = [&] {
    for (unsigned t; (t = next++) < trials;) {
      std::mt19937_64 generator(seed + t); // a trial is the same whichever thread takes it
      double smallest = smallestDifference(ratioOf(drawn(self, blocksATrial, generator)));
      wrong += answerOf(ratioOf(drawn(pair, blocksATrial, generator)), smallest) != PairAnswer::WithinNoise;
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(work);
  work();
  for (auto &other : others) other.join();
  return double(wrong) / trials;
}

double upperBound(unsigned seen, unsigned trials) {
  if (trials == 0 || seen >= trials) return 1;
  double low = double(seen) / trials, high = 1;
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    (atMost(seen, trials, middle) > 0.05 ? low : high) = middle;
  }
  return high;
}

} // namespace klineage
