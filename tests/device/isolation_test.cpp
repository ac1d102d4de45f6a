#include "device/isolation.h"
#include "support/files.h"
#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace klineage;

namespace {

/// What a shell line answers inside the isolation.
Finished inside(const std::string &line, IsolationRequest request = {}, std::optional<IsolationLevel> at = {}) {
  Command command;
  command.argv = isolationPrefix(request, at);
  for (const char *word : {"sh", "-c"}) command.argv.push_back(word);
  command.argv.push_back(line);
  command.limit = std::chrono::seconds(10);
  auto finished = run(command);
  EXPECT_TRUE(finished) << (finished ? "" : finished.error().message());
  return finished ? *finished : Finished{};
}

bool strongest() { return isolationFacts().level == IsolationLevel::Bubblewrap; }

} // namespace

TEST(Isolation, WeakerLevelSaysWhyAndHowToMendIt) {
  const auto &facts = isolationFacts();
  EXPECT_EQ(strongest(), facts.why.empty());
  EXPECT_EQ(strongest(), facts.remedy.empty());
}

TEST(Isolation, ExitCodeAndStreamsPassThrough) {
  auto finished = inside("cat; echo no >&2; exit 7");
  EXPECT_EQ(finished.exitCode, 7);
  EXPECT_EQ(finished.err, "no\n");
}

TEST(Isolation, WorkerIsNeverRootAndHasNoCapabilities) {
  if (isolationFacts().level == IsolationLevel::Limits) GTEST_SKIP() << isolationFacts().why;
  auto finished = inside("id -u; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status");
  EXPECT_NE(finished.out.substr(0, finished.out.find('\n')), "0") << finished.err;
  EXPECT_NE(finished.out.find("CapEff:\t0000000000000000"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("NoNewPrivs:\t1"), std::string::npos) << finished.out;
}

TEST(Isolation, OnlyTheScratchFolderCanBeWritten) {
  if (!strongest()) GTEST_SKIP() << isolationFacts().why;
  ScratchFolder scratch;
  IsolationRequest request;
  request.scratch = scratch.path();
  auto finished = inside("pwd; echo in > here; echo x > /usr/klineage_probe || echo usr; echo x > /etc/klineage_probe || echo etc", request);
  EXPECT_NE(finished.out.find("usr\n"), std::string::npos);
  EXPECT_NE(finished.out.find("etc\n"), std::string::npos);
  auto written = readFile(scratch.path() / "here");
  ASSERT_TRUE(written) << finished.err;
  EXPECT_EQ(*written, "in\n");
}

TEST(Isolation, FoldersThatWereNotNamedAreNotThere) {
  if (!strongest()) GTEST_SKIP() << isolationFacts().why;
  ScratchFolder secret, shown;
  ASSERT_TRUE(writeFile(secret.path() / "reference", "answer"));
  ASSERT_TRUE(writeFile(shown.path() / "given", "data"));
  std::filesystem::permissions(shown.path(), std::filesystem::perms(0755));
  IsolationRequest request;
  request.readable = {shown.path()};
  auto finished = inside("cat " + (shown.path() / "given").string() + "; cat " + (secret.path() / "reference").string(), request);
  EXPECT_EQ(finished.out, "data") << finished.err;
  EXPECT_NE(finished.exitCode, 0);
}

TEST(Isolation, NothingOfTheCallersEnvironmentIsInherited) {
  ::setenv("KLINEAGE_TEST_SECRET", "told", 1);
  IsolationRequest request;
  request.environment = {{"GIVEN", "yes"}};
  auto finished = inside("echo $GIVEN$KLINEAGE_TEST_SECRET", request);
  ::unsetenv("KLINEAGE_TEST_SECRET");
  EXPECT_EQ(finished.out, "yes\n") << finished.err;
}

TEST(Isolation, NoNetworkInterfaceButItsOwnLoopback) {
  if (!strongest()) GTEST_SKIP() << isolationFacts().why;
  auto finished = inside("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '");
  EXPECT_EQ(finished.out, "lo\n") << finished.err;
}

TEST(Isolation, ProcessesAreBounded) {
  if (isolationFacts().level == IsolationLevel::Limits && ::geteuid() == 0) GTEST_SKIP() << "root is not bound by process limits";
  IsolationRequest request;
  request.processes = 8;
  auto finished = inside("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait", request);
  EXPECT_NE(finished.err.find("fork"), std::string::npos) << finished.err;
}

TEST(Isolation, WrittenFilesAreBounded) {
  ScratchFolder scratch;
  IsolationRequest request;
  request.scratch = scratch.path();
  request.fileBytes = 4096;
  auto finished = inside("head -c 100000 /dev/zero > " + (scratch.path() / "big").string(), request);
  EXPECT_FALSE(finished.ok());
  EXPECT_LE(std::filesystem::file_size(scratch.path() / "big"), 4096u);
}

TEST(Isolation, ResidenceCountsDescendants) {
  EXPECT_GT(residentBytes(::getpid()), 1u << 20);
  EXPECT_EQ(residentBytes(2147483600), 0u);
}

TEST(Isolation, ProcessorTimeIsBounded) {
  IsolationRequest request;
  request.cpuSeconds = 1;
  auto finished = inside("while :; do :; done", request);
  EXPECT_TRUE(finished.signal == SIGXCPU || finished.exitCode == 128 + SIGXCPU) << finished.signal << " " << finished.exitCode;
}

TEST(Isolation, MemoryIsBoundedByResidenceOfTheWholeTree) {
  Command command;
  command.argv = isolationPrefix({});
  for (const char *word : {"sh", "-c", "sh -c 'head -c 400000000 /dev/zero | tail'"}) command.argv.push_back(word);
  command.limit = std::chrono::seconds(20);
  command.memoryLimit = 100u << 20;
  auto finished = run(command);
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->outOfMemory) << finished->exitCode << finished->err;
  command.memoryLimit = 2000u << 20;
  finished = run(command);
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->ok()) << finished->err;
}
