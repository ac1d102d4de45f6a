#include "fake_device.h"
#include <fstream>

using namespace klineage;
using namespace klineage::testing;
namespace fs = std::filesystem;

namespace {
std::vector<fs::path> filesIn(const fs::path &folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error)) found.push_back(entry.path());
  return found;
}
void replaceIn(const fs::path &path, const std::string &from, const std::string &to) {
  auto text = readFile(path);
  ASSERT_TRUE(text);
  size_t at = text->find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text->replace(at, from.size(), to);
  ASSERT_TRUE(writeFile(path, *text));
}
} // namespace

using Records = GateTest;

TEST_F(Records, SameQuestionIsAnsweredWithoutTheDevice) {
  auto first = judge(good);
  int runs = device.runs, builds = device.builds;
  auto second = judge(good);
  EXPECT_FALSE(first.fromCache);
  EXPECT_TRUE(second.fromCache);
  EXPECT_EQ(device.runs, runs);
  EXPECT_EQ(device.builds, builds);
  EXPECT_EQ(second.outcome, first.outcome);
  EXPECT_EQ(second.instances.size(), first.instances.size());
  EXPECT_EQ(second.profile.at(0).candidateSeconds, first.profile.at(0).candidateSeconds);
}

TEST_F(Records, CommentsDoNotMakeANewQuestionButTokensDo) {
  judge(good);
  int runs = device.runs;
  auto commented = good, changed = good;
  commented.files[good.mainFile] += "// only a remark\n";
  changed.files[good.mainFile] += "__device__ int unused;\n";
  EXPECT_TRUE(judge(commented).fromCache);
  EXPECT_EQ(device.runs, runs);
  EXPECT_FALSE(judge(changed).fromCache);
}

TEST_F(Records, RefusalsAreKeptToo) {
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Race; };
  judge(good);
  device.script = nullptr;
  auto verdict = judge(good);
  EXPECT_TRUE(verdict.fromCache);
  EXPECT_EQ(verdict.reason, Reason::Race);
}

TEST_F(Records, OpenQuestionsAreAskedAgain) {
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Unsupported; };
  EXPECT_EQ(judge(good).outcome, Outcome::Undecided);
  device.script = nullptr;
  EXPECT_EQ(judge(good).outcome, Outcome::Accepted);
}

TEST_F(Records, DamagedRunIsNamedSetAsideAndNotTrusted) {
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Race; };
  judge(good);
  device.script = nullptr;
  auto kept = filesIn(records() / "runs");
  ASSERT_EQ(kept.size(), 1u);
  replaceIn(kept[0], "\"outcome\": \"refused\"", "\"outcome\": \"accepted\"");
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Hang; };
  auto verdict = judge(good);
  EXPECT_FALSE(verdict.fromCache);
  EXPECT_EQ(verdict.reason, Reason::Hang);
  ASSERT_FALSE(verdict.notes.empty());
  EXPECT_NE(verdict.notes[0].find(kept[0].string()), std::string::npos) << verdict.notes[0];
  EXPECT_TRUE(fs::exists(fs::path(kept[0]).replace_extension(".damaged")));
}

TEST_F(Records, HalfWrittenRecordIsNotTrusted) {
  judge(good);
  for (const char *kind : {"runs", "profiles"})
    for (const auto &path : filesIn(records() / kind)) fs::resize_file(path, fs::file_size(path) / 2);
  auto verdict = judge(good);
  EXPECT_FALSE(verdict.fromCache);
  EXPECT_EQ(verdict.notes.size(), 2u);
  EXPECT_EQ(verdict.outcome, Outcome::Accepted);
}

TEST_F(Records, RecordOfAnotherVersionUnderThisNameIsNotTrusted) {
  judge(good);
  auto first = filesIn(records() / "runs").at(0);
  auto changed = good;
  changed.files[good.mainFile] += "__device__ int unused;\n";
  device.script = [](FakeCall &call) { call.outcome.reason = Reason::Race; };
  judge(changed);
  for (const auto &path : filesIn(records() / "runs"))
    if (path != first) fs::copy_file(first, path, fs::copy_options::overwrite_existing);
  EXPECT_EQ(judge(changed).reason, Reason::Race);
}

TEST_F(Records, EveryRunKeepsItsSourceAndVerdict) {
  auto verdict = judge(good);
  auto runs = filesIn(records() / "runs");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].stem(), verdict.runKey);
  auto sources = filesIn(records() / "sources");
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(*readFile(sources[0]), goodLauncher);
  EXPECT_EQ(filesIn(records() / "verdicts").size(), 1u);
}

TEST_F(Records, WorkloadChangedInMemoryIsAnotherQuestion) {
  judge(good);
  workload.instances[1].axes["n"] = 77;
  EXPECT_FALSE(judge(good).fromCache);
}

TEST_F(Records, FolderThatCannotBeWrittenIsANoteAndNotTheEnd) {
  ASSERT_TRUE(writeFile(scratch.path() / "file", "x"));
  auto verdict = Gate(device, scratch.path() / "file" / "below").judge(workload, good, nullptr);
  EXPECT_EQ(verdict.outcome, Outcome::Accepted);
  EXPECT_FALSE(verdict.notes.empty());
}
