#include "support/subprocess.h"
#include <future>
#include <gtest/gtest.h>

using namespace klineage;

namespace {
Command shell(const std::string &line, std::string input = {}) {
  Command command;
  command.argv = {"sh", "-c", line};
  command.input = std::move(input);
  return command;
}
} // namespace

TEST(Subprocess, StreamsAndExitCodeComeBack) {
  auto finished = run(shell("cat; echo no >&2; exit 7", "given"));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->out, "given");
  EXPECT_EQ(finished->err, "no\n");
  EXPECT_EQ(finished->exitCode, 7);
}

TEST(Subprocess, ReaderThatLeavesEarlyDoesNotEndUsFromAnyThread) {
  std::string much(8u << 20, 'x');
  std::vector<std::future<bool>> tries;
  for (int i = 0; i < 8; ++i) tries.push_back(std::async(std::launch::async, [&] { return bool(run(shell("exec true", much))); }));
  for (auto &one : tries) EXPECT_TRUE(one.get());
}

TEST(Subprocess, LimitEndsTheWholeGroup) {
  Command command = shell("sleep 30 & sleep 30");
  command.limit = std::chrono::milliseconds(200);
  auto finished = run(command);
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->timedOut);
  EXPECT_LT(finished->seconds, 10);
}

TEST(Subprocess, ProgramThatIsNotThereIsAnErrorWithItsName) {
  Command command;
  command.argv = {"klineage-no-such-program"};
  auto finished = run(command);
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().what.find("klineage-no-such-program"), std::string::npos);
}
