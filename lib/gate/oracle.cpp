#include "gate/oracle.h"
#include "gate/gate.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/subprocess.h"
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace klineage {
namespace fs = std::filesystem;
namespace {

using ReferenceCall = void (*)(void *const *);

/// References are short loops over doubles: optimized, and without contraction, so that every compiler gives the same values.
/// Bound to its own symbols: libxml2, which LLVM brings along, has a function named `reference` too.
const std::vector<std::string> compilerArguments = {"-std=c++20", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-w", "-Wl,-Bsymbolic"};

Result<fs::path> compileReference(const Workload &workload) {
  auto text = readFile(workload.folder / workload.reference);
  if (!text) return text.error();
  std::string caller = referenceCaller(workload);
  Hasher hasher;
  hasher.add("reference", *text).add("caller", caller);
  for (const auto &argument : compilerArguments) hasher.add("argument", argument);
  fs::path object = cacheFolder() / "references" / (hasher.hex().substr(0, 32) + ".so");
  if (fs::exists(object)) return object;
  std::error_code ignored;
  fs::create_directories(object.parent_path(), ignored);
  fs::path beside = object;
  beside += "." + std::to_string(::getpid());
  std::string missing;
  for (const char *compiler : {"g++", "clang++-22"}) {
    Command command;
    command.argv = {compiler};
    command.argv.insert(command.argv.end(), compilerArguments.begin(), compilerArguments.end());
    for (const std::string &argument : {std::string("-x"), std::string("c++"), std::string("-"), std::string("-o"), beside.string()})
      command.argv.push_back(argument);
    command.input = caller;
    command.limit = std::chrono::seconds(60);
    auto finished = run(command);
    if (!finished) { // not installed: the next one
      missing = finished.error().what;
      continue;
    }
    if (!finished->ok())
      return userError("the reference does not compile: " + finished->err.substr(0, 2000), (workload.folder / workload.reference).string(),
                       "its parameters must fit the workload's arguments; see docs/workload.md");
    fs::rename(beside, object, ignored);
    return object;
  }
  return userError("no C++ compiler for the reference: " + missing, {}, "install g++ or clang-22");
}

/// Memory that a child process writes and the parent reads.
class SharedDoubles {
public:
  explicit SharedDoubles(size_t count) : bytes(std::max<size_t>(count, 1) * sizeof(double)) {
    at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  ~SharedDoubles() {
    if (at != MAP_FAILED) ::munmap(at, bytes);
  }
  SharedDoubles(const SharedDoubles &) = delete;
  SharedDoubles &operator=(const SharedDoubles &) = delete;
  bool ok() const { return at != MAP_FAILED; }
  double *data() const { return static_cast<double *>(at); }

private:
  void *at = nullptr;
  size_t bytes;
};

/// Waits for a child within a limit; its wait status, or nothing when it had to be killed.
std::optional<int> waitFor(pid_t child, int doneFd, int milliseconds) {
  pollfd waiting{doneFd, POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&waiting, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (ready == 0) return std::nullopt;
  return status;
}

bool isResult(const Argument &argument) { return argument.kind == ArgumentKind::Output || argument.kind == ArgumentKind::InOut; }

/// Calls the reference in a child, so that a fault in it is a message and not the end of the tool.
Result<Expected> callReference(ReferenceCall call, const Workload &workload, const Inputs &inputs) {
  const size_t count = workload.arguments.size();
  std::vector<std::vector<double>> given(count);
  std::vector<std::unique_ptr<SharedDoubles>> results(count);
  std::vector<long long> integers(count);
  std::vector<double> reals(count);
  std::vector<void *> slots(count);
  for (size_t a = 0; a < count; ++a) {
    const Argument &argument = workload.arguments[a];
    const ArgumentBytes &bytes = inputs.arguments[a];
    if (argument.kind == ArgumentKind::Scalar) {
      double value = loadElement(argument.type, bytes.bytes.data());
      reals[a] = value;
      integers[a] = static_cast<long long>(value);
      if (argument.type == ElementType::I64 || argument.type == ElementType::U64) std::memcpy(&integers[a], bytes.bytes.data(), 8);
      slots[a] = isFloating(argument.type) ? static_cast<void *>(&reals[a]) : static_cast<void *>(&integers[a]);
    } else if (isResult(argument)) {
      results[a] = std::make_unique<SharedDoubles>(bytes.count);
      if (!results[a]->ok()) return ourFault("no memory for the reference's output " + argument.name);
      if (argument.kind == ArgumentKind::InOut) {
        auto before = toDoubles(argument.type, bytes.bytes);
        std::copy(before.begin(), before.end(), results[a]->data());
      }
      slots[a] = results[a]->data();
    } else if (argument.kind == ArgumentKind::Input) { // scratch is the launcher's affair alone
      given[a] = toDoubles(argument.type, bytes.bytes);
      slots[a] = given[a].data();
    }
  }
  int done[2];
  if (::pipe2(done, O_CLOEXEC) != 0) return ourFault("cannot make a pipe");
  pid_t child = ::fork();
  if (child < 0) return ourFault("cannot start a process for the reference");
  if (child == 0) {
    ::close(done[0]);
    call(slots.data());
    ::_exit(0); // also closes the pipe, which is what the parent waits for
  }
  ::close(done[1]);
  auto status = waitFor(child, done[0], 60'000);
  ::close(done[0]);
  std::string file = (workload.folder / workload.reference).string();
  if (!status) return userError("the reference did not end within a minute", file, "make the check instances smaller");
  if (WIFSIGNALED(*status))
    return userError("the reference crashed with signal " + std::to_string(WTERMSIG(*status)), file, "check its indices against the shapes");
  if (WEXITSTATUS(*status) != 0) return userError("the reference ended the process", file, "return from it instead");
  Expected expected(count);
  for (size_t a = 0; a < count; ++a)
    if (results[a]) expected[a].assign(results[a]->data(), results[a]->data() + inputs.arguments[a].count);
  return expected;
}

} // namespace

struct Oracle::Impl {
  Workload workload;
  Device *device = nullptr;
  void *library = nullptr;
  ReferenceCall call = nullptr;
  std::optional<SourceSet> expert; ///< When the kernel is its own oracle.
  std::mutex lock;
  std::map<std::pair<std::string, uint64_t>, std::shared_ptr<const Case>> kept;
  size_t keptBytes = 0;
  static constexpr size_t keptLimit = 512u << 20;

  Result<Expected> answerOfExpert(const Instance &instance, uint64_t seed) {
    RunRequest request;
    request.workload = &workload;
    request.instance = &instance;
    request.seed = seed;
    auto outcomes = device->run(*expert, {request});
    if (outcomes.size() != 1) return ourFault("the device gave no outcome for the expert's version");
    // A version that races or reads what nobody wrote is no oracle, whatever its values.
    if (outcomes[0].reason != Reason::None)
      return userError("the expert's version is at fault on instance " + instance.name + ": " + name(outcomes[0].reason) + ": " + outcomes[0].detail,
                       workload.folder.string(), "mend it, or write a reference");
    Expected expected(workload.arguments.size());
    for (size_t a = 0; a < expected.size(); ++a)
      if (isResult(workload.arguments[a])) {
        if (a >= outcomes[0].outputs.size()) return ourFault("the device gave no output " + workload.arguments[a].name);
        expected[a] = toDoubles(workload.arguments[a].type, outcomes[0].outputs[a]);
      }
    return expected;
  }
};

Oracle::Oracle() : impl(std::make_unique<Impl>()) {}
Oracle::~Oracle() {
  if (impl->library) ::dlclose(impl->library);
}

Result<std::shared_ptr<Oracle>> Oracle::make(const Workload &workload, Device &device) {
  std::shared_ptr<Oracle> oracle(new Oracle);
  oracle->impl->workload = workload;
  oracle->impl->device = &device;
  if (workload.reference.empty()) {
    auto expert = loadSources(workload);
    if (!expert) return expert.error();
    auto build = device.build(*expert, workload);
    if (build.reason != Reason::None)
      return userError(std::string("the expert's version does not build: ") + name(build.reason) + ": " + build.detail, workload.folder.string(),
                       "mend it, or write a reference");
    oracle->impl->expert = std::move(*expert);
    return oracle;
  }
  auto object = compileReference(workload);
  if (!object) return object.error();
  oracle->impl->library = ::dlopen(object->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!oracle->impl->library) return userError(std::string("the reference cannot be loaded: ") + ::dlerror(), object->string(), "remove this file and try again");
  oracle->impl->call = reinterpret_cast<ReferenceCall>(::dlsym(oracle->impl->library, "klineage_reference"));
  if (!oracle->impl->call) return ourFault("the reference's object has no entry", object->string(), "remove this file and try again");
  return oracle;
}

std::string Oracle::kind() const { return impl->expert ? "self" : "reference"; }

Result<std::shared_ptr<const Case>> Oracle::caseOf(const Instance &instance, uint64_t seed) {
  std::lock_guard<std::mutex> hold(impl->lock);
  std::pair<std::string, uint64_t> key(instance.name, seed);
  if (auto found = impl->kept.find(key); found != impl->kept.end()) return found->second;
  auto inputs = makeInputs(impl->workload, instance, seed);
  if (!inputs) return inputs.error();
  auto expected = impl->expert ? impl->answerOfExpert(instance, seed) : callReference(impl->call, impl->workload, *inputs);
  if (!expected) return expected.error();
  size_t bytes = 0;
  for (const auto &argument : inputs->arguments) bytes += argument.bytes.size();
  for (const auto &output : *expected) bytes += output.size() * sizeof(double);
  auto made = std::make_shared<const Case>(Case{std::move(*inputs), std::move(*expected)});
  if (impl->keptBytes + bytes > Impl::keptLimit) {
    impl->kept.clear();
    impl->keptBytes = 0;
  }
  impl->keptBytes += bytes;
  impl->kept.emplace(key, made);
  return std::shared_ptr<const Case>(made);
}

} // namespace klineage
