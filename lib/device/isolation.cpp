#include "device/isolation.h"
#include "support/files.h"
#include <fstream>
#include <mutex>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace klineage {
namespace fs = std::filesystem;
namespace {

/// The user and group "nobody" of every Linux system.
constexpr unsigned workerUser = 65534;

/// Bytes of /tmp inside, which are memory that nobody's residence counts. The worker's own files are in its scratch folder.
constexpr const char *memoryFiles = "16777216";

bool isRoot() { return ::geteuid() == 0; }

void append(std::vector<std::string> &words, std::initializer_list<std::string> more) { words.insert(words.end(), more); }

/// The worker's whole environment.
std::map<std::string, std::string> environmentOf(const IsolationRequest &request) {
  std::string scratch = request.scratch.empty() ? "/tmp" : request.scratch.string();
  std::map<std::string, std::string> all = {
      {"PATH", "/usr/bin:/bin"}, {"HOME", scratch}, {"TMPDIR", scratch}, {"LANG", "C.UTF-8"}};
  for (const auto &[name, value] : request.environment) all[name] = value;
  return all;
}

void addLimits(std::vector<std::string> &words, const IsolationRequest &request) {
  append(words, {"prlimit", "--nproc=" + std::to_string(request.processes), "--cpu=" + std::to_string(request.cpuSeconds) + ":" + std::to_string(request.cpuSeconds + 5),
                 "--fsize=" + std::to_string(request.fileBytes), "--core=0", "--"});
}

/// Changing the user comes after the namespaces are made, so that a build folder below a private home can still be bound; the worker
/// itself never runs as root, which limits on processes would not bind.
void addUser(std::vector<std::string> &words) {
  std::string user = std::to_string(workerUser);
  append(words, {"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups", "--bounding-set=-all", "--no-new-privs"});
}

/// bubblewrap gives the parents of a bound path the modes they have outside; a home of mode 0700 would hide what is bound below it.
void addParents(std::vector<std::string> &words, const fs::path &path) {
  fs::path so_far;
  for (const auto &part : path.parent_path()) {
    so_far /= part;
    if (so_far == "/" || so_far == "/tmp" || so_far == "/usr" || so_far == "/etc") continue;
    append(words, {"--perms", "0755", "--dir", so_far.string()});
  }
}

bool belowSystem(const fs::path &path) {
  auto first = path.begin();
  return first != path.end() && ++first != path.end() && *first == "usr";
}

void addBubblewrap(std::vector<std::string> &words, const IsolationRequest &request) {
  append(words, {"bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
                 "--die-with-parent", "--new-session", "--hostname", "klineage"});
  append(words, {"--ro-bind", "/usr", "/usr"});
  for (const char *link : {"/bin", "/lib", "/lib64", "/sbin"}) {
    std::error_code error;
    fs::path target = fs::read_symlink(link, error);
    if (!error) append(words, {"--symlink", target.string(), link});
    else append(words, {"--ro-bind-try", link, link});
  }
  for (const char *file : {"/etc/ld.so.cache", "/etc/alternatives"}) append(words, {"--ro-bind-try", file, file});
  append(words, {"--dev", "/dev", "--proc", "/proc", "--size", memoryFiles, "--perms", "1777", "--tmpfs", "/tmp"});
  for (const auto &device : request.devices) append(words, {"--dev-bind-try", device.string(), device.string()});
  if (request.devices.empty()) append(words, {"--remount-ro", "/dev"}); // memory too
  std::vector<fs::path> readable = request.readable;
  readable.push_back(programFolder());
  for (const auto &path : readable) {
    fs::path whole = fs::absolute(path).lexically_normal();
    if (!whole.has_filename()) whole = whole.parent_path();
    if (belowSystem(whole)) continue;
    addParents(words, whole);
    append(words, {"--ro-bind-try", whole.string(), whole.string()});
  }
  if (!request.scratch.empty()) {
    addParents(words, request.scratch);
    append(words, {"--bind", request.scratch.string(), request.scratch.string()});
  }
  append(words, {"--clearenv"});
  for (const auto &[name, value] : environmentOf(request)) append(words, {"--setenv", name, value});
  append(words, {"--cap-drop", "ALL"});
  if (isRoot()) append(words, {"--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"});
  append(words, {"--"});
}

std::vector<std::string> prefixAt(const IsolationRequest &request, IsolationLevel level) {
  std::vector<std::string> words;
  if (level == IsolationLevel::Bubblewrap) {
    addBubblewrap(words, request);
  } else {
    append(words, {"env", "-i"});
    for (const auto &[name, value] : environmentOf(request)) append(words, {name + "=" + value});
  }
  if (level != IsolationLevel::Limits && isRoot()) addUser(words);
  // Entered as the worker's user: whoever starts the worker may have no way into a folder that is the worker's alone.
  if (!request.scratch.empty()) append(words, {"env", "--chdir=" + request.scratch.string()});
  addLimits(words, request);
  return words;
}

/// Tries a level: the worker must be able to run this very program. Empty when it works, else what was said.
std::string trial(IsolationLevel level) {
  std::error_code error;
  std::string self = fs::read_symlink("/proc/self/exe", error).string();
  Command command;
  command.argv = prefixAt({}, level);
  append(command.argv, {"test", "-x", self});
  command.limit = std::chrono::seconds(5);
  auto finished = run(command);
  if (!finished) return finished.error().what;
  if (finished->ok()) return {};
  if (!finished->err.empty()) return finished->err.substr(0, finished->err.find('\n'));
  if (finished->timedOut) return "no answer in five seconds";
  return finished->exitCode == 1 ? "other users may not run " + self : "exit code " + std::to_string(finished->exitCode);
}

IsolationFacts findFacts() {
  IsolationFacts facts;
  facts.why = trial(IsolationLevel::Bubblewrap);
  if (facts.why.empty()) {
    facts.level = IsolationLevel::Bubblewrap;
    return facts;
  }
  facts.remedy = "install bubblewrap, and where this is a container, allow it to make namespaces";
  // A caller who is not root has no other user to change to.
  std::string user = isRoot() ? trial(IsolationLevel::UnprivilegedUser) : "only root can change to another user";
  if (user.empty()) facts.level = IsolationLevel::UnprivilegedUser;
  else facts.why += "; " + user;
  return facts;
}

} // namespace

const char *name(IsolationLevel level) {
  switch (level) {
  case IsolationLevel::Limits: return "limits";
  case IsolationLevel::UnprivilegedUser: return "unprivileged_user";
  case IsolationLevel::Bubblewrap: return "bubblewrap";
  }
  return "?";
}

const IsolationFacts &isolationFacts() {
  static const IsolationFacts facts = findFacts();
  return facts;
}

std::vector<std::string> isolationPrefix(const IsolationRequest &request, std::optional<IsolationLevel> at) {
  IsolationLevel level = isolationFacts().level;
  if (at && *at < level) level = *at;
  IsolationRequest whole = request;
  if (!whole.scratch.empty()) {
    whole.scratch = fs::absolute(request.scratch).lexically_normal();
    if (!whole.scratch.has_filename()) whole.scratch = whole.scratch.parent_path();
    if (isRoot() && level != IsolationLevel::Limits && ::chown(whole.scratch.c_str(), workerUser, workerUser) != 0)
      ::chmod(whole.scratch.c_str(), 0777);
  }
  return prefixAt(whole, level);
}

} // namespace klineage
