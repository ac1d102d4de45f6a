// The statistics of paired timing on made-up clocks and recorded shapes of noise: no GPU.
#include "device/paired.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace klineage;

namespace {

/// A card in a simulation: a base time, noise a sample, slow drift, and seldom a sample that takes far longer.
struct FakeCard {
  double a = 100e-6, b = 100e-6, noise = 0.002, driftASample = 0, outlierShare = 0;
  std::mt19937_64 generator{7};
  double elapsed = 0;
  unsigned taken = 0;
  double operator()(bool sideB) {
    std::normal_distribution<double> normal(0, noise);
    std::uniform_real_distribution<double> uniform(0, 1);
    double time = (sideB ? b : a) * (1 + normal(generator)) * (1 + driftASample * taken++);
    if (uniform(generator) < outlierShare) time *= 3;
    elapsed += time + 200e-6;
    return time;
  }
  PairedSamples time(const PairedPlan &plan = {}) {
    return timePaired(plan, [this](bool sideB) { return (*this)(sideB); }, [this] { return elapsed; });
  }
};

} // namespace

TEST(PairedTiming, TakesTurnsABBAAfterTenWarmUps) {
  std::string turns;
  PairedPlan plan;
  plan.blocksARound = 1;
  plan.leastRounds = plan.mostRounds = 3;
  timePaired(plan, [&](bool sideB) { turns += sideB ? 'B' : 'A'; return 1e-6; }, [] { return 0.0; });
  EXPECT_EQ(turns.substr(0, 20), "ABABABABABABABABABAB");
  EXPECT_EQ(turns.substr(20), "ABBAABBAABBA");
}

TEST(PairedTiming, StopsWhenTheIntervalIsNarrowAndNeverBeforeThreeRounds) {
  FakeCard calm;
  calm.noise = 0.0001;
  auto samples = calm.time();
  EXPECT_EQ(samples.stoppedBy, "narrow");
  EXPECT_EQ(samples.blocks.size(), 24u);
  EXPECT_LE(ratioOf(samples.blocks).width(), 1.5 * PairedPlan().wantedWidth);
}

TEST(PairedTiming, StopsByItsBudgetsWhenTheNoiseStays) {
  FakeCard loud;
  loud.noise = 0.2;
  EXPECT_EQ(loud.time().stoppedBy, "rounds");
  FakeCard slow;
  slow.noise = 0.2;
  slow.a = slow.b = 0.1;
  EXPECT_EQ(slow.time().stoppedBy, "time");
}

TEST(PairedTiming, ASideThatTakesSecondsGetsOneWarmUpAndThreeBlocks) {
  FakeCard slow;
  slow.b = 10;
  auto samples = slow.time();
  EXPECT_EQ(samples.stoppedBy, "time");
  EXPECT_EQ(samples.blocks.size(), 3u);
  EXPECT_EQ(slow.taken, 2 + 4 * 3u);
}

TEST(PairedTiming, KeepsWhatItHasWhenASampleFails) {
  int left = 20 + 4 * 30 + 2;
  auto samples = timePaired({.mostRounds = 100, .wantedWidth = -1}, [&](bool) { return left-- > 0 ? 1e-6 : 0.0; }, [] { return 0.0; });
  EXPECT_EQ(samples.stoppedBy, "failed");
  EXPECT_EQ(samples.blocks.size(), 30u);
}

TEST(PairedTiming, EvenDriftFallsOnBothAlike) {
  FakeCard warming;
  warming.noise = 0.0005;
  warming.driftASample = 0.0002; // 2 % over a hundred samples
  RatioInterval interval = ratioOf(warming.time().blocks);
  EXPECT_NEAR(interval.ratio, 1, 0.001);
  EXPECT_LT(interval.low, 1);
  EXPECT_GT(interval.high, 1);
}

TEST(PairedTiming, OutliersDoNotMoveTheRatio) {
  FakeCard card;
  card.b = 90e-6;
  card.outlierShare = 0.05;
  RatioInterval interval = ratioOf(card.time().blocks);
  EXPECT_NEAR(interval.ratio, 100.0 / 90, 0.005);
}

