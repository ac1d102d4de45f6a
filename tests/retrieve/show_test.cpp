#include "retrieve/show.h"
#include "tests/schema/json_schema.h"
#include "support/files.h"
#include <gtest/gtest.h>

using namespace klineage;
using klineage::testing::mismatch;
using nlohmann::json;

namespace {

json schemaOf(const std::string &name) { return json::parse(*readFile(std::filesystem::path(KLINEAGE_SOURCE_DIR) / "docs/schema" / (name + ".schema.json"))); }

Skill wholeSkill() {
  Skill s;
  s.key = "vector_load/sgemm/1";
  s.step = "vector_load";
  s.stage = "memory";
  s.kernel = "sgemm";
  s.family = "matmul";
  s.status = SkillStatus::Reproduced;
  s.summary = "read neighbouring elements with one wide load";
  s.intent = "Fewer requests.";
  s.anchor.before = "plain code";
  s.anchor.after = "expert code";
  s.carrier.parameters = "{\"width\":4}";
  s.conditions = {{"aligned_16", "aligned(base, 16)", "soundness", "holds", "256-aligned", ConditionEvidence::Needed, "offset by 4"}};
  s.effects = {{"emulated", false, "square", 3e-3, 2e-3, {{"barriers", 8}}, {{"barriers", 4}}}, {"cuda:0", true, "square", 4e-3, 1e-3, {}, {}}};
  s.evidence.transitions = {7};
  s.evidence.families = {"matmul"};
  s.risks = {{"aligned_16", "misaligned", "address 4 mod 16"}};
  s.scope.archs = {"sm_90"};
  s.log = {{1700000000, "mined", "from sgemm"}};
  s.provenance = "walk";
  s.merit = 1.5;
  return s;
}

const std::vector<ProbeRow> probes = {{7, "vector_load/sgemm/1", "aligned_16", "base + 4 bytes", "misaligned", "accepted", ConditionEvidence::Needed, ""}};

TEST(Show, ASkillAsTextNamesAllNineFieldsAndKeepsModelledFromMeasured) {
  std::string text = describeSkill(wholeSkill(), probes, {{"skill", "vector_load/sgemm/1", "ada", "holds on sm_80 too", 1}});
  for (const char *title : {"Intent", "Anchor", "Carrier", "Preconditions", "Effects", "Evidence", "Risks", "Scope", "Verification log", "holds on sm_80 too", "width 4", "needed", "misaligned",
                            "modelled (emulated)", "measured (cuda:0)", "3 ms -> 2 ms  1.50x", "4 ms -> 1 ms  4.00x", "barriers 8 -> 4"})
    EXPECT_NE(text.find(title), std::string::npos) << title << "\n" << text;
  EXPECT_EQ(gainText(wholeSkill().effects), "1.50x modelled, 4.00x measured");
}

TEST(Show, AnAbsentFigureIsSaidAndNeverZero) {
  EXPECT_EQ(gainText({}), "no figures");
  Skill s = wholeSkill();
  s.effects.clear();
  s.merit.reset();
  EXPECT_NE(describeSkill(s, {}, {}).find("none was taken"), std::string::npos);
  EXPECT_TRUE(skillJson(s, {}, {})["merit"].is_null());
}

TEST(Show, ASkillAsJsonFitsItsSchema) {
  json object = skillJson(wholeSkill(), probes, {{"skill", "vector_load/sgemm/1", "ada", "note", 1}});
  object["schema"] = "klineage.skill/1";
  EXPECT_EQ(mismatch(object, schemaOf("skill")), "");
  object["speed"] = 3;
  EXPECT_NE(mismatch(object, schemaOf("skill")), "");
}

TEST(Show, ALineageTellsTheAcceptedWithTheirGainAndTheRefusedWithTheirReason) {
  KernelRow kernel{"sgemm", "matmul", "run", "w", "from an idea", "reference", "0123456789abcdef"};
  TransitionRow good;
  good.step = "vector_load";
  good.order = 1;
  good.outcome = "accepted";
  good.to = "fedcba9876543210";
  good.codegen = "changed";
  good.rederived = "reproduced";
  good.effects = {{"emulated", false, "square", 2e-3, 3e-3, {}, {}}}; // going back it gets slower
  TransitionRow bad;
  bad.step = "unroll";
  bad.order = 2;
  bad.outcome = "refused";
  bad.reason = "wrong_value";
  bad.detail = "element 17";
  std::optional<WalkState> walk = WalkState{"sgemm", "complete", "fedcba9876543210", 2, "{}", 0};
  std::vector<FeatureRow> left = {{"unroll", "loop", "k", "kernel.cu", 3, "{}"}};
  std::string text = describeLineage(kernel, walk, {good, bad}, left);
  for (const char *part : {"without vector_load", "brings 1.50x modelled", "reproduced", "refused: wrong_value: element 17", "unroll at loop k", "complete"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  json object = lineageJson(kernel, walk, {good, bad}, left);
  object["schema"] = "klineage.lineage/1";
  EXPECT_EQ(mismatch(object, schemaOf("lineage")), "");
}

} // namespace
