#include "fake_device.h"
#include <cmath>

using namespace klineage;
using namespace klineage::testing;

namespace {
void setFloat(std::string &bytes, size_t element, float value) { storeElement(ElementType::F32, bytes.data() + 4 * element, value); }
float getFloat(const std::string &bytes, size_t element) { return float(loadElement(ElementType::F32, bytes.data() + 4 * element)); }
} // namespace

using Correctness = GateTest;

TEST_F(Correctness, RightKernelIsAcceptedOnEveryInstanceAndSeed) {
  auto verdict = judge(good);
  EXPECT_EQ(verdict.outcome, Outcome::Accepted) << name(verdict.reason) << ": " << verdict.detail;
  EXPECT_EQ(verdict.reason, Reason::None);
  EXPECT_EQ(verdict.instances.size(), 5u); // two seeds on two instances, and one repeat
  EXPECT_EQ(verdict.oracle, "reference");
  EXPECT_FALSE(verdict.nondeterministic);
}

TEST_F(Correctness, OneWrongElementInTheLastInstanceIsFoundAndNamed) {
  device.script = [](FakeCall &call) {
    if (call.request.instance->name == "ragged" && call.request.seed == 2) setFloat(call.outcome.outputs[1], 130, getFloat(call.outcome.outputs[1], 130) + 1e-3f);
  };
  auto verdict = judge(good);
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_EQ(verdict.reason, Reason::WrongValue) << verdict.detail;
  EXPECT_EQ(verdict.instance, "ragged");
  EXPECT_NE(verdict.detail.find("y[130]"), std::string::npos) << verdict.detail;
}

TEST_F(Correctness, RoundingOfTheLastBitIsNoWrongValue) {
  device.script = [](FakeCall &call) {
    float value = getFloat(call.outcome.outputs[1], 7);
    setFloat(call.outcome.outputs[1], 7, std::nextafterf(value, 1e9f));
  };
  EXPECT_EQ(judge(good).outcome, Outcome::Accepted);
}

TEST_F(Correctness, ZeroOutputsAreWrongValues) {
  device.script = [](FakeCall &call) { call.outcome.outputs[1].assign(call.outcome.outputs[1].size(), '\0'); };
  EXPECT_EQ(judge(good).reason, Reason::WrongValue);
}

TEST_F(Correctness, OutputLeftPoisonedIsUnwrittenAndNotWrong) {
  device.script = [](FakeCall &call) {
    for (size_t i = 400; i < 420; ++i) call.outcome.outputs[1][i] = char(poison[i % 2]);
  };
  auto verdict = judge(good);
  EXPECT_EQ(verdict.reason, Reason::UnwrittenOutput);
  EXPECT_NE(verdict.detail.find("y[100]"), std::string::npos) << verdict.detail;
}

TEST_F(Correctness, WrittenInputIsToldBeforeTheWrongValueThatItCauses) {
  device.script = [](FakeCall &call) {
    call.outcome.outputs[0].assign(call.outcome.outputs[0].size(), '\0');
    call.outcome.outputs[1].assign(call.outcome.outputs[1].size(), '\0');
  };
  auto verdict = judge(good);
  EXPECT_EQ(verdict.reason, Reason::InputModified);
  EXPECT_NE(verdict.detail.find("x[0]"), std::string::npos) << verdict.detail;
}

TEST_F(Correctness, FaultOfTheDeviceIsTheReasonEvenWhenValuesAreRight) {
  for (Reason reason : {Reason::Race, Reason::OutOfBounds, Reason::Hang, Reason::Crash, Reason::BarrierDivergence, Reason::Misaligned,
                        Reason::UninitializedRead, Reason::LaunchError, Reason::NoDeviceKernel}) {
    device.script = [&](FakeCall &call) {
      if (call.index == 3) call.outcome.reason = reason, call.outcome.detail = "kernel.cu:3";
    };
    GateOptions fresh;
    fresh.useCache = false;
    auto verdict = judge(good, nullptr, fresh);
    EXPECT_EQ(verdict.outcome, Outcome::Refused) << name(reason);
    EXPECT_EQ(verdict.reason, reason) << name(reason);
    EXPECT_NE(verdict.detail.find("kernel.cu:3"), std::string::npos);
  }
}

TEST_F(Correctness, WhatTheDeviceCannotRunIsUndecided) {
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Unsupported; };
  EXPECT_EQ(judge(good).outcome, Outcome::Undecided);
}

TEST_F(Correctness, LastOutputGivenAgainIsNamed) {
  std::string last;
  device.script = [&](FakeCall &call) {
    if (call.index == 1) call.outcome.outputs[1] = last;
    last = call.outcome.outputs[1];
  };
  auto verdict = judge(good);
  EXPECT_EQ(verdict.reason, Reason::WrongValue);
  EXPECT_NE(verdict.detail.find("last output again"), std::string::npos) << verdict.detail;
}

