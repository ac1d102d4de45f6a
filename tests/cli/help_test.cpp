// What a user reads first: help pages, unknown words, and who hears progress.
#include "tool_run.h"
#include <algorithm>
#include <pty.h>
#include <sys/wait.h>

namespace klineage::testing {
namespace {

using Help = ToolRun;
const char *const tools[] = {"corpus", "doctor", "gate", "init", "materialize", "mine", "query", "step"};

/// Runs with a terminal for standard error and a file for standard output; what the terminal showed.
std::string onTerminal(const Command &command) {
  int terminal = -1;
  pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    (void)!::freopen("/dev/null", "w", stdout);
    ::unsetenv("KLINEAGE_PROGRESS");
    for (const auto &[name, value] : command.extraEnv)
      if (name != "KLINEAGE_PROGRESS") ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char *> argv;
    for (const auto &word : command.argv) argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  std::string shown;
  char buffer[4096];
  for (ssize_t got; (got = ::read(terminal, buffer, sizeof buffer)) > 0;) shown.append(buffer, size_t(got)); // ends with an error when the child does
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return shown;
}

} // namespace

TEST_F(Help, IsTheToolsPageAndFitsAScreen) {
  for (const std::string tool : tools) {
    auto page = readFile(sourceFolder() / "docs" / "cli" / (tool + ".md"));
    ASSERT_TRUE(page) << tool;
    for (const char *flag : {"--help", "-h"}) {
      Finished said = run(tool, {flag});
      EXPECT_EQ(said.exitCode, ExitDone) << tool;
      EXPECT_EQ(said.out, *page) << tool;
      EXPECT_EQ(said.err, "") << tool;
    }
    EXPECT_LE(std::count(page->begin(), page->end(), '\n'), 40) << tool;
  }
}

TEST_F(Help, OfTheFrontDoorListsEveryToolThatAUserMayStart) {
  Finished said = run("", {"--help"});
  EXPECT_EQ(said.exitCode, ExitDone);
  EXPECT_EQ(said.out.rfind(*readFile(sourceFolder() / "docs" / "cli" / "klineage.md"), 0), 0u) << said.out;
  for (const std::string tool : tools) EXPECT_NE(said.out.find(" " + tool), std::string::npos) << tool;
  EXPECT_EQ(said.out.find("worker"), std::string::npos);
  EXPECT_LE(std::count(said.out.begin(), said.out.end(), '\n'), 40);
  EXPECT_EQ(run("", {"step", "--help"}).out, run("step", {"--help"}).out);
}

TEST_F(Help, WordsThatNobodyKnowsAreUsageWithAWayToHelp) {
  for (const std::string tool : tools) {
    Finished said = run(tool, {"--no-such-option"});
    EXPECT_EQ(said.exitCode, ExitUsage) << tool;
    EXPECT_NE(said.err.find("--no-such-option"), std::string::npos) << tool << ": " << said.err;
    EXPECT_NE(said.err.find("klineage " + tool + " --help"), std::string::npos) << tool << ": " << said.err;
    EXPECT_EQ(said.out, "") << tool;
  }
  for (const std::string tool : {"corpus", "gate", "init", "materialize", "mine", "query", "step"}) {
    Finished said = run(tool, {});
    EXPECT_EQ(said.exitCode, ExitUsage) << tool;
    EXPECT_NE(said.err.find("klineage-" + tool + ": "), std::string::npos) << said.err;
  }
  EXPECT_EQ(run("", {}).exitCode, ExitUsage);
  Finished said = run("", {"no_such_tool"});
  EXPECT_EQ(said.exitCode, ExitUsage);
  EXPECT_NE(said.err.find("no_such_tool"), std::string::npos) << said.err;
}

TEST_F(Help, AnOptionWithoutItsValueOrWithAWrongOneIsUsage) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
      {"gate", {"folder", "--sm", "ninety"}}, {"gate", {"folder", "--seeds", "0"}},  {"gate", {"folder", "--policy", "kind"}}, {"gate", {"folder", "--device", "abacus"}},
      {"mine", {"folder", "--step-limit"}},   {"mine", {"folder", "--sm", "x"}},     {"mine", {"folder", "--device", "abacus"}}, {"materialize", {"folder", "--budget", "many"}},
      {"query", {"loads", "--limit", "0"}},   {"query", {"--code"}},                 {"query", {"--at", "3"}},                {"corpus", {"list", "--status", "good"}},
      {"corpus", {"show"}},                   {"corpus", {"dance"}},                 {"step", {"describe"}},                  {"init", {"file.cu"}}};
  for (const auto &[tool, arguments] : wrong) {
    Finished said = run(tool, arguments);
    EXPECT_EQ(said.exitCode, ExitUsage) << tool << " " << arguments.back() << ": " << said.err;
    EXPECT_NE(said.err, "") << tool << " " << arguments.back();
    EXPECT_EQ(said.out, "") << tool << " " << arguments.back();
  }
}

TEST_F(Help, ProgressIsShownToATerminalOnly) {
  std::string kernel = expertOf("launch_bounds");
  Command piped = command("mine", {kernel, "--step-limit", "1", "--no-probe"});
  piped.extraEnv.erase("KLINEAGE_PROGRESS");
  auto finished = klineage::run(piped);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->err, "");
  fs::remove(corpus());
  Command watched = command("mine", {kernel, "--step-limit", "1", "--no-probe"});
  EXPECT_NE(onTerminal(watched).find("take out"), std::string::npos);
  fs::remove(corpus());
  watched.argv.push_back("--quiet");
  EXPECT_EQ(onTerminal(watched), "");
}

} // namespace klineage::testing
