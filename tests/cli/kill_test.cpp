// Miners that are killed, and several at once: what was accepted stays, and the same command goes on.
#include "lineage_db/corpus.h"
#include "tool_run.h"
#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <thread>

namespace klineage::testing {
namespace {

class Kill : public ToolRun {
protected:
  pid_t start(const Command &command) {
    pid_t child = ::fork();
    if (child != 0) return child;
    ::setpgid(0, 0);
    for (const char *stream : {"out", "err"})
      (void)!::freopen((folder() / ("killed." + std::string(stream))).c_str(), "a", *stream == 'o' ? stdout : stderr);
    for (const auto &[name, value] : command.extraEnv) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char *> argv;
    for (const auto &word : command.argv) argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  /// Waits until the kernel's lineage holds that many accepted steps, or the miner ends; whether it still runs.
  bool waitForSteps(pid_t miner, const std::string &kernel, size_t steps) {
    for (;;) {
      int status = 0;
      if (::waitpid(miner, &status, WNOHANG) == miner) return false;
      if (fs::exists(corpus()))
        if (auto store = Corpus::openReadOnly(corpus()))
          if (accepted(*store, kernel).size() >= steps) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  static void end(pid_t miner) {
    ::kill(-miner, SIGKILL);
    ::waitpid(miner, nullptr, 0);
  }
  struct Taken {
    std::string step, from, to;
    bool operator==(const Taken &) const = default;
  };
  static std::vector<Taken> accepted(const Corpus &store, const std::string &kernel) {
    std::vector<Taken> taken;
    if (auto rows = store.transitions(kernel))
      for (const auto &row : *rows)
        if (row.outcome == "accepted") taken.push_back({row.step, row.from, row.to});
    return taken;
  }
  std::vector<Taken> acceptedNow(const std::string &kernel) {
    auto store = Corpus::openReadOnly(corpus());
    EXPECT_TRUE(store) << store.error().message();
    return store ? accepted(*store, kernel) : std::vector<Taken>{};
  }
};

} // namespace

TEST_F(Kill, MidwayLosesNothingThatWasAcceptedAndTheNextCallGoesOn) {
  std::string kernel = expertOf("unroll");
  pid_t miner = start(command("mine", {kernel}));
  ASSERT_TRUE(waitForSteps(miner, "polynomial", 1)) << *readFile(folder() / "killed.err");
  end(miner);
  auto before = acceptedNow("polynomial");
  ASSERT_EQ(before.size(), 1u) << "killed too late to show anything";

  Finished again = run("mine", {kernel, "--json"});
  ASSERT_EQ(again.exitCode, ExitDone) << again.err;
  auto walk = json(again, "mine")["walks"][0];
  EXPECT_TRUE(walk["resumed"]);
  EXPECT_EQ(walk["status"], "complete");
  EXPECT_EQ(walk["accepted"], 2);
  auto after = acceptedNow("polynomial");
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0], before[0]);

  // The same as a walk that nobody disturbed.
  fs::rename(corpus(), corpus() + ".killed");
  ASSERT_EQ(run("mine", {kernel}).exitCode, ExitDone);
  EXPECT_EQ(acceptedNow("polynomial"), after);
}

// Field fault 19, by the tools.
TEST_F(Kill, OfOneOfTwoMinersLeavesTheOtherAndTheReadersAlone) {
  std::string one = expertOf("unroll", "one"), two = expertOf("launch_bounds", "two");
  replace(two + "/workload.json", "\"name\": \"polynomial\"", "\"name\": \"bounded\"");
  pid_t killed = start(command("mine", {one})), whole = start(command("mine", {two}));
  bool running = waitForSteps(killed, "polynomial", 1);
  for (int i = 0; i < 3; ++i) json(run("corpus", {"stats", "--json"}), "stats");
  end(killed);
  ASSERT_TRUE(running) << *readFile(folder() / "killed.err");
  int status = -1;
  ASSERT_EQ(::waitpid(whole, &status, 0), whole);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == ExitDone) << *readFile(folder() / "killed.err");

  auto store = Corpus::openReadOnly(corpus());
  ASSERT_TRUE(store) << store.error().message();
  for (const char *kernel : {"polynomial", "bounded"}) {
    auto rows = store->transitions(kernel);
    auto walk = store->walk(kernel);
    ASSERT_TRUE(rows && walk && *walk) << kernel;
    EXPECT_EQ(int(rows->size()), (*walk)->order) << kernel << ": a step and the walk's state are one transaction";
    for (const auto &row : *rows)
      if (row.outcome == "accepted") EXPECT_TRUE(*store->version(row.to)) << kernel << " " << row.step;
  }
  EXPECT_EQ((*store->walk("bounded"))->status, "complete");
  EXPECT_EQ(run("mine", {one, two}).exitCode, ExitDone);
  EXPECT_EQ(acceptedNow("polynomial").size(), 2u);
}

TEST_F(Kill, OfASearchLeavesItsAttemptsAndTheNextOneIsWiser) {
  ASSERT_EQ(run("mine", {expertOf("vector_load"), "--no-probe"}).exitCode, ExitDone);
  // A kernel that gains from the skill at two widths: two attempts.
  std::string target = expertOf("vector_load", "target");
  replace(target + "/workload.json", "\"name\": \"lengths\"", "\"name\": \"bounded\"");
  ASSERT_TRUE(writeFile(target + "/expert.cu", *readFile(sourceFolder() / "tests/steps/vector_load/plain.cu") + "\nconstexpr int " + stamp() + " = 0;\n"));
  auto attempts = [&] {
    auto store = Corpus::openReadOnly(corpus());
    auto rows = store ? store->attempts("bounded") : Result<std::vector<AttemptRow>>(store.error());
    return rows ? *rows : std::vector<AttemptRow>{};
  };
  pid_t search = start(command("materialize", {target}));
  while (attempts().empty() && ::waitpid(search, nullptr, WNOHANG) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  end(search);
  auto left = attempts();
  ASSERT_FALSE(left.empty()) << *readFile(folder() / "killed.err");
  ASSERT_EQ(left.size(), 1u) << "killed too late to show anything";

  // Had the killed search met a refusal, the next one would not ask again.
  AttemptRow refused = left.front();
  refused.parameters = "{\"width\":2}";
  refused.outcome = "refused";
  refused.reason = "slower";
  refused.kept = false;
  {
    auto store = Corpus::open(corpus());
    ASSERT_TRUE(store && store->addAttempt(refused));
  }
  Finished again = run("materialize", {target, "--json"});
  ASSERT_EQ(again.exitCode, ExitDone) << again.err;
  auto report = json(again, "materialize");
  EXPECT_LT(report["gate_calls"], 2) << "what was tried is answered from the record";
  unsigned kept = 0;
  for (const auto &one : report["tries"]) {
    EXPECT_NE(one["parameters"], nlohmann::json({{"width", 2}})) << "refused before at this place";
    kept += one["kept"].get<bool>();
  }
  EXPECT_EQ(kept, 1u);
  auto now = attempts();
  EXPECT_EQ(now.size(), left.size() + 1 + report["tries"].size());
  EXPECT_EQ(std::count_if(now.begin(), now.end(), [](const AttemptRow &row) { return row.kept; }), 1);
}

} // namespace klineage::testing
