// EmulatedDevice: the parent's side of the embedded device. Compiles and lowers in this process, and leaves code generation and
// everything that runs to an isolated worker.
#include "device/device.h"
#include "device/emulated/job.h"
#include "device/emulated/lowering.h"
#include "device/isolation.h"
#include "source/unit.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/subprocess.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include <csignal>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>

namespace klineage {
namespace {

using namespace emulated;
namespace fs = std::filesystem;

/// Lowered modules age with the program that lowers and runs them: another build never sees them. Nobody has to remember a number.
const std::string &workerHash() {
  static const std::string hash = [] {
    auto program = readFile(programFolder() / "klineage-worker");
    return program ? sha256(*program) : std::string("no worker");
  }();
  return hash;
}

struct Lowered {
  Build build;
  fs::path folder; ///< Holds device.bc and host.bc when build.reason is None.
};

/// A user's error without a place in the sources is one of this machine (a cache that cannot be written, say), not of the version: it is no verdict.
Reason reasonOf(const Error &error) {
  if (error.fault == klineage::Fault::Refusal) return Reason::Unsupported;
  return error.fault == klineage::Fault::User && error.where.find(':') != std::string::npos ? Reason::CompileError : Reason::Internal;
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
  hasher.add("worker", workerHash()).add("entry", entry).add("sm", std::to_string(sm)).add("main", sources.mainFile);
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
  explicit EmulatedDevice(unsigned sm) : sm(sm) { limits.sm = sm; }
  std::string id() const override { return "emulated sm_" + std::to_string(sm); }
  bool measured() const override { return false; }
  std::string revision() const override { return workerHash(); }
  Build build(const SourceSet &sources, const Workload &workload) override { return lowerCached(sources, workload.entry).build; }
  std::vector<RunOutcome> run(const SourceSet &sources, const std::vector<RunRequest> &requests) override;

private:
  Lowered lowerCached(const SourceSet &sources, const std::string &entry);
  Result<Job> prepare(const std::vector<RunRequest> &requests, const fs::path &scratch);

  unsigned sm;
  Limits limits;
  std::map<std::string, Lowered> known;
};

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
      result.build.reason = reasonOf(*error);
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
  if (phase == "compile" || phase.empty()) {
    if (finished.exitCode == 1 && !finished.signal) return failed(Reason::Unsupported, said);
    return failed(Reason::Internal, "the worker died before it ran anything (signal " + std::to_string(finished.signal) + ", exit " +
                                        std::to_string(finished.exitCode) + "): " + said);
  }
  if (finished.timedOut) return failed(Reason::Hang, "the run was ended after " + std::to_string(int(finished.seconds)) + " s");
  if (finished.signal) return failed(Reason::Crash, std::string("the launcher or kernel ended the process: ") + strsignal(finished.signal));
  if (finished.exitCode > 128) return failed(Reason::Crash, std::string("the launcher or kernel ended the process: ") + strsignal(finished.exitCode - 128));
  if (finished.exitCode == 4) return failed(Reason::Internal, said);
  return failed(Reason::Crash, "the process ended with status " + std::to_string(finished.exitCode) + " in the middle of a run");
}

std::vector<RunOutcome> EmulatedDevice::run(const SourceSet &sources, const std::vector<RunRequest> &requests) {
  if (requests.empty()) return {};
  Lowered code = lowerCached(sources, requests.front().workload->entry);
  if (code.build.reason != Reason::None) return std::vector(requests.size(), failed(code.build.reason, code.build.detail));
  ScratchFolder scratch;
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

  std::vector<RunOutcome> outcomes;
  while (outcomes.size() < requests.size()) {
    job->firstRequest = unsigned(outcomes.size());
    IsolationRequest isolation;
    isolation.scratch = scratch.path();
    Command command;
    command.argv = isolationPrefix(isolation);
    command.argv.push_back((programFolder() / "klineage-worker").string());
    command.input = toJson(*job);
    command.limit = std::chrono::seconds(60 + 10 * int(requests.size() - outcomes.size()));
    auto finished = klineage::run(command);
    if (!finished) return std::vector(requests.size(), failed(Reason::Internal, finished.error().message()));
    for (unsigned i = unsigned(outcomes.size()); i < requests.size(); ++i) {
      auto text = readFile(scratch.path() / resultFile(i));
      auto outcome = text ? outcomeFromJson(*text) : Result<RunOutcome>(text.error());
      if (!outcome) break;
      for (unsigned a = 0; a < job->requests[i].arguments.size(); ++a) {
        auto bytes = readFile(scratch.path() / outputFile(i, a));
        outcome->outputs.push_back(bytes ? std::move(*bytes) : std::string());
      }
      outcomes.push_back(std::move(*outcome));
    }
    if (outcomes.size() == requests.size()) break;
    auto phase = readFile(scratch.path() / "phase");
    RunOutcome death = deathOf(*finished, phase ? *phase : std::string());
    bool diedEarly = !phase || *phase == "compile";
    do
      outcomes.push_back(death);
    while (diedEarly && outcomes.size() < requests.size());
  }
  return outcomes;
}

} // namespace

std::unique_ptr<Device> makeEmulatedDevice(unsigned sm) { return std::make_unique<EmulatedDevice>(sm); }

} // namespace klineage
