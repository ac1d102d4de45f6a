#include "gate/profile.h"
#include "fake_device.h"
#include <cmath>

using namespace klineage;
using namespace klineage::testing;

namespace {
std::vector<double> around(double middle, double spread, int count) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(middle * (1 + spread * ((i * 7 % 11) - 5) / 5.0));
  return samples;
}
} // namespace

class Profile : public GateTest {
protected:
  void SetUp() override {
    GateTest::SetUp();
    other = version("other.cu", std::string(goodLauncher) + "__device__ int unused;\n");
    forward.policy = Policy::Materialize;
  }
  void times(double baseline, double candidate) {
    device.seconds = {{good.mainFile, baseline}, {other.mainFile, candidate}};
  }
  SourceSet other;
  GateOptions forward;
};

TEST_F(Profile, GoingBackTheEffectIsRecordedWhateverItIs) {
  times(1e-3, 5e-3);
  auto verdict = judge(other, &good);
  EXPECT_EQ(verdict.outcome, Outcome::Accepted);
  ASSERT_EQ(verdict.profile.size(), 1u);
  EXPECT_NEAR(verdict.profile[0].speedup(), 0.2, 1e-9);
  EXPECT_FALSE(verdict.profile[0].measured);
}

TEST_F(Profile, GoingForwardSlowerIsRefused) {
  times(1e-3, 1.05e-3);
  auto verdict = judge(other, &good, forward);
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_EQ(verdict.reason, Reason::Slower);
}

TEST_F(Profile, GoingForwardLessThanTheSmallestDifferenceIsWithinNoise) {
  times(1e-3, 0.995e-3);
  EXPECT_EQ(judge(other, &good, forward).reason, Reason::WithinNoise);
}

TEST_F(Profile, GoingForwardFasterIsAccepted) {
  times(1e-3, 0.9e-3);
  auto verdict = judge(other, &good, forward);
  EXPECT_EQ(verdict.outcome, Outcome::Accepted) << verdict.detail;
}

TEST_F(Profile, VersionAgainstItselfIsNeverFaster) {
  EXPECT_EQ(judge(good, &good, forward).reason, Reason::WithinNoise);
}

TEST_F(Profile, PolicyIsNoPartOfTheKeptRun) {
  times(1e-3, 1.5e-3);
  EXPECT_EQ(judge(other, &good).outcome, Outcome::Accepted);
  int runs = device.runs;
  auto verdict = judge(other, &good, forward);
  EXPECT_EQ(verdict.reason, Reason::Slower);
  EXPECT_TRUE(verdict.fromCache);
  EXPECT_LE(device.runs, runs + 1); // a new gate takes the device against itself once
}

TEST_F(Profile, NoTimesAreUndecidedNotZero) {
  device.onlyFor = other.mainFile;
  device.script = [](FakeCall &call) { call.outcome.seconds.clear(); };
  auto verdict = judge(other, &good);
  EXPECT_EQ(verdict.outcome, Outcome::Undecided);
  EXPECT_EQ(verdict.reason, Reason::NoSamples);
  device.script = [](FakeCall &call) { call.outcome.seconds = {0.0}; };
  EXPECT_EQ(judge(version("third.cu", std::string(goodLauncher) + "__device__ int third;\n"), &good).outcome, Outcome::Accepted);
  GateOptions fresh;
  fresh.useCache = false;
  EXPECT_EQ(judge(other, &good, fresh).reason, Reason::NoSamples);
}

TEST_F(Profile, BaselineThatCannotBeProfiledIsUndecided) {
  device.onlyFor = good.mainFile;
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Hang; };
  auto verdict = judge(other, &good);
  EXPECT_EQ(verdict.outcome, Outcome::Undecided);
  EXPECT_EQ(verdict.reason, Reason::NoSamples);
  EXPECT_NE(verdict.detail.find("hang"), std::string::npos);
}

TEST_F(Profile, FaultOnlyInTheProfileInstanceIsRefused) {
  device.onlyFor = other.mainFile;
  device.script = [](FakeCall &call) {
    if (call.request.profile) call.outcome.reason = Reason::OutOfBounds;
  };
  auto verdict = judge(other, &good);
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_EQ(verdict.reason, Reason::OutOfBounds);
}

TEST_F(Profile, DeviceThatCannotRepeatItselfRaisesTheSmallestDifference) {
  int call = 0;
  device.onlyFor = good.mainFile;
  device.script = [&](FakeCall &fake) {
    if (fake.request.profile) fake.outcome.seconds = {++call % 2 ? 1.0e-3 : 1.2e-3};
  };
  device.seconds[other.mainFile] = 0.9e-3;
  EXPECT_EQ(judge(other, &good, forward).reason, Reason::WithinNoise);
}

TEST_F(Profile, NoProfileInstanceIsUndecidedAndForwardNeedsABaseline) {
  EXPECT_EQ(judge(good, nullptr, forward).reason, Reason::NoSamples);
  for (auto &instance : workload.instances) instance.profile = false;
  EXPECT_EQ(judge(good).reason, Reason::NoSamples);
  GateOptions unprofiled;
  unprofiled.profile = false;
  EXPECT_EQ(judge(good, nullptr, unprofiled).outcome, Outcome::Accepted);
}

TEST(MeasuredTimes, IntervalHoldsTheRatioAndSeparatesARealDifference) {
  auto times = compareTimes(around(2e-3, 0.02, 11), around(1e-3, 0.02, 11), true, 0.01);
  ASSERT_TRUE(times);
  EXPECT_LE(times->low, 2.0);
  EXPECT_GE(times->high, 2.0);
  EXPECT_GT(times->low, 1.9);
  EXPECT_EQ(decide(Policy::Materialize, *times).outcome, Outcome::Accepted);
}

TEST(MeasuredTimes, OverlappingSamplesAreWithinNoise) {
  auto times = compareTimes(around(1.02e-3, 0.1, 11), around(1e-3, 0.1, 11), true, 0.005);
  ASSERT_TRUE(times);
  EXPECT_EQ(decide(Policy::Materialize, *times).reason, Reason::WithinNoise);
}

TEST(MeasuredTimes, FewSamplesAreNoEvidence) { EXPECT_FALSE(compareTimes({1e-3, 1e-3}, {1e-3, 1e-3}, true, 0)); }

TEST(MeasuredTimes, NotANumberIsNoTime) {
  EXPECT_FALSE(compareTimes({std::nan("")}, {1e-3}, false, 0));
  EXPECT_FALSE(compareTimes({1e-3}, {}, false, 0));
  EXPECT_FALSE(compareTimes({1e-3}, {-1.0}, false, 0));
}
