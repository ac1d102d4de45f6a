// The laws of a step that need the gate: its kernels pass, against themselves and each other, and a waived condition fails as announced.
#include "gate/gate.h"
#include "step_folder.h"
#include "support/files.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace klineage::testing {
namespace {
namespace fs = std::filesystem;

class StepGateLaws : public ::testing::TestWithParam<std::string> {
protected:
  StepFolder folder{GetParam()};
  std::unique_ptr<Device> device = makeEmulatedDevice();
  ScratchFolder record;
  Gate gate{*device, record.path()};
  GateOptions once{.policy = Policy::Simplify, .seeds = 1, .profile = false};

  std::string judge(const fs::path &file, const GateOptions &options) { return judge(file, file, options); }
  /// The reason why `code` does not pass in the place of `file`, or empty.
  std::string judge(const fs::path &file, const fs::path &code, const GateOptions &options) {
    auto workload = workloadOf(file);
    if (!workload) return workload.error().message();
    auto sources = sourcesOf(code);
    if (!sources) return sources.error().message();
    Verdict verdict = gate.judge(*workload, *sources, nullptr, options);
    return verdict.accepted() ? "" : std::string(name(verdict.reason)) + ": " + verdict.detail;
  }
};

TEST_P(StepGateLaws, Law5_AWaivedConditionFailsAsItsProbeSays) {
  for (const auto &path : folder.files("fail_")) {
    std::string expected = StepFolder::tag(path, "waived");
    ASSERT_FALSE(expected.empty()) << path << " does not say what the gate must answer";
    auto workload = workloadOf(path);
    ASSERT_TRUE(workload) << workload.error().message();
    auto version = load(path);
    ASSERT_TRUE(version) << version.error().message();
    EXPECT_EQ(judge(path, once), "") << path << ": the probe itself must pass before the step is applied";
    auto found = survey(**version, Direction::Materialize, GetParam());
    std::string condition = path.stem().string().substr(5);
    auto broken = std::find_if(found.candidates.begin(), found.candidates.end(), [&](const Candidate &one) { return one.firstUnsound() == condition; });
    ASSERT_NE(broken, found.candidates.end()) << path;
    auto applied = apply(**version, Direction::Materialize, *broken, {}, /*waive=*/true);
    ASSERT_TRUE(applied) << path << ": " << applied.error().message();
    Verdict verdict = gate.judge(*workload, applied->sources, nullptr, once);
    EXPECT_EQ(verdict.accepted() ? "accepted" : name(verdict.reason), expected) << path << ": " << verdict.detail << "\n" << applied->sources.mainText();
  }
}

TEST_P(StepGateLaws, Law7_ExpertAndPlainPassAndTheirEffectIsRecorded) {
  auto expert = folder.path / "expert.cu", plain = folder.path / "plain.cu";
  auto workload = workloadOf(expert);
  ASSERT_TRUE(workload) << workload.error().message();
  auto before = sourcesOf(plain), after = sourcesOf(expert);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(judge(expert, once), "");
  EXPECT_EQ(judge(expert, plain, once), "");
  Verdict pair = gate.judge(*workload, *after, &*before, {.policy = Policy::Simplify, .seeds = 1});
  ASSERT_TRUE(pair.accepted()) << name(pair.reason) << ": " << pair.detail;
  ASSERT_FALSE(pair.profile.empty()) << "no profile instance for the emulated device";
  std::printf("[ modelled ] %s: expert %.3f x the speed of plain\n", GetParam().c_str(), pair.profile.front().speedup());
}

TEST_P(StepGateLaws, Law7_TransfersPassBeforeAndAfter) {
  for (const auto &path : folder.files("transfer_")) {
    auto expected = path;
    expected.replace_extension(".expect.cu");
    EXPECT_EQ(judge(path, once), "") << path;
    EXPECT_EQ(judge(path, expected, once), "") << expected;
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, StepGateLaws, ::testing::ValuesIn(stepIds()), [](const auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StepGateLaws);

} // namespace
} // namespace klineage::testing
