// The worker process: compiles the lowered modules, then runs each request on fresh machines, a check in two opposite orders of threads
// and blocks. It may die at any moment of what it runs; all it promises is that answers on disk are whole.
#include "device/emulated/host_calls.h"
#include "device/emulated/jit.h"
#include "device/emulated/job.h"
#include "support/files.h"
#include <cstring>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

namespace klineage::emulated {
namespace {

uint64_t digestOf(uint64_t digest, const std::string &bytes) { // FNV-1a by 8 bytes; only for comparing runs.
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    digest = (digest ^ word) * 0x100000001b3ull;
    digest ^= digest >> 29;
  }
  for (; i < bytes.size(); ++i)
    digest = (digest ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ull;
  return digest;
}

class Worker {
public:
  Worker(Job job, Jit &jit) : job(std::move(job)), jit(jit) {
    state.module = jit.module;
    state.limits = this->job.limits;
    state.registers = [this]() -> const std::map<std::string, double> & { return registers(); };
    for (const HostSymbol *symbol = jit.hostSymbols; symbol->deviceName; ++symbol) {
      if (symbol->isKernel) {
        for (uint32_t i = 0; i < jit.module->kernelCount; ++i)
          if (!std::strcmp(jit.module->kernels[i].name, symbol->deviceName)) state.kernels.push_back({symbol->hostAddress, &jit.module->kernels[i]});
      } else {
        for (uint32_t i = 0; i < jit.module->globalCount; ++i)
          if (!std::strcmp(jit.module->globals[i].name, symbol->deviceName)) state.variables.push_back({symbol->hostAddress, &jit.module->globals[i]});
      }
    }
  }

  RunOutcome answer(const JobRequest &request) {
    launched.clear();
    if (request.profile) return once(request, false, false);
    RunOutcome forward = once(request, false, true);
    if (forward.reason != Reason::None) return forward;
    RunOutcome backward = once(request, true, true);
    if (backward.reason != Reason::None) return backward;
    if (forward.outputDigest != backward.outputDigest) forward.counters["order_dependent_outputs"] = 1;
    return forward;
  }

  std::vector<Launched> launched; ///< By the last request.

private:
  /// Waits until the parent has written them.
  const std::map<std::string, double> &registers() {
    if (known || job.registersFile.empty()) return known ? *known : known.emplace();
    const std::filesystem::path file = std::filesystem::path(job.scratch) / job.registersFile;
    while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto text = readFile(file);
    auto table = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    return known.emplace(table.is_object() ? table.get<std::map<std::string, double>>() : std::map<std::string, double>());
  }

