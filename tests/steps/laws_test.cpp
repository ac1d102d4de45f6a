// The laws of a step, checked by one driver for every step, with no code from its author. The laws that need the gate are in gate_laws_test.cpp.
#include "step/describe.h"
#include "step_folder.h"
#include "support/files.h"
#include <gtest/gtest.h>

namespace klineage::testing {
namespace {
namespace fs = std::filesystem;

class StepLaws : public ::testing::TestWithParam<std::string> {
protected:
  StepFolder folder{GetParam()};
  const Step &step() const { return *findStep(GetParam()); }
  fs::path file(const char *name) const { return folder.path / name; }

  /// The parameters that the expert form binds, site by site in source order.
  std::vector<Parameters> expertParameters() const {
    std::vector<Parameters> all;
    auto version = load(file("expert.cu"));
    if (!version) return {{}};
    auto found = survey(**version, Direction::Simplify, GetParam());
    std::stable_sort(found.candidates.begin(), found.candidates.end(), [](const Candidate &a, const Candidate &b) { return a.site.locus.offset < b.site.locus.offset; });
    for (const auto &candidate : found.candidates) all.push_back(candidate.site.parameters);
    if (all.empty()) all.push_back({});
    return all;
  }
};

std::string count(const Survey &found) {
  std::string text;
  for (const auto &candidate : found.candidates)
    text += candidate.site.locus.kind + ":" + candidate.site.locus.label + "@" + std::to_string(candidate.site.locus.offset) + "\n";
  for (const auto &[step, decline] : found.declines) text += "declined " + decline.reason + " at " + decline.where + ": " + decline.text + "\n";
  return text;
}

TEST_P(StepLaws, Law0_ThreePathsAndOneName) {
  EXPECT_TRUE(folder.exists()) << "tests/steps/" << GetParam() << " is missing";
  for (const char *name : {"expert.cu", "plain.cu", "workload.json"}) EXPECT_TRUE(fs::exists(file(name))) << name << " is missing";
  EXPECT_FALSE(folder.files("transfer_").empty()) << "no transfer_*.cu: the step must apply to another kernel";
  EXPECT_FALSE(folder.files("near_").empty()) << "no near_*.cu";
  EXPECT_FALSE(step().summary.empty());
  EXPECT_FALSE(step().intent.empty());
  for (const auto &condition : step().conditions) {
    auto parsed = Condition::parse(condition.text);
    EXPECT_TRUE(parsed) << condition.name << ": " << (parsed ? "" : parsed.error().message());
    if (condition.kind == Soundness)
      EXPECT_TRUE(fs::exists(file(("fail_" + condition.name + ".cu").c_str()))) << "no probe for the condition " << condition.name;
  }
}

TEST_P(StepLaws, Law1_DetectChangesNothingAndCountsTheSameTwice) {
  for (const auto &path : folder.files("")) {
    auto version = load(path);
    ASSERT_TRUE(version) << path << ": " << version.error().message();
    std::string before = versionHash((*version)->sources());
    for (Direction direction : {Direction::Simplify, Direction::Materialize})
      EXPECT_EQ(count(survey(**version, direction, GetParam())), count(survey(**version, direction, GetParam()))) << path;
    EXPECT_EQ(before, versionHash((*version)->sources())) << path;
  }
}

TEST_P(StepLaws, Law2_SimplifyTakesExactlyThatFeatureAndLeavesLessOfTheMachine) {
  auto chain = applyAll(file("expert.cu"), GetParam(), Direction::Simplify, {{}}, [](const LoadedVersion &before, const Candidate &candidate, const Applied &after) {
    auto check = checkOneFeature(before, candidate, after);
    if (!check.exactlyOne) return "at " + candidate.site.locus.label + ": " + check.why + "\n" + unifiedDiff(before.sources(), after.sources);
    int was = complexity(before), is = complexity(*after.version);
    if (is >= was) return "complexity went from " + std::to_string(was) + " to " + std::to_string(is) + "\n" + unifiedDiff(before.sources(), after.sources);
    return std::string();
  });
  EXPECT_TRUE(chain.problem.empty()) << chain.problem;
  ASSERT_FALSE(chain.applied.empty()) << "no site in expert.cu";
  EXPECT_EQ(compareGolden(file("plain.cu"), chain.end), "");
}

TEST_P(StepLaws, Law3_MaterializeGivesTheFeaturesBack) {
  auto chain = applyAll(file("plain.cu"), GetParam(), Direction::Materialize, expertParameters());
  EXPECT_TRUE(chain.problem.empty()) << chain.problem;
  ASSERT_FALSE(chain.applied.empty()) << "no sound site in plain.cu";
  auto expert = load(file("expert.cu"));
  ASSERT_TRUE(expert) << expert.error().message();
  auto again = LoadedVersion::load(chain.end, (*expert)->view().environment);
  ASSERT_TRUE(again) << again.error().message();
  auto list = [](const LoadedVersion &version) {
    std::multiset<std::string> all;
    for (const auto &feature : features(version)) {
      std::string text = feature.step + " at a " + feature.locus.kind;
      for (const auto &[name, value] : feature.parameters) text += " " + name + "=" + std::to_string(value);
      all.insert(text);
    }
    return all;
  };
  EXPECT_EQ(list(**expert), list(**again)) << chain.end.mainText();
  SourceSet renamed = chain.end;
  renamed.files = {{(*expert)->sources().mainFile, chain.end.mainText()}};
  renamed.mainFile = (*expert)->sources().mainFile;
  bool sameTree = versionHash((*expert)->sources()) == versionHash(renamed);
  RecordProperty("same_tree", sameTree ? "yes" : "no");
  if (!sameTree) {
    // The "or" of the law: the page says what is lost. That behaviour and speed are the same is shown in gate_laws_test.cpp.
    auto page = readFile(fs::path(KLINEAGE_SOURCE_DIR) / "docs" / "steps" / (GetParam() + ".md"));
    ASSERT_TRUE(page) << page.error().message();
    EXPECT_NE(page->find("## What is lost"), std::string::npos) << "the tree differs and the page has no section 'What is lost':\n"
                                                                << unifiedDiff((*expert)->sources(), renamed);
    std::printf("[   or     ] %s: materialize(simplify(expert)) gives another tree; its page says what is lost\n", GetParam().c_str());
  }
}

TEST_P(StepLaws, Law4_ApplyingTwiceAtOnePlaceDeclines) {
  for (auto [start, direction] : {std::pair{"expert.cu", Direction::Simplify}, std::pair{"plain.cu", Direction::Materialize}}) {
    auto version = load(file(start));
    ASSERT_TRUE(version) << version.error().message();
    auto found = survey(**version, direction, GetParam());
    for (const auto &candidate : found.candidates) {
      if (direction == Direction::Materialize && !candidate.sound()) continue;
      auto once = apply(**version, direction, candidate, direction == Direction::Materialize ? expertParameters().front() : Parameters{});
      ASSERT_TRUE(once) << once.error().message();
      auto again = survey(*once->version, direction, GetParam());
      size_t sound = std::count_if(again.candidates.begin(), again.candidates.end(), [](const Candidate &one) { return one.sound(); });
      size_t was = std::count_if(found.candidates.begin(), found.candidates.end(), [](const Candidate &one) { return one.sound(); });
      if (direction == Direction::Simplify) sound = again.candidates.size(), was = found.candidates.size();
      EXPECT_LT(sound, was) << name(direction) << " at " << candidate.site.locus.label << " is still offered after it was applied:\n" << once->sources.mainText();
    }
  }
}

TEST_P(StepLaws, Law5_AProbeIsDeclinedByItsConditionsName) {
  for (const auto &condition : step().conditions) {
    if (condition.kind != Soundness) continue;
    auto path = file(("fail_" + condition.name + ".cu").c_str());
    if (!fs::exists(path)) continue; // Law 0 says so
    auto version = load(path);
    ASSERT_TRUE(version) << path << ": " << version.error().message();
    auto found = survey(**version, Direction::Materialize, GetParam());
    ASSERT_FALSE(found.candidates.empty()) << path << ": no site at all\n" << count(found);
    bool named = false;
    for (const auto &candidate : found.candidates) {
      if (candidate.firstUnsound() != condition.name) continue;
      named = true;
      auto refused = apply(**version, Direction::Materialize, candidate, expertParameters().front());
      ASSERT_FALSE(refused) << path;
      EXPECT_NE(refused.error().what.find(condition.name), std::string::npos) << refused.error().message();
    }
    EXPECT_TRUE(named) << path << ": no site fails " << condition.name << " first; the first site's answers:\n" << [&] {
      std::string text;
      for (const auto &answer : found.candidates.front().conditions)
        text += "  " + answer.decl.name + ": " + name(answer.answer.truth) + ", " + answer.answer.why + "\n";
      return text;
    }();
  }
}

TEST_P(StepLaws, Law6_WhatOnlyLooksAlikeIsNoSite) {
  for (const auto &path : folder.files("near_")) {
    auto version = load(path);
    ASSERT_TRUE(version) << path << ": " << version.error().message();
    std::string only = StepFolder::tag(path, "near");
    for (Direction direction : {Direction::Simplify, Direction::Materialize}) {
      if (!only.empty() && only != name(direction)) continue;
      auto found = survey(**version, direction, GetParam());
      EXPECT_TRUE(found.candidates.empty()) << path << " " << name(direction) << "\n" << count(found);
    }
  }
}

TEST_P(StepLaws, Law7_AnotherKernelGetsTheStepAndComesOutAsExpected) {
  for (const auto &path : folder.files("transfer_")) {
    std::string simplify = StepFolder::tag(path, "direction");
    Direction direction = simplify == "simplify" ? Direction::Simplify : Direction::Materialize;
    auto chain = applyAll(path, GetParam(), direction, {{}});
    EXPECT_TRUE(chain.problem.empty()) << path << ": " << chain.problem;
    EXPECT_FALSE(chain.applied.empty()) << path << ": no sound site";
    auto expected = path;
    expected.replace_extension(".expect.cu");
    EXPECT_EQ(compareGolden(expected, chain.end), "") << path;
  }
}

TEST_P(StepLaws, Law8_ThePageHoldsWhatTheDeclarationSays) {
  fs::path path = fs::path(KLINEAGE_SOURCE_DIR) / "docs" / "steps" / (GetParam() + ".md");
  auto page = readFile(path);
  ASSERT_TRUE(page) << page.error().message();
  if (updatingGoldens()) {
    std::string begin = "<!-- generated: klineage step describe " + GetParam() + " -->\n", end = "<!-- end -->";
    size_t from = page->find(begin), to = page->find(end);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to) << "the page lacks the marks of the generated block: " << begin;
    page->replace(from + begin.size(), to - from - begin.size(), describeStep(GetParam(), step()));
    ASSERT_TRUE(writeFile(path, *page));
  }
  for (const char *section : {"## Builds", "## Why it pays", "## When it does not", "## Limits", "## Seen in"})
    EXPECT_NE(page->find(section), std::string::npos) << "docs/steps/" << GetParam() << ".md has no section " << section;
  EXPECT_NE(page->find(describeStep(GetParam(), step())), std::string::npos)
      << "the generated block differs from `klineage step describe " << GetParam() << "`:\n" << describeStep(GetParam(), step());
}

INSTANTIATE_TEST_SUITE_P(Steps, StepLaws, ::testing::ValuesIn(stepIds()), [](const auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StepLaws);

} // namespace
} // namespace klineage::testing
