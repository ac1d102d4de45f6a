// EmulatedDevice: the parent's side of the embedded device. Compiles and lowers in this process, and leaves code generation and
// everything that runs to an isolated worker.
#include "device/device.h"
#include "device/emulated/bounds.h"
#include "device/emulated/job.h"
#include "device/emulated/lowering.h"
#include "device/emulated/runtime/launch_checks.h"
#include "device/isolation.h"
#include "device/machine_code.h"
#include "source/unit.h"
#include "source/view_alignment.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/subprocess.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

namespace klineage {
namespace {

using namespace emulated;
namespace fs = std::filesystem;

/// Lowered modules age with the programs that lower and run them: another build never sees them. Nobody has to remember a number.
const std::string &workerHash() {
  static const std::string hash = [] {
    auto program = readFile(programFolder() / "klineage-worker");
    return program ? Hasher().add("program", sha256(*program)).add("emission", emissionRevision).hex() : std::string("no worker");
  }();
  return hash;
}

/// The lowering is this program's, which may be older or newer than the worker beside it.
const std::string &programHash() {
  static const std::string hash = [] {
    auto program = readFile("/proc/self/exe");
    return program ? sha256(*program) : std::string("no program");
  }();
  return hash;
}

struct Lowered {
  Build build;
  fs::path folder; ///< Holds device.bc and host.bc when build.reason is None.
};

/// A user's error that is not about a file of the version is one of this machine (a cache that cannot be written, say): it is no verdict.
Reason reasonOf(const Error &error, const SourceSet &sources) {
  if (error.fault == klineage::Fault::Refusal) return Reason::Unsupported;
  bool located = error.where.find(':') != std::string::npos; // also in a header that the version includes
  for (const auto &[file, text] : sources.files) located |= error.where == file;
  return error.fault == klineage::Fault::User && located ? Reason::CompileError : Reason::Internal;
}

std::string bitcodeOf(const llvm::Module &module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::WriteBitcodeToFile(module, out);
  return {bytes.begin(), bytes.end()};
}

Result<std::string> lowered(const SourceSet &sources, Side side, unsigned sm, const std::string &entry) {
  llvm::LLVMContext context;
  FrontEndOptions options;
  options.sm = sm;
  auto module = emitIR(sources, side, context, options);
  if (!module) return module.error();
  Status status = side == Side::Device ? lowerDevice(**module, sm) : lowerHost(**module, entry);
  if (!status) return status.error();
  return bitcodeOf(**module);
}

std::string keyOf(const SourceSet &sources, const std::string &entry, unsigned sm) {
  Hasher hasher;
  hasher.add("worker", workerHash()).add("program", programHash()).add("entry", entry).add("sm", std::to_string(sm)).add("main", sources.mainFile);
  hasher.add("llvm", std::to_string(LLVM_VERSION_MAJOR) + "." + std::to_string(LLVM_VERSION_MINOR) + "." + std::to_string(LLVM_VERSION_PATCH));
  for (auto &[file, text] : sources.files)
    hasher.add("file", file).add("text", text);
  for (auto &folder : sources.includeFolders)
    hasher.add("include", folder);
  for (auto &define : sources.defines)
    hasher.add("define", define);
  return hasher.hex();
}

class EmulatedDevice : public Device {
public:
  EmulatedDevice(unsigned sm, const Bounds &bounds) : sm(sm), bounds(bounds) { limits.sm = sm; }
  std::string id() const override { return "emulated sm_" + std::to_string(sm); }
  bool measured() const override { return false; }
  unsigned architecture() const override { return sm; }
  std::string revision() const override { return workerHash(); }
  Build build(const SourceSet &sources, const Workload &workload) override;
  std::vector<RunOutcome> run(const SourceSet &sources, const std::vector<RunRequest> &requests) override;

private:
  Lowered lowerCached(const SourceSet &sources, const std::string &entry);
  Result<Job> prepare(const std::vector<RunRequest> &requests, const fs::path &scratch);
  std::shared_future<MachineCode> vendorCode(const SourceSet &sources, const std::string &key);
  void writeWhenKnown(std::shared_future<MachineCode> code, std::shared_ptr<ScratchFolder> scratch, const std::string &file);
  Finished runWorker(const Job &job, const fs::path &scratch, unsigned requests);

