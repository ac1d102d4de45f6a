// Hostile candidates beneath the launcher's grammar: each does what a launcher that nobody read could do, as a program of its own in the worker's isolation.
// (What the grammar refuses before anything runs: tests/gate/launcher_test.cpp. Device code without end: emulated_verdicts_test.cpp.)
#include "device/isolation.h"
#include "support/files.h"
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace klineage;
namespace fs = std::filesystem;

namespace {

/// Levels of which a stronger one stops more: a test names the weakest that must stop its deed.

bool machineHas(IsolationLevel level) { return isolationFacts().level >= level; }

class Hostile : public ::testing::Test {
protected:
  void SetUp() override {
    request.scratch = scratch.path();
    request.cpuSeconds = 5;
    request.processes = 64;
  }

  /// Compiles C++ once a test and runs it isolated. What main answers is the exit code: 0 means that the deed succeeded.
  Finished deed(const std::string &body, uint64_t memory = uint64_t(256) << 20, size_t output = 1 << 20) {
    std::string text = "#include <cerrno>\n#include <csignal>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include <arpa/inet.h>\n#include <fcntl.h>\n#include <netinet/in.h>\n"
                       "#include <sys/mman.h>\n#include <sys/ptrace.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n#include <sys/un.h>\n#include <unistd.h>\n"
                       "int main() { " + body + " }\n";
    fs::path program = scratch.path() / "hostile";
    Command compile{.argv = {"g++", "-w", "-x", "c++", "-", "-o", program.string()}, .input = text};
    auto compiled = run(compile);
    EXPECT_TRUE(compiled && compiled->ok()) << (compiled ? compiled->err : compiled.error().message());
    Command command;
    command.argv = isolationPrefix(request);
    command.argv.push_back(program.string());
    command.limit = std::chrono::seconds(20);
    command.memoryLimit = memory;
    command.watchedFolder = scratch.path().string();
    command.folderLimit = 8 << 20;
    command.outputLimit = output;
    auto finished = run(command);
    EXPECT_TRUE(finished) << (finished ? "" : finished.error().message());
    return finished ? *finished : Finished{};
  }
  static std::string quoted(const fs::path &path) { return "\"" + path.string() + "\""; }

  ScratchFolder scratch;
  IsolationRequest request;
};

#define NEEDS(wanted) \
  if (!machineHas(IsolationLevel::wanted)) GTEST_SKIP() << "this machine isolates only at the level " << name(isolationFacts().level) << ": " << isolationFacts().why

} // namespace

TEST_F(Hostile, AProgramThatDoesNothingSucceeds) { EXPECT_TRUE(deed("return 0;").ok()); }

TEST_F(Hostile, AForkBombStopsAtTheBoundAndLeavesNothing) {
  NEEDS(UnprivilegedUser);
  auto finished = deed("int made = 0; for (int i = 0; i < 1000; ++i) { pid_t p = fork(); if (p == 0) { pause(); } if (p < 0) break; ++made; } printf(\"%d\", made); return made < 1000;");
  EXPECT_EQ(finished.exitCode, 1) << finished.err;
  EXPECT_LE(std::atoi(finished.out.c_str()), 64);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Command left{.argv = {"pgrep", "-f", (scratch.path() / "hostile").string()}};
  auto found = run(left);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->out, "");
}

TEST_F(Hostile, AFullDiskStopsAtTheLargestFile) {
  request.fileBytes = 1 << 20;
  auto finished = deed("signal(SIGXFSZ, SIG_IGN); int f = open(\"big\", O_CREAT | O_WRONLY, 0600); char b[65536] = {}; for (int i = 0; i < 1000; ++i) if (write(f, b, sizeof b) < 0) return 1; return 0;");
  EXPECT_EQ(finished.exitCode, 1);
  EXPECT_LE(fs::file_size(scratch.path() / "big"), 1u << 20);
}

TEST_F(Hostile, ManyFilesTogetherStopAtTheFoldersBound) {
  request.fileBytes = 1 << 20;
  auto finished = deed("char b[65536] = {}; for (int i = 0; i < 100000; ++i) { char n[32]; sprintf(n, \"f%d\", i); int f = open(n, O_CREAT | O_WRONLY, 0600); for (int k = 0; k < 16; ++k) write(f, b, sizeof b); close(f); usleep(2000); } return 0;");
  EXPECT_TRUE(finished.outOfDisk) << finished.exitCode << finished.err;
}

TEST_F(Hostile, FilesInMemoryAreBoundedToo) {
  NEEDS(Bubblewrap);
  for (const char *folder : {"/tmp", "/dev/shm", "/dev"}) {
    auto finished = deed("char b[65536]; memset(b, 1, sizeof b); int f = open(\"" + std::string(folder) + "/big\", O_CREAT | O_WRONLY, 0600); for (int i = 0; i < 1024; ++i) if (write(f, b, sizeof b) < (ssize_t)sizeof b) return 1; return 0;");
    EXPECT_EQ(finished.exitCode, 1) << folder;
  }
}

TEST_F(Hostile, ThePasswordFileIsNotThere) {
  NEEDS(Bubblewrap);
  EXPECT_EQ(deed("return open(\"/etc/passwd\", O_RDONLY) < 0;").exitCode, 1);
}

