// Paired timing: two versions timed in turns, A B B A, until the ratio of their speeds is known well enough. Knows neither CUDA nor LLVM, so
// that the worker, the gate and the tests with a made-up clock share it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace klineage {

/// One turn, in seconds: A, B, B, A. What drifts evenly falls on both alike.
struct TimingBlock {
  double a1 = 0, b1 = 0, b2 = 0, a2 = 0;
};

/// Time of A over time of B (above 1, B is faster): the mean of all samples of A without the tenth at either end, over that of B; with its 95 % interval, the
/// percentile bootstrap over blocks, fixed generator. The median of the blocks' own ratios was tried first: on an H200 it lay 0.2 % from 1 for equal builds, because the
/// two inner samples of a block are neighbours and the two outer ones are not.
struct RatioInterval {
  double ratio = 1, low = 1, high = 1;
  double width() const { return high - low; }
};
RatioInterval ratioOf(const std::vector<TimingBlock> &blocks, unsigned resamples = 1000, uint64_t seed = 20240607);

/// All samples of one side, in order.
std::vector<double> samplesOf(const std::vector<TimingBlock> &blocks, bool sideB);

/// When to stop. The interval may not be looked at before `leastRounds`, which bounds how often looking early can mislead.
struct PairedPlan {
  unsigned warmUps = 10;        ///< Calls of each side before the first block.
  unsigned blocksARound = 8;
  unsigned leastRounds = 3, mostRounds = 25;
  double wantedWidth = 0.004;   ///< Of the interval: 0.4 % of the ratio.
  double secondsAtMost = 3;     ///< Wall clock, warm-ups included; a side that is so slow that even three blocks take longer gets three blocks.
  unsigned leastBlocks = 3;
};

/// Takes one sample of side A (false) or B (true), in seconds; not above zero stops the timing with what there is.
using SampleFunction = std::function<double(bool sideB)>;
/// Seconds of any steady clock.
using ClockFunction = std::function<double()>;

struct PairedSamples {
  std::vector<TimingBlock> blocks;
  std::string stoppedBy; ///< "narrow", "rounds", "time", or "failed" (a sample was not above zero).
};
PairedSamples timePaired(const PairedPlan &plan, const SampleFunction &sample, const ClockFunction &now);

/// The smallest relative difference that is called one, from a baseline timed against a copy of itself: twice the farthest end of that interval from 1
/// (an estimate as uncertain as this one lies beyond it in fewer than one of ten thousand cases), and never below the clock's own grain.
double smallestDifference(const RatioInterval &self);
inline constexpr double finestDifference = 0.001;

/// What a pair says, given the smallest difference: the interval must leave out 1 and the ratio must be farther from it than that.
enum class PairAnswer { WithinNoise, Faster, Slower };
PairAnswer answerOf(const RatioInterval &pair, double smallest);

/// The share of `trials` in which blocks of equal builds, drawn anew with replacement, would have been called different. `self` and
/// `pair` are both recordings of equal builds. Uses all cores.
double falseShare(const std::vector<TimingBlock> &self, const std::vector<TimingBlock> &pair, unsigned trials, uint64_t seed, unsigned blocksATrial);

/// Upper 95 % bound (Clopper-Pearson) of a share of which `seen` were counted in `trials`.
double upperBound(unsigned seen, unsigned trials);

} // namespace klineage