  unsigned sm;
  Bounds bounds;
  Limits limits;
  std::map<std::string, Lowered> known;
  std::mutex lock;
  std::map<std::string, std::shared_future<MachineCode>> vendor; ///< By build key.
  std::vector<std::future<void>> writers;
};

/// nvcc's answer, asked for once a version and beside whatever else goes on.
std::shared_future<MachineCode> EmulatedDevice::vendorCode(const SourceSet &sources, const std::string &key) {
  std::lock_guard hold(lock);
  auto &answer = vendor[key];
  if (!answer.valid()) answer = std::async(std::launch::async, [sources, sm = sm] { return machineCode(sources, sm); }).share();
  return answer;
}

/// Registers a thread by kernel, for a worker that waits for the file; an empty table where there is no answer.
void EmulatedDevice::writeWhenKnown(std::shared_future<MachineCode> code, std::shared_ptr<ScratchFolder> scratch, const std::string &file) {
  auto writer = std::async(std::launch::async, [code, scratch, file] {
    nlohmann::json table = nlohmann::json::object();
    for (const auto &[kernel, resources] : code.get().kernels)
      if (resources.registers) table[kernel] = resources.registers;
    (void)writeFile(scratch->path() / file, table.dump());
  });
  std::lock_guard hold(lock);
  std::erase_if(writers, [](const std::future<void> &one) { return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  writers.push_back(std::move(writer));
}

/// The resources are there once the version has run: ptxas is not waited for before.
Build EmulatedDevice::build(const SourceSet &sources, const Workload &workload) {
  Build build = lowerCached(sources, workload.entry).build;
  std::lock_guard hold(lock);
  auto answer = vendor.find(build.key);
  if (answer == vendor.end() || answer->second.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return build;
  for (const auto &[kernel, r] : answer->second.get().kernels)
    for (auto [what, value] : {std::pair{"registers", r.registers}, {"spill_bytes", r.spillBytes}, {"shared_bytes", r.sharedBytes}, {"stack_bytes", r.stackBytes}})
      build.resources[what] = std::max(build.resources[what], double(value));
  return build;
}

Lowered EmulatedDevice::lowerCached(const SourceSet &sources, const std::string &entry) {
  std::string key = keyOf(sources, entry, sm);
  if (auto found = known.find(key); found != known.end()) return found->second;
  Lowered result;
  result.build.key = key;
  result.folder = cacheFolder() / "emulated" / key;
  std::error_code ignored;
  if (!fs::exists(result.folder / "host.bc", ignored)) { // Written last.
    auto host = std::async(std::launch::async, [&] { return lowered(sources, Side::Host, sm, entry); });
    auto device = lowered(sources, Side::Device, sm, entry);
    auto hostDone = host.get();
    const Error *error = !device ? &device.error() : !hostDone ? &hostDone.error() : nullptr;
    if (!error) {
      fs::create_directories(result.folder, ignored);
      Status first = writeFile(result.folder / "device.bc", *device);
      Status second = first ? writeFile(result.folder / "host.bc", *hostDone) : first;
      if (!second) {
        result.build.reason = Reason::Internal;
        result.build.detail = second.error().message();
      }
    } else {
      result.build.reason = reasonOf(*error, sources);
      result.build.detail = error->message();
    }
  }
  return known[key] = result;
}

Result<Job> EmulatedDevice::prepare(const std::vector<RunRequest> &requests, const fs::path &scratch) {
  Job job;
  job.scratch = scratch.string();
  job.limits = limits;
  std::map<std::pair<const Instance *, uint64_t>, std::vector<JobArgument>> made;
  for (const RunRequest &request : requests) {
    auto &arguments = made[{request.instance, request.seed}];
    if (arguments.empty()) {
      auto inputs = makeInputs(*request.workload, *request.instance, request.seed);
      if (!inputs) return inputs.error();
      for (size_t i = 0; i < request.workload->arguments.size(); ++i) {
        const Argument &argument = request.workload->arguments[i];
        const ArgumentBytes &bytes = inputs->arguments[i];
        JobArgument out;
        out.name = argument.name;
        out.isScalar = argument.kind == ArgumentKind::Scalar;
        out.elementBytes = unsigned(sizeOf(argument.type));
        out.bytes = out.isScalar ? bytes.bytes.size() : bytes.count * out.elementBytes;
        out.alignment = argument.alignment;
        out.offsetBytes = argument.offset * out.elementBytes;
        if (out.isScalar || argument.kind == ArgumentKind::Input || argument.kind == ArgumentKind::InOut) {
          out.blob = "in_" + std::to_string(made.size()) + "_" + std::to_string(i) + ".bin";
          if (Status status = writeFile(scratch / out.blob, bytes.bytes); !status) return status.error();
        }
        arguments.push_back(std::move(out));
      }
    }
    job.requests.push_back({request.profile, request.maxBlocks, arguments});
  }
  return job;
}

RunOutcome failed(Reason reason, std::string detail) {
  RunOutcome outcome;
  outcome.reason = reason;
  outcome.detail = std::move(detail);
  return outcome;
}

RunOutcome deathOf(const Finished &finished, const std::string &phase) {
  std::string said = finished.err.substr(0, 2000);
  if (finished.outOfMemory && (phase == "compile" || phase.empty())) return failed(Reason::Unsupported, "compiling it takes more memory than a worker may have");
  if (phase == "compile" || phase.empty()) {
    if (finished.exitCode == 1 && !finished.signal) return failed(Reason::Unsupported, said);
    return failed(Reason::Internal, "the worker died before it ran anything (signal " + std::to_string(finished.signal) + ", exit " +
                                        std::to_string(finished.exitCode) + "): " + said);
  }
  if (finished.outOfDisk) return failed(Reason::ForbiddenSideEffect, "the run wrote more into its folder than it may, and was ended");
  if (finished.outOfMemory) return failed(Reason::ForbiddenSideEffect, "the run took more memory than it may have, and was ended");
  if (finished.timedOut || finished.signal == SIGXCPU || finished.exitCode == 128 + SIGXCPU)
    return failed(Reason::Hang, "the run was ended after " + std::to_string(int(finished.seconds)) + " s");
  if (finished.signal) return failed(Reason::Crash, std::string("the launcher or kernel ended the process: ") + strsignal(finished.signal));
  if (finished.exitCode > 128) return failed(Reason::Crash, std::string("the launcher or kernel ended the process: ") + strsignal(finished.exitCode - 128));
  if (finished.exitCode == 4) return failed(Reason::Internal, said);
  return failed(Reason::Crash, "the process ended with status " + std::to_string(finished.exitCode) + " in the middle of a run");
}

Finished EmulatedDevice::runWorker(const Job &job, const fs::path &scratch, unsigned requests) {
  uint64_t largest = 0, all = 0;
  for (const JobRequest &request : job.requests) {
    uint64_t bytes = 0;
    for (const JobArgument &argument : request.arguments) bytes += argument.bytes;
    all += bytes;
    largest = std::max(largest, bytes);
  }
  IsolationRequest isolation;
  isolation.scratch = scratch;
  isolation.cpuSeconds = bounds.seconds + bounds.secondsARequest * requests;
  isolation.fileBytes = std::max<uint64_t>(isolation.fileBytes, largest + 1);
  Command command;
  command.argv = isolationPrefix(isolation);
  command.argv.push_back((programFolder() / "klineage-worker").string());
  command.input = toJson(job);
  command.limit = std::chrono::seconds(2 * isolation.cpuSeconds);
  command.watchedFolder = scratch.string();
  command.folderLimit = 2 * all + (uint64_t(64) << 20) + isolation.fileBytes; // inputs and answers of all requests, the modules, and one file of the largest size
  command.memoryLimit = bounds.memory + bounds.memoryAByte * largest;
  auto finished = klineage::run(command);
  if (finished) return *finished;
  Finished never;
  never.exitCode = 4;
  never.err = finished.error().message();
  return never;
}

/// What no emulator sees: a block that has more registers than a multiprocessor.
void checkRegisters(RunOutcome &outcome, const std::vector<Launched> &launched, const MachineCode &code, const Limits &limits) {
  for (const Launched &shape : launched)
    if (auto resources = code.resourcesOf(shape.kernel); resources && outcome.reason == Reason::None)
      if (LaunchRefusal refusal = registerRefusal(shape.kernel, shape.threads, resources->registers, limits); refusal.reason != Reason::None) {
        outcome.reason = refusal.reason;
        outcome.detail = refusal.detail;
      }
}

std::vector<RunOutcome> EmulatedDevice::run(const SourceSet &sources, const std::vector<RunRequest> &requests) {
  if (requests.empty()) return {};
  Lowered code = lowerCached(sources, requests.front().workload->entry);
  if (code.build.reason != Reason::None) return std::vector(requests.size(), failed(code.build.reason, code.build.detail));
  auto shared = std::make_shared<ScratchFolder>(); // the registers may come when nobody waits for them any more
  const ScratchFolder &scratch = *shared;
  auto job = prepare(requests, scratch.path());
  if (!job) return std::vector(requests.size(), failed(Reason::Internal, job.error().message()));
  // Copied, so that the worker need not see the cache.
  for (const char *file : {"device.bc", "host.bc"}) {
    std::error_code error;
    fs::copy_file(code.folder / file, scratch.path() / file, error);
    if (error) return std::vector(requests.size(), failed(Reason::Internal, "cannot copy " + (code.folder / file).string() + ": " + error.message()));
  }
  job->device = (scratch.path() / "device.bc").string();
  job->host = (scratch.path() / "host.bc").string();

  // ptxas works beside the emulator; a profile waits for it, because registers decide how many blocks run at once.
  if (bounds.vendor == AskVendor::Beside) {
    job->registersFile = "registers.json";
    auto answer = vendorCode(sources, code.build.key);
    // The worker's time is the kernel's: what nvcc needs for a library's headers must not look like a hang.
    if (std::all_of(requests.begin(), requests.end(), [](const RunRequest &request) { return request.profile; })) answer.wait();
    writeWhenKnown(answer, shared, job->registersFile);
  }

  std::vector<RunOutcome> outcomes;
  std::vector<std::vector<Launched>> launched;
  while (outcomes.size() < requests.size()) {
    job->firstRequest = unsigned(outcomes.size());
    Finished finished = runWorker(*job, scratch.path(), unsigned(requests.size() - outcomes.size()));
    for (unsigned i = unsigned(outcomes.size()); i < requests.size(); ++i) {
      auto text = readFile(scratch.path() / resultFile(i));
      auto answer = text ? answerFromJson(*text) : Result<JobAnswer>(text.error());
      if (!answer) break;
      for (unsigned a = 0; a < job->requests[i].arguments.size(); ++a) {
        auto bytes = readFile(scratch.path() / outputFile(i, a));
        answer->outcome.outputs.push_back(bytes ? std::move(*bytes) : std::string());
      }
      outcomes.push_back(std::move(answer->outcome));
      launched.push_back(std::move(answer->launched));
    }
    if (outcomes.size() == requests.size()) break;
    auto phase = readFile(scratch.path() / "phase");
    RunOutcome death = deathOf(finished, phase ? *phase : std::string());
    // What takes all its time once would take it again for each request that is left.
    bool last = !phase || *phase == "compile" || death.reason == Reason::Hang || death.reason == Reason::ForbiddenSideEffect;
    do
      outcomes.push_back(death);
    while (last && outcomes.size() < requests.size());
    launched.resize(outcomes.size());
  }
  // A version that is wrong anyway is not kept waiting.
  if (bounds.vendor != AskVendor::Never && std::all_of(outcomes.begin(), outcomes.end(), [](const RunOutcome &outcome) { return outcome.reason == Reason::None; }))
    for (size_t i = 0; i < outcomes.size(); ++i) checkRegisters(outcomes[i], launched[i], vendorCode(sources, code.build.key).get(), limits);
  return outcomes;
}

} // namespace

std::unique_ptr<Device> makeEmulatedDevice(unsigned sm) { return makeEmulatedDevice(sm, Bounds{}); }
std::unique_ptr<Device> makeEmulatedDevice(unsigned sm, const Bounds &bounds) { return std::make_unique<EmulatedDevice>(sm, bounds); }

} // namespace klineage
