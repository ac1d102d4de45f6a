// The gate on a measured device, scripted: what blocks of A-B-B-A are made of, and what a GPU's acceptance needs beside them.
#include "fake_device.h"
#include "gate/self_test.h"
#include <nlohmann/json.hpp>

using namespace klineage;
using namespace klineage::testing;

namespace {

class Measured : public GateTest {
protected:
  void SetUp() override {
    GateTest::SetUp();
    device.deviceId = "cuda:0 Fake driver 1";
    device.isMeasured = true;
    plain = version("plain.cu", goodLauncher);
    other = version("other.cu", std::string(goodLauncher) + "// another\n" + "__device__ int unused;\n");
  }
  SourceSet plain, other;
  GateOptions forward{.policy = Policy::Materialize};
};

} // namespace

TEST_F(Measured, AFasterCandidateIsAcceptedWithItsInterval) {
  device.seconds = {{plain.mainFile, 1e-3}, {other.mainFile, 0.9e-3}};
  Verdict verdict = judge(other, &plain, forward);
  ASSERT_TRUE(verdict.accepted()) << verdict.detail;
  ASSERT_EQ(verdict.profile.size(), 1u);
  const ProfilePoint &point = verdict.profile[0];
  EXPECT_TRUE(point.measured);
  EXPECT_NEAR(point.speedup(), 1 / 0.9, 0.002);
  EXPECT_LE(point.low, point.ratio);
  EXPECT_GE(point.high, point.ratio);
  EXPECT_EQ(point.blocks, 24u);
  EXPECT_GE(point.smallestDifference, finestDifference);
}

TEST_F(Measured, EqualTimesAreWithinNoiseGoingForwardAndTheEffectGoingBack) {
  Verdict verdict = judge(other, &plain, forward);
  EXPECT_EQ(verdict.reason, Reason::WithinNoise);
  EXPECT_TRUE(judge(other, &plain).accepted());
}

TEST_F(Measured, ASlowerCandidateIsRefusedGoingForward) {
  device.seconds = {{plain.mainFile, 1e-3}, {other.mainFile, 1.1e-3}};
  EXPECT_EQ(judge(other, &plain, forward).reason, Reason::Slower);
}

TEST_F(Measured, TheBaselineIsTimedAgainstItselfOnceAndThePairIsKept) {
  Gate gate(device, records());
  GateOptions options;
  gate.judge(workload, other, &plain, options);
  SourceSet third = version("third.cu", std::string(goodLauncher) + "__device__ float one_more;\n");
  gate.judge(workload, third, &plain, options);
  ASSERT_EQ(device.asked.size(), 2u);
  EXPECT_TRUE(device.asked[0].self);
  EXPECT_FALSE(device.asked[1].self);
  gate.judge(workload, third, &plain, options);
  EXPECT_EQ(device.pairs, 2) << "the record answers";
  Verdict again = Gate(device, records()).judge(workload, third, &plain, options);
  EXPECT_EQ(device.pairs, 2);
  EXPECT_EQ(again.profile.at(0).blocks, 24u);
}

TEST_F(Measured, NewValuesAtOldAddressesCatchAKeptResult) {
  device.pairScript = [](PairOutcome &outcome) {
    std::string right(1024, '\0'), kept(1024, '\0');
    for (size_t i = 0; i < 256; ++i) {
      storeElement(ElementType::F32, right.data() + 4 * i, double(i));
      storeElement(ElementType::F32, kept.data() + 4 * i, double(i) + 3);
    }
    outcome.baselineFresh = {"", right, ""};
    outcome.candidateFresh = {"", kept, ""};
  };
  Verdict verdict = judge(other, &plain);
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_EQ(verdict.reason, Reason::WrongValue);
  EXPECT_NE(verdict.detail.find("new values"), std::string::npos) << verdict.detail;
}

TEST_F(Measured, CountersThatCannotBeReadLeaveTheTimes) {
  device.pairScript = [](PairOutcome &outcome) { outcome.countersUnavailable = "ERR_NVGPUCTRPERM: do this"; };
  Verdict verdict = judge(other, &plain);
  EXPECT_TRUE(verdict.accepted());
  EXPECT_EQ(verdict.profile.at(0).countersUnavailable, "ERR_NVGPUCTRPERM: do this");
  EXPECT_TRUE(std::any_of(verdict.notes.begin(), verdict.notes.end(), [](const auto &note) { return note.rfind("counters_unavailable", 0) == 0; }));
}

TEST_F(Measured, WhatGivesNoTimesLeavesTheQuestionOpen) {
  device.pairScript = [](PairOutcome &outcome) {
    outcome.reason = Reason::Throttled;
    outcome.detail = "too hot";
  };
  EXPECT_EQ(judge(other, &plain).outcome, Outcome::Undecided);
  device.pairScript = [](PairOutcome &outcome) { outcome.pairs.clear(); };
  Verdict verdict = judge(other, &plain);
  EXPECT_EQ(verdict.reason, Reason::NoSamples) << "an open question is asked again";
  device.pairScript = nullptr;
  EXPECT_TRUE(judge(other, &plain).accepted());
}

TEST_F(Measured, WithoutABaselineThereAreTimesAndNoSpeedup) {
  Verdict verdict = judge(plain);
  ASSERT_TRUE(verdict.accepted()) << verdict.detail;
  EXPECT_GT(verdict.profile.at(0).candidateSeconds, 0);
  EXPECT_EQ(verdict.profile.at(0).baselineSeconds, 0);
}

TEST_F(Measured, TheEmulatedDeviceMustAcceptToo) {
  FakeDevice emulated;
  emulated.script = [](FakeCall &call) {
    call.outcome.reason = Reason::Race;
    call.outcome.detail = "kernel.cu:4: two threads";
  };
  Gate gate(device, records());
  gate.setVerifier(emulated);
  Verdict verdict = gate.judge(workload, plain, nullptr);
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_EQ(verdict.reason, Reason::Race);
  EXPECT_NE(verdict.detail.find("emulated device"), std::string::npos);
  EXPECT_EQ(device.runs, 0) << "the GPU is not asked about a version that races";

  emulated.script = [](FakeCall &call) { call.outcome.reason = Reason::Unsupported; };
  EXPECT_EQ(gate.judge(workload, other, nullptr).outcome, Outcome::Undecided);
  emulated.script = nullptr;
  EXPECT_TRUE(gate.judge(workload, other, nullptr).accepted());
}

TEST_F(Measured, ASelfTestCountsVerdictsOfEqualBuilds) {
  device.pairScript = [](PairOutcome &outcome) {
    auto one = outcome.pairs.front();
    outcome.pairs.assign(10, one);
    for (auto &block : outcome.pairs[3]) block.b1 *= 0.9, block.b2 *= 0.9; // the second verdict's pair
  };
  SelfTest test = againstItself(device, workload, plain, workload.instances.front(), 5, 100);
  EXPECT_EQ(test.verdicts, 5u);
  EXPECT_EQ(test.wrong, 1u);
  EXPECT_EQ(test.resampled, 100u);
  auto json = nlohmann::json::parse(toJson(test));
  EXPECT_EQ(json["recorded"].size(), 10u);
  EXPECT_GT(json["upper_bound"], 0.2);
}