TEST(RatioInterval, CoversTheTruthAboutAsOftenAsItSays) {
  unsigned covered = 0, trials = 200;
  FakeCard card;
  card.b = 97e-6;
  PairedPlan plan;
  plan.mostRounds = 3;
  for (unsigned t = 0; t < trials; ++t) {
    RatioInterval interval = ratioOf(card.time(plan).blocks);
    covered += interval.low <= 100.0 / 97 && 100.0 / 97 <= interval.high;
  }
  EXPECT_GT(double(covered) / trials, 0.90);
  EXPECT_LT(covered, trials); // an interval that always covers says nothing
}

TEST(RatioInterval, NeighboursThatMoveTogetherDoNotShiftIt) {
  // Two states of the card that last a few samples each: within a block the inner two are mostly in one, the outer two are not.
  std::mt19937_64 generator(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<TimingBlock> blocks(4000);
  bool slow = false;
  for (auto &block : blocks)
    for (double *sample : {&block.a1, &block.b1, &block.b2, &block.a2}) {
      if (uniform(generator) < (slow ? 0.4 : 0.15)) slow = !slow;
      *sample = (slow ? 38e-6 : 36e-6) * (1 + 0.004 * uniform(generator));
    }
  EXPECT_NEAR(ratioOf(blocks, 50).ratio, 1, 0.0015);
}

TEST(SmallestDifference, IsTwiceTheFarEndOfTheBaselineAgainstItself) {
  EXPECT_DOUBLE_EQ(smallestDifference({1.0, 0.998, 1.001}), 0.004);
  EXPECT_DOUBLE_EQ(smallestDifference({1.0, 1.0, 1.0}), finestDifference);
  EXPECT_NEAR(smallestDifference({1.004, 1.003, 1.005}), 0.01, 1e-12) << "a copy that is always slower than its original is noise of the method";
}

TEST(PairAnswer, NeedsBothTheIntervalAndTheDistance) {
  EXPECT_EQ(answerOf({1.02, 1.01, 1.03}, 0.004), PairAnswer::Faster);
  EXPECT_EQ(answerOf({0.97, 0.96, 0.98}, 0.004), PairAnswer::Slower);
  EXPECT_EQ(answerOf({1.002, 1.001, 1.003}, 0.004), PairAnswer::WithinNoise) << "surely different, but by less than the method can tell";
  EXPECT_EQ(answerOf({1.05, 0.99, 1.1}, 0.004), PairAnswer::WithinNoise) << "far, but not surely";
}

TEST(PairAnswer, EqualBuildsAreSeldomCalledDifferent) {
  FakeCard card;
  card.noise = 0.004;
  card.outlierShare = 0.01;
  PairedPlan plan;
  plan.mostRounds = 3;
  unsigned wrong = 0, trials = 250;
  for (unsigned t = 0; t < trials; ++t) {
    double smallest = smallestDifference(ratioOf(card.time(plan).blocks));
    wrong += answerOf(ratioOf(card.time(plan).blocks), smallest) != PairAnswer::WithinNoise;
  }
  EXPECT_LE(wrong, 1u);
}

TEST(PairAnswer, AnEffectOfOnePercentIsSeenInOrdinaryNoise) {
  FakeCard card;
  card.noise = 0.003;
  unsigned seen = 0;
  for (int t = 0; t < 20; ++t) {
    card.b = card.a;
    double smallest = smallestDifference(ratioOf(card.time().blocks));
    card.b = card.a * 0.99;
    seen += answerOf(ratioOf(card.time().blocks), smallest) == PairAnswer::Faster;
  }
  EXPECT_GE(seen, 19u);
}

TEST(FalseShare, ResampledBlocksOfEqualBuildsGiveFewAndOfUnequalOnesMany) {
  FakeCard equal;
  auto self = equal.time({.mostRounds = 3, .wantedWidth = 0}).blocks, pair = equal.time({.mostRounds = 3, .wantedWidth = 0}).blocks;
  EXPECT_LT(falseShare(self, pair, 150, 1, 24), 0.02);
  equal.b *= 0.95;
  EXPECT_GT(falseShare(self, equal.time().blocks, 50, 1, 24), 0.98);
}

TEST(UpperBound, IsClopperAndPearsons) {
  EXPECT_NEAR(upperBound(0, 300), 1 - std::pow(0.05, 1.0 / 300), 1e-9); // about 1 %
  EXPECT_NEAR(upperBound(0, 10000), 0.0002995, 1e-6);
  EXPECT_GT(upperBound(1, 300), upperBound(0, 300));
  EXPECT_EQ(upperBound(3, 3), 1);
}
