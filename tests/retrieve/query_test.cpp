#include "retrieve/query.h"
#include "fragments.h"
#include "retrieve/examples.h"
#include "step/registry.h"
#include <gtest/gtest.h>

using namespace klineage;
using namespace klineage::testing;

namespace {

Skill skill(const std::string &step, const std::string &kernel, const std::string &family, const std::string &before, const std::string &after) {
  Skill s;
  s.key = step + "/" + kernel + "/1";
  s.step = step;
  s.stage = "memory";
  s.kernel = kernel;
  s.family = family;
  s.status = SkillStatus::Reproduced;
  s.summary = "what " + step + " does";
  s.anchor.before = before;
  s.anchor.after = after;
  s.effects = {{"emulated", false, "square", 3e-3, 2e-3, {}, {}}};
  return s;
}

size_t position(const std::vector<Found> &found, const std::string &step) {
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].step == step) return i + 1;
  return 1000;
}

const char *wide = "float4 v = reinterpret_cast<const float4 *>(row)[i]; s += v.x + v.y + v.z + v.w;";
const char *narrow = "for (int k = 0; k < 4; ++k) s += row[4 * i + k];";

class QueryTest : public ::testing::Test {
protected:
  Corpus corpus = *Corpus::open(":memory:");
  void SetUp() override {
    ASSERT_TRUE(corpus.saveSkill(skill("widen_reads", "copy", "elementwise", narrow, wide)));
    ASSERT_TRUE(corpus.saveSkill(skill("approximate", "gelu", "activation", "y = expf(x) / d;", "y = __fdividef(__expf(x), d);")));
  }
};

TEST_F(QueryTest, FindsASkillByTheStructureOfEitherForm) {
  Question question;
  question.code = "a += src[4 * t]; a += src[4 * t + 1]; a += src[4 * t + 2]; a += src[4 * t + 3]; }";
  auto found = answer(&corpus, question);
  ASSERT_TRUE(found);
  ASSERT_LE(position(*found, "widen_reads"), 3u);
  const Found &hit = (*found)[position(*found, "widen_reads") - 1];
  EXPECT_FALSE(hit.looksExpert);
  ASSERT_EQ(hit.skills.size(), 1u);
  EXPECT_EQ(hit.applies, "not_asked");
  EXPECT_NEAR(*hit.gainModelled, 1.5, 1e-9);
  EXPECT_FALSE(hit.gainMeasured);
}

TEST_F(QueryTest, FindsASkillByWords) {
  Question question;
  question.words = "what does approximate do";
  auto found = answer(&corpus, question);
  ASSERT_TRUE(found);
  EXPECT_EQ(position(*found, "approximate"), 1u);
}

TEST_F(QueryTest, HeldOutSkillsAreNeitherShownNorRankedBy) {
  Question question;
  question.code = narrow;
  question.filter.notFamily = "elementwise";
  auto found = answer(&corpus, question);
  ASSERT_TRUE(found);
  EXPECT_EQ(position(*found, "widen_reads"), 1000u);
}

TEST_F(QueryTest, RejectedSkillsAreNotOffered) {
  ASSERT_TRUE(corpus.setSkillStatus("widen_reads/copy/1", SkillStatus::Rejected, "misleading"));
  Question question;
  question.code = narrow;
  auto found = answer(&corpus, question);
  ASSERT_TRUE(found);
  EXPECT_EQ(position(*found, "widen_reads"), 1000u);
}

TEST_F(QueryTest, AQuestionWithoutWordOrStructureIsAnErrorAndNotAnEmptyAnswer) {
  for (const char *words : {"\"", "+=", "***"}) {
    Question question;
    question.words = words;
    auto found = answer(&corpus, question);
    ASSERT_FALSE(found) << words;
    EXPECT_EQ(found.error().fault, Fault::User);
  }
  Question question;
  question.code = "lorem ipsum";
  EXPECT_FALSE(answer(&corpus, question));
}

TEST_F(QueryTest, ASoundSiteOutranksLikeness) {
  StepSites sites;
  SiteView site;
  site.step = "approximate";
  site.where = "k.cu:3";
  sites.canAdd.push_back(site);
  Question question;
  question.code = "y = expf(x) / d;";
  question.sites = &sites;
  auto found = answer(&corpus, question);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().step, "approximate");
  EXPECT_EQ(found->front().applies, "yes");
}

TEST(Catalogue, HoldsBothFormsOfEveryExamplePair) {
  for (const StepExample &example : stepExamples()) {
    EXPECT_FALSE(shapeOf(example.plain).empty()) << example.step << " " << example.name;
    EXPECT_FALSE(shapeOf(example.expert).empty()) << example.step << " " << example.name;
  }
}

// The catalogue answers alone, from the example pairs that the steps' own tests hold.
TEST(Catalogue, FindsTheRightStepAmongTheFirstThreeForFourFragmentsOfFive) {
  std::set<std::string> known;
  for (const StepExample &example : stepExamples())
    if (findStep(example.step)) known.insert(example.step);
  int asked = 0, right = 0;
  std::string missed;
  for (const Fragment &fragment : fragments()) {
    if (!known.count(fragment.step)) continue;
    ++asked;
    Question question;
    question.code = fragment.code;
    question.limit = 3;
    auto found = answer(nullptr, question);
    ASSERT_TRUE(found) << fragment.file << ": " << found.error().message();
    if (position(*found, fragment.step) <= 3) ++right;
    else {
      missed += fragment.file + " wants " + fragment.step + ", got";
      for (const Found &f : *found) missed += " " + f.step;
      missed += "\n";
    }
  }
  if (asked < 10) GTEST_SKIP() << "the catalogue holds steps of only " << asked << " fragments";
  EXPECT_GE(right * 5, asked * 4) << missed;
}

} // namespace
