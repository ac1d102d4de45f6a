#include "support/subprocess.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace klineage {
namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { if (::pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1; }
  ~Pipe() { close(0); close(1); }
  void close(int end) { if (ends[end] >= 0) ::close(ends[end]); ends[end] = -1; }
};

[[noreturn]] void becomeChild(const Command &command, Pipe &in, Pipe &out, Pipe &err, Pipe &failure) {
  ::setpgid(0, 0);
  ::dup2(in.ends[0], 0);
  ::dup2(out.ends[1], 1);
  ::dup2(err.ends[1], 2);
  if (!command.folder.empty() && ::chdir(command.folder.c_str()) != 0) {
    int why = errno;
    (void)!::write(failure.ends[1], &why, sizeof why);
    ::_exit(127);
  }
  for (const auto &[name, value] : command.extraEnv) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char *> argv;
  for (const auto &arg : command.argv) argv.push_back(const_cast<char *>(arg.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  int why = errno;
  (void)!::write(failure.ends[1], &why, sizeof why);
  ::_exit(127);
}

/// Reads what is there; false at the end of the stream.
bool drain(int fd, std::string &into, size_t limit) {
  char buffer[65536];
  ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got > 0 && into.size() < limit) into.append(buffer, std::min<size_t>(got, limit - into.size()));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

uint64_t residentOf(int process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/statm");
  uint64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

constexpr std::chrono::milliseconds betweenLooks{20}, betweenCounts{200};

} // namespace

Result<Finished> run(const Command &command) {
  using Clock = std::chrono::steady_clock;
  if (command.argv.empty()) return ourFault("an empty command was asked for");
  Pipe in, out, err, failure;
  if (failure.ends[0] < 0) return ourFault(std::string("cannot make a pipe: ") + std::strerror(errno));
  auto start = Clock::now();
  pid_t child = ::fork();
  if (child < 0) return ourFault(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) becomeChild(command, in, out, err, failure);
  ::setpgid(child, child);
  in.close(0);
  out.close(1);
  err.close(1);
  failure.close(1);

  ::fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  // A reader that is gone must not end this process. Held back for this thread alone: others may be in here too.
  sigset_t pipeSignal, before;
  ::sigemptyset(&pipeSignal);
  ::sigaddset(&pipeSignal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipeSignal, &before);

  Finished finished;
  size_t given = 0;
  if (command.input.empty()) in.close(1);
  bool outOpen = true, errOpen = true;
  auto nextLook = start + betweenLooks, nextCount = start + betweenCounts;
  while (outOpen || errOpen) {
    if (command.memoryLimit && Clock::now() >= nextLook) {
      if (residentBytes(child) > command.memoryLimit) {
        finished.outOfMemory = true;
        ::kill(-child, SIGKILL);
        break;
      }
      nextLook = Clock::now() + betweenLooks;
    }
    if (command.folderLimit && Clock::now() >= nextCount) {
      if (bytesBelow(command.watchedFolder, command.folderLimit) > command.folderLimit) {
        finished.outOfDisk = true;
        ::kill(-child, SIGKILL);
        break;
      }
      nextCount = Clock::now() + betweenCounts;
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(start + command.limit - Clock::now()).count();
    if (left <= 0) {
      finished.timedOut = true;
      ::kill(-child, SIGKILL);
      break;
    }
    pollfd fds[3] = {{outOpen ? out.ends[0] : -1, POLLIN, 0}, {errOpen ? err.ends[0] : -1, POLLIN, 0}, {in.ends[1], POLLOUT, 0}};
    if (::poll(fds, 3, static_cast<int>(std::min<long long>(left, command.memoryLimit ? betweenLooks.count() : command.folderLimit ? betweenCounts.count() : 1000))) < 0 && errno != EINTR) break;
    if (fds[0].revents) outOpen = drain(out.ends[0], finished.out, command.outputLimit);
    if (fds[1].revents) errOpen = drain(err.ends[0], finished.err, command.outputLimit);
    if (fds[2].revents) {
      ssize_t put = ::write(in.ends[1], command.input.data() + given, command.input.size() - given);
      if (put > 0) given += static_cast<size_t>(put);
      if (given == command.input.size() || (put < 0 && errno != EAGAIN && errno != EINTR)) in.close(1);
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  ::kill(-child, SIGKILL); // what it left behind in its group
  if (!::sigismember(&before, SIGPIPE)) {
    timespec now = {};
    while (::sigtimedwait(&pipeSignal, nullptr, &now) > 0) {}
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  finished.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  int why = 0;
  if (::read(failure.ends[0], &why, sizeof why) == sizeof why)
    return userError("cannot run " + command.argv[0] + ": " + std::strerror(why), {}, "klineage doctor says what is missing");
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  else finished.exitCode = WEXITSTATUS(status);
  return finished;
}

uint64_t bytesBelow(const std::string &folder, uint64_t enough) {
  constexpr uint64_t block = 4096;
  uint64_t sum = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, std::filesystem::directory_options::skip_permission_denied, error), end; !error && entry != end && sum <= enough;
       entry.increment(error)) {
    struct stat facts;
    bool known = ::lstat(entry->path().c_str(), &facts) == 0; // it may be gone already
    sum += known ? std::max<uint64_t>(block, 512 * uint64_t(facts.st_blocks)) : block;
  }
  return sum;
}

uint64_t residentBytes(int process) {
  uint64_t sum = residentOf(process);
  std::error_code error;
  for (const auto &task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", error)) {
    std::ifstream in(task.path() / "children");
    for (int child = 0; in >> child;) sum += residentBytes(child);
  }
  return sum;
}

} // namespace klineage