TEST_F(Correctness, RepeatThatDiffersWithinTheBoundsIsRecordedAndAccepted) {
  device.script = [](FakeCall &call) {
    if (call.index == 2) setFloat(call.outcome.outputs[1], 0, std::nextafterf(getFloat(call.outcome.outputs[1], 0), 1e9f));
  };
  auto verdict = judge(good);
  EXPECT_EQ(verdict.outcome, Outcome::Accepted) << verdict.detail;
  EXPECT_TRUE(verdict.nondeterministic);
}

TEST_F(Correctness, RepeatThatIsWrongIsNondeterministic) {
  device.script = [](FakeCall &call) {
    if (call.index == 2) setFloat(call.outcome.outputs[1], 0, 99);
  };
  EXPECT_EQ(judge(good).reason, Reason::Nondeterministic);
}

TEST_F(Correctness, MissingOutputsAndMissingOutcomesNeverPass) {
  device.script = [](FakeCall &call) { call.outcome.outputs[1].clear(); };
  auto verdict = judge(good);
  EXPECT_EQ(verdict.outcome, Outcome::Undecided);
  EXPECT_EQ(verdict.reason, Reason::Internal);
  device.script = nullptr;
  device.dropLast = true;
  verdict = judge(good);
  EXPECT_EQ(verdict.outcome, Outcome::Undecided);
  EXPECT_EQ(verdict.reason, Reason::Internal);
}

TEST_F(Correctness, CompileStageComesFirst) {
  for (Reason reason : {Reason::CompileError, Reason::ResourcesExceeded, Reason::Timeout}) {
    device.scriptedBuild.reason = reason;
    device.scriptedBuild.resources = {{"registers", 255}};
    auto verdict = judge(good);
    EXPECT_EQ(verdict.outcome, Outcome::Refused);
    EXPECT_EQ(verdict.reason, reason);
    EXPECT_EQ(verdict.resources.at("registers"), 255);
    EXPECT_EQ(device.runs, 0);
    std::filesystem::remove_all(records());
  }
}

TEST_F(Correctness, CaseThatAControlPassesIsRefusedByName) {
  struct {
    const char *reference, *control;
  } cases[] = {{"y[i] = 0 * x[i];", "zeros"}, {"y[i] = 1 + 0 * x[i];", "ones"}, {"y[i] = x[i];", "copy of the input x"}, {"y[i] = i % 7;", "the last output"}};
  for (const auto &one : cases) {
    put("reference.cpp", std::string("extern \"C\" void reference(const double *x, double *y, long long n) { for (long long i = 0; i < n; ++i) ") +
                             one.reference + " }");
    reload();
    auto verdict = judge(good);
    EXPECT_EQ(verdict.outcome, Outcome::Undecided) << one.control;
    EXPECT_EQ(verdict.reason, Reason::UnfitCase) << one.control;
    EXPECT_NE(verdict.detail.find(one.control), std::string::npos) << verdict.detail;
    EXPECT_EQ(device.runs, 0);
  }
}

TEST_F(Correctness, BrokenReferenceIsNoReferenceAndNotTheEndOfTheTool) {
  for (const char *body : {"{ *(volatile int *)8 = 1; }", "{ return }", "{ __builtin_trap(); }"}) {
    put("reference.cpp", std::string("extern \"C\" void reference(const double *x, double *y, long long n) ") + body);
    reload();
    auto verdict = judge(good);
    EXPECT_EQ(verdict.outcome, Outcome::Undecided) << body;
    EXPECT_EQ(verdict.reason, Reason::NoReference) << body << verdict.detail;
    EXPECT_NE(verdict.detail.find("reference.cpp"), std::string::npos) << verdict.detail;
  }
}

TEST_F(Correctness, WithoutAReferenceTheExpertIsTheOracleAndItIsSaid) {
  std::string text = affineWorkload;
  text.replace(text.find(",\n  \"reference\": \"reference.cpp\""), std::string(",\n  \"reference\": \"reference.cpp\"").size(), "");
  put("workload.json", text);
  reload();
  EXPECT_EQ(judge(good).oracle, "self");
  device.onlyFor = (scratch.path() / "kernel" / "other.cu").string();
  device.script = [](FakeCall &call) { setFloat(call.outcome.outputs[1], 3, 0.5f); };
  EXPECT_EQ(judge(version("other.cu", std::string(goodLauncher) + "// other\n__device__ int unused;\n")).reason, Reason::WrongValue);
}

TEST_F(Correctness, ExpertThatRacesIsNoOracle) {
  std::string text = affineWorkload;
  text.replace(text.find(",\n  \"reference\": \"reference.cpp\""), std::string(",\n  \"reference\": \"reference.cpp\"").size(), "");
  put("workload.json", text);
  reload();
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Race; };
  auto verdict = judge(good);
  EXPECT_EQ(verdict.outcome, Outcome::Undecided);
  EXPECT_EQ(verdict.reason, Reason::NoReference);
}

TEST_F(Correctness, NoInstanceForTheDeviceIsUndecided) {
  device.deviceId = "cuda:0 NVIDIA H200 driver 580";
  for (auto &instance : workload.instances) instance.devices = {"emulated"};
  EXPECT_EQ(judge(good).reason, Reason::UnfitCase);
}