  RunOutcome once(const JobRequest &request, bool reverse, bool check) {
    MachineOptions options;
    options.check = check;
    options.count = request.profile;
    options.reverse = reverse;
    options.workers = job.workers;
    options.maxBlocks = request.maxBlocks;
    options.limits = job.limits;
    // A check does not ask: its verdict must not depend on when ptxas answers, and the parent looks at the launches afterwards.
    if (request.profile) options.registers = registers();
    std::unique_ptr<Machine> machine = makeMachine(options);
    machine->addModule(*jit.module);
    state.machine = machine.get();
    state.lastError = 0;
    state.owned.clear();
    useHostState(&state);

    RunOutcome outcome;
    std::vector<std::string> scalars(request.arguments.size());
    std::vector<void *> values(std::max<size_t>(jit.hostParameters, request.arguments.size()));
    std::vector<void *> addresses(values.size());
    for (size_t i = 0; i < request.arguments.size(); ++i) {
      const JobArgument &argument = request.arguments[i];
      std::string bytes;
      if (!argument.blob.empty()) {
        auto read = readFile(std::filesystem::path(job.scratch) / argument.blob);
        if (!read) return failure(Reason::Internal, read.error().message());
        bytes = std::move(*read);
      }
      if (argument.isScalar) {
        bytes.resize(std::max<size_t>(bytes.size(), 16)); // Read at the width of the launcher's parameter.
        scalars[i] = std::move(bytes);
        addresses[i] = scalars[i].data();
        continue;
      }
      void *buffer = machine->allocate(argument.bytes, argument.alignment, argument.offsetBytes, argument.name);
      if (!buffer) return failure(Reason::Internal, "no memory for argument '" + argument.name + "'");
      if (argument.blob.empty())
        for (size_t at = 0; at < argument.bytes; ++at)
          static_cast<unsigned char *>(buffer)[at] = poison[at & 1];
      else
        std::memcpy(buffer, bytes.data(), std::min(bytes.size(), argument.bytes));
      values[i] = buffer;
      addresses[i] = &values[i];
    }
    if (jit.hostParameters > request.arguments.size() + 1 || jit.hostParameters < request.arguments.size())
      return failure(Reason::LaunchError, "the launcher takes " + std::to_string(jit.hostParameters) + " parameters and the workload names " +
                                              std::to_string(request.arguments.size()) + " arguments (a stream may follow them)");
    for (size_t i = request.arguments.size(); i < addresses.size(); ++i)
      addresses[i] = &values[i]; // The default stream.

    int status = jit.hostCall(addresses.data());
    launched = machine->launched();
    finish(outcome, *machine, status);
    uint64_t digest = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < request.arguments.size(); ++i) {
      const JobArgument &argument = request.arguments[i];
      outcome.outputs.push_back(argument.isScalar ? std::string() : std::string(static_cast<char *>(values[i]), argument.bytes));
      digest = digestOf(digest, outcome.outputs.back());
    }
    outcome.outputDigest = digest;
    outcome.counters = machine->counters();
    if (request.profile) outcome.seconds = {machine->modelledSeconds()};
    return outcome;
  }

  void finish(RunOutcome &outcome, Machine &machine, int status) {
    if (machine.fault().reason != Reason::None) {
      outcome.reason = machine.fault().reason;
      outcome.detail = machine.fault().detail;
    } else if (auto damaged = machine.damagedGuards(); !damaged.empty()) {
      outcome.reason = Reason::OutOfBounds;
      outcome.detail = "the guard zone of '" + damaged.front() + "' was overwritten";
    } else if (status || state.lastError) {
      outcome.reason = Reason::LaunchError;
      outcome.detail = "the launcher answered CUDA error " + std::to_string(status ? status : state.lastError);
    } else if (machine.launchCount() == 0) {
      outcome.reason = Reason::NoDeviceKernel;
      outcome.detail = "the launcher launched no kernel";
    }
  }

  static RunOutcome failure(Reason reason, std::string detail) {
    RunOutcome outcome;
    outcome.reason = reason;
    outcome.detail = std::move(detail);
    return outcome;
  }

  Job job;
  Jit &jit;
  HostState state;
  std::optional<std::map<std::string, double>> known; ///< Registers by kernel.
};

bool saysPhase(const Job &job, const std::string &phase) {
  return bool(writeFile(std::filesystem::path(job.scratch) / "phase", phase));
}

} // namespace

int workerMain() {
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  auto job = jobFromJson(text);
  if (!job) {
    std::cerr << job.error().message() << '\n';
    return 4;
  }
  saysPhase(*job, "compile");
  auto jit = Jit::load(job->device, job->host);
  if (!jit) {
    std::cerr << jit.error().message() << '\n';
    return jit.error().fault == klineage::Fault::Refusal ? 1 : 4;
  }
  Worker worker(*job, **jit);
  for (unsigned i = job->firstRequest; i < job->requests.size(); ++i) {
    saysPhase(*job, std::to_string(i));
    RunOutcome outcome = worker.answer(job->requests[i]);
    for (unsigned a = 0; a < outcome.outputs.size(); ++a)
      if (!outcome.outputs[a].empty())
        if (Status status = writeFile(std::filesystem::path(job->scratch) / outputFile(i, a), outcome.outputs[a]); !status) {
          std::cerr << status.error().message() << '\n';
          return 4;
        }
    if (Status status = writeFile(std::filesystem::path(job->scratch) / resultFile(i), toJson(JobAnswer{outcome, worker.launched})); !status) return 4;
  }
  // Nothing that the candidate registered may run any more.
  std::_Exit(0);
}

} // namespace klineage::emulated