TEST_F(Hostile, ReferencesCorpusAndHomeAreNotThere) {
  NEEDS(Bubblewrap);
  ScratchFolder elsewhere;
  ASSERT_TRUE(writeFile(elsewhere.path() / "reference.cpp", "answer"));
  fs::permissions(elsewhere.path(), fs::perms(0755));
  const char *home = std::getenv("HOME");
  for (const fs::path &path : {elsewhere.path() / "reference.cpp", cacheFolder() / "references", cacheFolder(), fs::path(home ? home : "/root") / ".local", fs::path("/root/.ssh"), fs::path("/home")}) {
    auto finished = deed("return access(" + quoted(path) + ", F_OK) != 0;");
    EXPECT_EQ(finished.exitCode, 1) << path;
  }
}

TEST_F(Hostile, ASocketReachesNobody) {
  NEEDS(Bubblewrap);
  // Something listens outside: only the network's separation can keep it unheard.
  auto finished = deed("int s = socket(AF_INET, SOCK_DGRAM, 0); sockaddr_in a = {}; a.sin_family = AF_INET; a.sin_port = htons(53); inet_pton(AF_INET, \"192.0.2.1\", &a.sin_addr);"
                       "return s < 0 || connect(s, (sockaddr *)&a, sizeof a) != 0;");
  EXPECT_EQ(finished.exitCode, 1) << "a route out of the worker";
}

TEST_F(Hostile, TheParentCannotBeKilled) {
  NEEDS(UnprivilegedUser);
  auto finished = deed("return kill(" + std::to_string(::getpid()) + ", 0) != 0;");
  EXPECT_EQ(finished.exitCode, 1);
  auto everyone = deed("kill(getppid(), SIGKILL); kill(-1, SIGKILL); return 0;"); // this test goes on, and so does what comes after
  EXPECT_FALSE(everyone.timedOut);
}

TEST_F(Hostile, NothingIsWrittenOutsideScratch) {
  NEEDS(UnprivilegedUser);
  for (const char *path : {"/usr/klineage_hostile", "/etc/klineage_hostile", "/klineage_hostile", "/root/klineage_hostile"}) {
    deed("int f = open(" + quoted(path) + ", O_CREAT | O_WRONLY, 0600); return f < 0;");
    EXPECT_FALSE(fs::exists(path)) << path;
  }
  ScratchFolder other;
  deed("int f = open(" + quoted(other.path() / "hostile") + ", O_CREAT | O_WRONLY, 0600); return f < 0;");
  EXPECT_FALSE(fs::exists(other.path() / "hostile"));
}

TEST_F(Hostile, ProcessesOutsideCannotBeTraced) {
  NEEDS(UnprivilegedUser);
  auto finished = deed("return ptrace(PTRACE_ATTACH, " + std::to_string(::getpid()) + ", 0, 0) != 0;");
  EXPECT_EQ(finished.exitCode, 1);
}

TEST_F(Hostile, AHostLoopWithoutEndIsEndedByItsProcessorTime) {
  request.cpuSeconds = 1;
  auto finished = deed("for (volatile int i = 0;; ++i) {}");
  EXPECT_TRUE(finished.signal == SIGXCPU || finished.exitCode == 128 + SIGXCPU) << finished.signal << " " << finished.exitCode;
}

TEST_F(Hostile, IgnoringTheSignalOfTheClockDoesNotHelp) {
  request.cpuSeconds = 1;
  auto finished = deed("signal(SIGXCPU, SIG_IGN); for (volatile int i = 0;; ++i) {}");
  EXPECT_TRUE(finished.signal == SIGKILL || finished.exitCode == 128 + SIGKILL || finished.timedOut) << finished.signal << " " << finished.exitCode;
}

TEST_F(Hostile, MemoryWithoutEndIsEnded) {
  auto finished = deed("for (;;) { char *p = (char *)malloc(1 << 20); if (!p) return 1; memset(p, 1, 1 << 20); }", uint64_t(128) << 20);
  EXPECT_TRUE(finished.outOfMemory) << finished.exitCode;
}

TEST_F(Hostile, MemoryOfManySmallProcessesIsOneSum) {
  NEEDS(UnprivilegedUser);
  auto finished = deed("for (int i = 0; i < 8; ++i) if (fork() == 0) { char *p = (char *)malloc(40 << 20); memset(p, 1, 40 << 20); pause(); } pause(); return 0;", uint64_t(128) << 20);
  EXPECT_TRUE(finished.outOfMemory) << finished.exitCode;
}

TEST_F(Hostile, OutputWithoutEndIsDroppedBeyondItsBound) {
  request.cpuSeconds = 1;
  auto finished = deed("char b[65536]; memset(b, 'x', sizeof b); for (;;) write(1, b, sizeof b);", 0, 1 << 20);
  EXPECT_LE(finished.out.size(), 1u << 20);
  EXPECT_FALSE(finished.ok());
}

TEST_F(Hostile, ProcessesThatLeaveTheGroupDieWithTheWorker) {
  NEEDS(Bubblewrap);
  deed("if (fork() == 0) { setsid(); if (fork() == 0) for (;;) sleep(60); } return 0;");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Command left{.argv = {"pgrep", "-f", (scratch.path() / "hostile").string()}};
  auto found = run(left);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->out, "");
}
