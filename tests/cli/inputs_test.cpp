// Inputs that are wrong in one way each: exit 3, the file and line, what is wrong and what to do, and nothing on disk has changed.
#include "lineage_db/corpus.h"
#include "tool_run.h"
#include <sqlite3.h>

namespace klineage::testing {
namespace {

class Inputs : public ToolRun {
protected:
  /// `says` must all occur in what the tool says; a message without a remedy in parentheses is no good message.
  void isUsersMistake(const std::string &tool, const std::vector<std::string> &arguments, const std::vector<std::string> &says, const std::string &input = {}) {
    auto before = files();
    Finished said = run(tool, arguments, input);
    EXPECT_EQ(said.exitCode, ExitUsage) << tool << ": " << said.out << said.err;
    EXPECT_EQ(said.err.rfind("klineage-" + tool + ": ", 0), 0u) << said.err;
    for (const auto &part : says) EXPECT_NE(said.err.find(part), std::string::npos) << tool << " does not say " << part << ": " << said.err;
    EXPECT_NE(said.err.find("("), std::string::npos) << "no remedy: " << said.err;
    EXPECT_EQ(said.out, "") << tool;
    EXPECT_EQ(files(), before) << tool << " changed something";
  }
  void makeCorpus() { ASSERT_TRUE(Corpus::open(corpus())); }
  void ask(const char *sql) {
    sqlite3 *db = nullptr;
    ASSERT_EQ(sqlite3_open(corpus().c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  /// Every tool that reads or writes a corpus.
  void isNoCorpus(const std::vector<std::string> &says) {
    std::string kernel = expertOf("launch_bounds");
    std::vector<std::string> all = says;
    all.push_back("corpus.db");
    isUsersMistake("corpus", {"list"}, all);
    isUsersMistake("corpus", {"stats", "--upgrade"}, all);
    isUsersMistake("corpus", {"note", "a/b/1", "text", "--by", "me"}, all);
    isUsersMistake("query", {"wide", "loads"}, all);
    isUsersMistake("mine", {kernel}, all);
    isUsersMistake("materialize", {kernel}, all);
  }
};

const char *const folderTools[] = {"mine", "gate", "materialize"};

} // namespace

TEST_F(Inputs, FolderThatIsNotThere) {
  for (const std::string tool : folderTools) isUsersMistake(tool, {(folder() / "nowhere").string()}, {"nowhere", "no such kernel folder"});
}

TEST_F(Inputs, FolderWithoutAWorkload) {
  std::string kernel = expertOf("launch_bounds");
  fs::remove(kernel + "/workload.json");
  for (const std::string tool : folderTools) isUsersMistake(tool, {kernel}, {kernel, "workload.json", "klineage init"});
}

TEST_F(Inputs, WorkloadThatIsNoJson) {
  std::string kernel = expertOf("launch_bounds");
  replace(kernel + "/workload.json", "\"polynomial\",\n  \"family\"", "\"polynomial\"\n  \"family\"");
  for (const std::string tool : folderTools) isUsersMistake(tool, {kernel}, {"workload.json:5: ", "not JSON"});
}

TEST_F(Inputs, WorkloadWithAKeyThatNobodyKnows) {
  std::string kernel = expertOf("launch_bounds");
  replace(kernel + "/workload.json", "\"family\"", "\"famly\"");
  for (const std::string tool : folderTools) isUsersMistake(tool, {kernel}, {"workload.json:5: ", "famly", "family"});
}

TEST_F(Inputs, WorkloadThatNamesAFileThatIsNotThere) {
  std::string kernel = expertOf("launch_bounds");
  fs::remove(kernel + "/reference.cpp");
  for (const std::string tool : folderTools) isUsersMistake(tool, {kernel}, {"workload.json:", "reference.cpp", "there is no file"});
}

TEST_F(Inputs, KernelThatDoesNotParse) {
  std::string kernel = expertOf("launch_bounds");
  replace(kernel + "/expert.cu", "sum * value", "sum * valu");
  isUsersMistake("mine", {kernel}, {"expert.cu:10:", "valu"});
  // A candidate that does not compile is answered, not complained about.
  Finished said = run("gate", {kernel});
  EXPECT_EQ(said.exitCode, ExitRefused) << said.err;
  EXPECT_NE(said.out.find("refused: compile_error"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("expert.cu:10:"), std::string::npos) << said.out;
}

TEST_F(Inputs, EntryThatDoesNotExist) {
  std::string kernel = expertOf("launch_bounds");
  replace(kernel + "/workload.json", "\"entry\": \"polynomial\"", "\"entry\": \"polynomal\"");
  isUsersMistake("mine", {kernel}, {"expert.cu", "no launcher named polynomal", "extern \"C\""});
}

TEST_F(Inputs, ExpertThatFailsItsOwnReference) {
  std::string kernel = expertOf("launch_bounds");
  replace(kernel + "/expert.cu", "1.0f /", "2.0f /");
  isUsersMistake("mine", {kernel}, {"does not pass the gate", "wrong_value"});
}

TEST_F(Inputs, OneBadFolderAmongManyIsFoundBeforeAnyIsWalked) {
  std::string good = expertOf("launch_bounds", "good"), bad = expertOf("launch_bounds", "bad");
  fs::remove(bad + "/workload.json");
  isUsersMistake("mine", {good, bad}, {"bad", "workload.json"});
}

TEST_F(Inputs, CandidateOrBaselineThatIsNotThere) {
  std::string kernel = expertOf("launch_bounds");
  isUsersMistake("gate", {kernel, "--source", kernel + "/other.cu"}, {"other.cu"});
  isUsersMistake("gate", {kernel, "--baseline", kernel + "/other.cu"}, {"other.cu"});
  isUsersMistake("query", {"--code", kernel + "/other.cu"}, {"other.cu"});
  isUsersMistake("step", {"explain", "unroll", kernel + "/other.cu"}, {"other.cu"});
  isUsersMistake("init", {kernel + "/other.cu", "--kernel", "polynomial", "--out", (folder() / "out").string()}, {"other.cu"});
}

TEST_F(Inputs, NamesThatDoNotExistComeWithThoseThatDo) {
  std::string kernel = expertOf("launch_bounds");
  makeCorpus();
  isUsersMistake("init", {kernel + "/expert.cu", "--kernel", "nobody", "--out", (folder() / "out").string()}, {"nobody", "polynomial"});
  isUsersMistake("step", {"explain", "unrol", kernel + "/expert.cu"}, {"unrol", "vector_load"});
  isUsersMistake("step", {"describe", "unrol"}, {"unrol", "vector_load"});
  isUsersMistake("corpus", {"show", "unroll/nothing/1"}, {"unroll/nothing/1", "klineage corpus list"});
  isUsersMistake("corpus", {"show", "--lineage", "nothing"}, {"nothing", "mine"});
}

TEST_F(Inputs, CorpusThatIsNotThere) {
  isUsersMistake("corpus", {"list"}, {"corpus.db", "klineage mine"});
  isUsersMistake("corpus", {"reject", "a/b/1", "because"}, {"corpus.db"});
  isUsersMistake("materialize", {expertOf("launch_bounds")}, {"corpus.db", "klineage mine"});
  isUsersMistake("corpus", {"merge", (folder() / "other.db").string()}, {"other.db"});
}

TEST_F(Inputs, CorpusThatIsText) {
  ASSERT_TRUE(writeFile(corpus(), "not a database, but long enough to be taken for a page of one\n"));
  isNoCorpus({"no corpus", "left as it is"});
}

TEST_F(Inputs, CorpusOfAnotherProgram) {
  ask("CREATE TABLE mine (x)");
  isNoCorpus({"no corpus", "left as it is"});
}

TEST_F(Inputs, CorpusOfANewerSchema) {
  makeCorpus();
  ask("PRAGMA journal_mode = DELETE; PRAGMA user_version = 9000");
  isNoCorpus({"9000"});
}

TEST_F(Inputs, CorpusThatIsDamaged) {
  makeCorpus();
  ask("PRAGMA journal_mode = DELETE");
  std::string bytes = *readFile(corpus());
  for (size_t i = 4096; i < bytes.size(); i += 7) bytes[i] = char(i);
  ASSERT_TRUE(writeFile(corpus(), bytes));
  isNoCorpus({"damaged"});
}

// Field fault 18, by the tool.
TEST_F(Inputs, EveryQueryTextIsAnsweredOrExplained) {
  {
    auto store = Corpus::open(corpus());
    ASSERT_TRUE(store);
    Skill skill;
    skill.key = "vector_load/copy/1";
    skill.step = "vector_load";
    skill.stage = "memory";
    skill.kernel = "copy";
    skill.family = "data_movement";
    skill.summary = "read neighbouring elements with one wide load";
    skill.anchor.after = "float4 v = reinterpret_cast<const float4 *>(a)[i];";
    skill.anchor.before = "float v = a[i] + b;";
    ASSERT_TRUE(store->saveSkill(skill));
  }
  for (const char *words : {"float4*", "a[i]+=b", "multi-stage", "cp.async", "AND", "x'; DROP TABLE skills; --", "NEAR("}) {
    Finished said = run("query", {"--", words});
    EXPECT_TRUE(said.exitCode == ExitDone || said.exitCode == ExitRefused) << words << ": " << said.err;
    EXPECT_EQ(said.err, "") << words;
    EXPECT_NE(said.out, "") << words;
  }
  EXPECT_NE(run("query", {"float4*"}).out.find("vector_load/copy/1"), std::string::npos);
  for (const char *words : {"", "\"", "  ", "+="}) isUsersMistake("query", {words}, {});
  EXPECT_EQ(run("corpus", {"list"}).exitCode, ExitDone);
  // Code that is no kernel, or nothing at all, is a question too.
  for (const char *code : {"float4*", "a[i]+=b", "\"", "AND", "__global__ void k(", "\xff\xfe\x01"}) {
    Finished said = run("query", {"--code", "-"}, code);
    EXPECT_TRUE(said.exitCode == ExitDone || said.exitCode == ExitRefused || said.exitCode == ExitUsage) << code << ": " << said.err;
    EXPECT_NE(said.out + said.err, "") << code;
  }
  isUsersMistake("query", {"--code", "-"}, {});
}

} // namespace klineage::testing
