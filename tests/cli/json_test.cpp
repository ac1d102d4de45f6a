// What --json prints, tool by tool, against the schemas of docs/schema.
#include "tool_run.h"

namespace klineage::testing {
namespace {
using Json = ToolRun;
} // namespace

TEST(JsonSchemas, AreReadToTheLastKeyword) {
  const JsonSchema schema(nlohmann::json::parse(R"({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {
      "a": {"$ref": "#/$defs/count"}, "b": {"oneOf": [{"type": "string", "pattern": "^x"}, {"type": "null"}]}, "c": {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1}},
      "$defs": {"count": {"type": "integer", "minimum": 0}}})"));
  for (const char *good : {R"({"a": 0})", R"({"a": 3, "b": "xy", "c": [2, 1]})", R"({"a": 3, "b": null})"}) EXPECT_EQ(schema.mismatch(nlohmann::json::parse(good)), "") << good;
  for (const char *bad : {"[]", "{}", R"({"a": -1})", R"({"a": 1.5})", R"({"a": "1"})", R"({"a": 1, "d": 0})", R"({"a": 1, "b": "y"})", R"({"a": 1, "c": []})", R"({"a": 1, "c": [3]})"})
    EXPECT_NE(schema.mismatch(nlohmann::json::parse(bad)), "") << bad;
  EXPECT_NE(mismatch(1, {{"multipleOf", 2}}), "") << "a keyword that is not checked";
}

TEST_F(Json, OfTheCatalogue) {
  json(run("step", {"list", "--json"}), "step_list");
  json(run("step", {"facts", "--json"}), "facts");
  std::string kernel = expertOf("launch_bounds");
  Finished explained = run("step", {"explain", "launch_bounds", kernel + "/expert.cu", "--json"});
  EXPECT_FALSE(json(explained, "step_explain")["present"].empty());
  json(run("step", {"explain", "shared_tile", kernel + "/expert.cu", "--json"}), "step_explain");
}

TEST_F(Json, OfTheDoctorAndOfInit) {
  Finished doctor = run("doctor", {"--json"});
  auto value = json(doctor, "doctor");
  EXPECT_EQ(doctor.exitCode, value["ready"].get<bool>() ? ExitDone : ExitRefused);
  std::string kernel = expertOf("launch_bounds"), out = (folder() / "made").string();
  json(run("init", {kernel + "/expert.cu", "--kernel", "polynomial", "--out", out, "--json"}), "init");
  auto workload = readFile(fs::path(out) / "workload.json");
  ASSERT_TRUE(workload);
  EXPECT_EQ(mismatch(nlohmann::json::parse(*workload), nlohmann::json::parse(*readFile(sourceFolder() / "docs" / "schema" / "workload.schema.json"))), "");
}

TEST_F(Json, OfEveryWorkloadInTheProjectFitsItsSchema) {
  const JsonSchema schema(nlohmann::json::parse(*readFile(sourceFolder() / "docs" / "schema" / "workload.schema.json")));
  unsigned seen = 0;
  for (const char *room : {"expert_kernels", "examples", "tests/steps"})
    for (const auto &entry : fs::recursive_directory_iterator(sourceFolder() / room))
      if (std::string file = entry.path().filename().string(); file == "workload.json" || file.ends_with(".workload.json")) {
        ++seen;
        EXPECT_EQ(schema.mismatch(nlohmann::json::parse(*readFile(entry.path()))), "") << entry.path();
      }
  EXPECT_GT(seen, 10u);
}

TEST_F(Json, OfTheGateAgainstItself) {
  std::string kernel = expertOf("unroll");
  Finished tested = run("gate", {"--selftest", kernel, "--sample", "2", "--planted", (folder() / "nothing").string(), "--json"});
  auto table = json(tested, "planted");
  EXPECT_EQ(table["mutants"]["planted"], 2);
  EXPECT_EQ(table["tried"].size(), 2u);
  EXPECT_EQ(tested.exitCode, table["mutants"]["false_accepts"] == 0 ? ExitDone : ExitRefused) << tested.out;
}

TEST_F(Json, OfMiningAndOfEverythingThatReadsTheCorpus) {
  std::string kernel = expertOf("unroll");
  ASSERT_TRUE(writeFile(kernel + "/ORIGIN.md", "# polynomial\n\nWritten for a test,\nby hand. It is short.\n\nMore.\n"));
  Finished mined = run("mine", {kernel, "--json"});
  ASSERT_EQ(mined.exitCode, ExitDone) << mined.err;
  auto walks = json(mined, "mine")["walks"];
  ASSERT_EQ(walks.size(), 1u);
  EXPECT_EQ(walks[0]["status"], "complete");
  EXPECT_GT(walks[0]["skills"], 0);
  EXPECT_FALSE(walks[0]["resumed"]);
  EXPECT_TRUE(json(run("mine", {kernel, "--json"}), "mine")["walks"][0]["resumed"]) << "nothing is done twice";

  auto skills = json(run("corpus", {"list", "--json"}), "skill_list")["skills"];
  ASSERT_FALSE(skills.empty());
  std::string key = skills[0]["key"];
  json(run("corpus", {"show", key, "--json"}), "skill");
  EXPECT_EQ(run("corpus", {"note", key, "seen elsewhere", "--by", "me"}).exitCode, ExitDone);
  EXPECT_EQ(json(run("corpus", {"show", key, "--json"}), "skill")["notes"].size(), 1u);
  auto lineage = json(run("corpus", {"show", "--lineage", "polynomial", "--json"}), "lineage");
  EXPECT_FALSE(lineage["transitions"].empty());
  EXPECT_EQ(lineage["origin"], "Written for a test, by hand");
  json(run("corpus", {"stats", "--json"}), "stats");
  json(run("query", {"unroll", "--json"}), "query");
  EXPECT_FALSE(json(run("query", {"--code", kernel + "/expert.cu", "--json"}), "query")["found"].empty());

  // Another kernel takes the skill, or says what did not apply.
  std::string target = expertOf("launch_bounds", "target");
  replace(target + "/workload.json", "\"name\": \"polynomial\"", "\"name\": \"bounded\"");
  Finished made = run("materialize", {target, "--json", "--out", (folder() / "out").string(), "--budget", "6"});
  auto report = json(made, "materialize");
  EXPECT_EQ(made.exitCode, report["kept"] > 0 ? ExitDone : report["budget_spent"] ? ExitUndecided : ExitRefused) << made.err;
  EXPECT_FALSE(report["tries"].empty() && report["not_applied"].empty());
  auto chain = readFile(folder() / "out" / "chain.json");
  ASSERT_TRUE(chain);
  EXPECT_EQ(nlohmann::json::parse(*chain), report);
  EXPECT_EQ(run("corpus", {"reject", key, "tried, and wrong here"}).exitCode, ExitDone);
  EXPECT_EQ(json(run("corpus", {"list", "--status", "rejected", "--json"}), "skill_list")["skills"].size(), 1u);
}

} // namespace klineage::testing
