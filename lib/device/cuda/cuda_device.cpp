// CudaDevice: the parent's side of a GPU. Builds in this process; everything that runs is in an isolated klineage-cuda-worker.
#include "device/cuda/build.h"
#include "device/cuda/job.h"
#include "device/cuda/metrics.h"
#include "device/cuda/worker_run.h"
#include "support/files.h"
#include <fstream>
#include <future>

namespace klineage {
namespace {

using namespace cuda;
namespace fs = std::filesystem;

/// Of one call on a check instance, and of one on a profile instance.
constexpr double checkSeconds = 20, profileSeconds = 30;

RunOutcome failed(Reason reason, std::string detail) {
  RunOutcome outcome;
  outcome.reason = reason;
  outcome.detail = std::move(detail);
  return outcome;
}

PairOutcome failedPair(Reason reason, std::string detail) {
  PairOutcome outcome;
  outcome.reason = reason;
  outcome.detail = std::move(detail);
  return outcome;
}

Reason reasonFrom(const std::string &name) { return reasonNamed(name).value_or(Reason::Internal); }

/// All that the values of an instance depend on. The workload's own hash is of its file, and probes change workloads in memory.
std::string valuesKey(const Workload &workload, const Instance &instance, uint64_t seed) {
  std::string key = workload.hash + "/" + workload.name + "/" + std::to_string(seed);
  auto add = [&](const std::string &text) { key += "|" + text; };
  for (const auto &[axis, value] : instance.axes) add(axis + "=" + std::to_string(value));
  for (const auto &argument : workload.arguments) {
    const Fill &fill = workload.fillOf(argument, instance);
    add(argument.name + " " + std::to_string(int(argument.kind)) + name(argument.type) + " " + argument.value + " " + fill.kind + std::to_string(fill.low) + "," +
        std::to_string(fill.high) + " " + std::to_string(argument.alignment) + "+" + std::to_string(argument.offset));
    for (const auto &extent : argument.shape) add(extent);
  }
  return key;
}

class CudaDevice : public Device {
public:
  CudaDevice(unsigned index, DeviceFacts facts) : index(index), facts(std::move(facts)) { fs::permissions(inputs.path(), fs::perms(0755)); }
  std::string id() const override { return "cuda:" + std::to_string(index) + " " + facts.name + " driver " + facts.driver; }
  bool measured() const override { return true; }
  unsigned architecture() const override { return facts.sm; }
  std::string revision() const override { return programRevision(); }
  Build build(const SourceSet &sources, const Workload &workload) override { return buildVersion(sources, workload.entry, facts.architecture()).build; }
  std::vector<RunOutcome> run(const SourceSet &sources, const std::vector<RunRequest> &requests) override;
  PairOutcome timePair(const SourceSet &baseline, const SourceSet &candidate, const PairRequest &request) override;

private:
  Result<std::vector<TaskArgument>> argumentsOf(const Workload &workload, const Instance &instance, uint64_t seed);
  Result<std::string> blob(const Workload &workload, const Instance &instance, uint64_t seed, size_t argument, const std::string &bytes);
  RunOutcome timeAlone(const SourceSet &sources, const RunRequest &request);
  void count(const fs::path &scratch, const std::vector<std::string> &libraries, const std::vector<TaskArgument> &arguments, PairOutcome &outcome,
             const PairRequest &request);

  unsigned index;
  DeviceFacts facts;
  ScratchFolder inputs; ///< Made once: large instances take seconds to fill.
  std::mutex lock;
  std::map<std::string, std::vector<TaskArgument>> made; ///< By workload, instance and seed.
  std::string madeFor;                                   ///< The workload they are of; those of another are given up.
};

Result<std::vector<TaskArgument>> CudaDevice::argumentsOf(const Workload &workload, const Instance &instance, uint64_t seed) {
  std::lock_guard<std::mutex> hold(lock);
  const std::string &kernel = workload.name;
  if (madeFor != kernel) {
    for (const auto &entry : fs::directory_iterator(inputs.path())) {
      std::error_code ignored;
      fs::remove(entry.path(), ignored);
    }
    made.clear();
    madeFor = kernel;
  }
  std::string key = valuesKey(workload, instance, seed);
  if (auto found = made.find(key); found != made.end()) return found->second;
  auto values = makeInputs(workload, instance, seed);
  if (!values) return values.error();
  std::vector<TaskArgument> arguments;
  for (size_t i = 0; i < workload.arguments.size(); ++i) {
    const Argument &argument = workload.arguments[i];
    const ArgumentBytes &bytes = values->arguments[i];
    TaskArgument out;
    out.name = argument.name;
    out.isScalar = argument.kind == ArgumentKind::Scalar;
    out.isResult = argument.kind == ArgumentKind::Output || argument.kind == ArgumentKind::InOut;
    out.bytes = out.isScalar ? bytes.bytes.size() : bytes.count * sizeOf(argument.type);
    out.alignment = argument.alignment;
    out.offsetBytes = uint32_t(argument.offset * sizeOf(argument.type));
    if (out.isScalar || argument.kind == ArgumentKind::Input || argument.kind == ArgumentKind::InOut) {
      fs::path file = inputs.path() / (std::to_string(made.size()) + "_" + std::to_string(i) + ".bin");
      std::ofstream stream(file, std::ios::binary);
      stream.write(bytes.bytes.data(), std::streamsize(bytes.bytes.size()));
      if (!stream.flush()) return userError("cannot write inputs", file.string(), "free some space there, or name another folder in TMPDIR");
      out.blob = file.string();
    }
    arguments.push_back(std::move(out));
  }
  return made[key] = arguments;
}

/// A copy that the worker may read and that its loader takes for a library of its own.
Status place(const fs::path &library, const fs::path &scratch, const std::string &name, Job &job) {
  std::error_code error;
  fs::copy_file(library, scratch / name, error);
  if (error) return ourFault("cannot copy " + library.string() + ": " + error.message());
  job.libraries.push_back((scratch / name).string());
  return Done{};
}

std::vector<RunOutcome> CudaDevice::run(const SourceSet &sources, const std::vector<RunRequest> &requests) {
  if (requests.empty()) return {};
  std::vector<RunOutcome> outcomes;
  Built built = buildVersion(sources, requests.front().workload->entry, facts.architecture());
  if (built.build.reason != Reason::None) return std::vector(requests.size(), failed(built.build.reason, built.build.detail));
  ScratchFolder scratch;
  Job job;
  job.scratch = scratch.path().string();
  if (auto placed = place(built.library, scratch.path(), "version.so", job); !placed)
    return std::vector(requests.size(), failed(Reason::Internal, placed.error().message()));
  for (const auto &request : requests) {
    if (request.profile) continue; // timed below, in a process of its own
    auto arguments = argumentsOf(*request.workload, *request.instance, request.seed);
    if (!arguments) return std::vector(requests.size(), failed(Reason::Internal, arguments.error().message()));
    Task task;
    task.kind = "check";
    task.libraries = {0};
    task.arguments = *arguments;
    task.secondsAtMost = checkSeconds;
    job.tasks.push_back(std::move(task));
  }
  auto answers = performJob(job, {.index = index, .facts = facts, .readable = inputs.path()});
  unsigned next = 0;
  for (const auto &request : requests) {
    if (request.profile) {
      outcomes.push_back(timeAlone(sources, request));
      continue;
    }
    const Answer &answer = answers[next];
    RunOutcome outcome = failed(reasonFrom(answer.reason), answer.detail);
    for (unsigned a = 0; a < job.tasks[next].arguments.size(); ++a) {
      auto bytes = readFile(scratch.path() / outputFile(next, a));
      outcome.outputs.push_back(bytes ? std::move(*bytes) : std::string());
    }
    outcomes.push_back(std::move(outcome));
    ++next;
  }
  return outcomes;
}

RunOutcome CudaDevice::timeAlone(const SourceSet &sources, const RunRequest &request) {
  PairRequest pair;
  pair.workload = request.workload;
  pair.instance = request.instance;
  pair.seed = request.seed;
  pair.self = pair.baselineCounters = false;
  PairOutcome timed = timePair(sources, sources, pair);
  RunOutcome outcome = failed(timed.reason, timed.detail);
  outcome.counters = timed.candidateCounters;
  if (!timed.pairs.empty()) outcome.seconds = samplesOf(timed.pairs.front(), true);
  return outcome;
}

PairOutcome CudaDevice::timePair(const SourceSet &baseline, const SourceSet &candidate, const PairRequest &request) {
  const Workload &workload = *request.workload;
  // Both at once: nvcc uses one core.
  auto other = std::async(std::launch::async, [&] { return buildVersion(baseline, workload.entry, facts.architecture()); });
  Built mine = buildVersion(candidate, workload.entry, facts.architecture());
  Built theirs = other.get();
  if (theirs.build.reason != Reason::None) return failedPair(Reason::NoSamples, "the baseline does not build: " + theirs.build.detail);
  if (mine.build.reason != Reason::None) return failedPair(mine.build.reason, mine.build.detail);
  auto arguments = argumentsOf(workload, *request.instance, request.seed), fresh = argumentsOf(workload, *request.instance, request.seed + 1);
  if (!arguments || !fresh) return failedPair(Reason::Internal, (arguments ? fresh : arguments).error().message());
  for (size_t i = 0; i < arguments->size(); ++i) (*arguments)[i].fresh = (*fresh)[i].blob;

  ScratchFolder scratch;
  Job job;
  job.scratch = scratch.path().string();
  for (auto [built, name] : {std::pair{&theirs, "baseline.so"}, {&theirs, "copy.so"}, {&mine, "candidate.so"}})
    if (auto placed = place(built->library, scratch.path(), name, job); !placed) return failedPair(Reason::Internal, placed.error().message());
  Task task;
  task.kind = "pair";
  if (request.self) task.libraries = {0, 1, 2};
  else task.libraries = {0, 2};
  task.arguments = *arguments;
  task.secondsAtMost = profileSeconds;
  task.repeats = request.repeats;
  job.tasks.push_back(task);
  Answer answer = performJob(job, {.index = index, .facts = facts, .readable = inputs.path()}).front();

  PairOutcome outcome = failedPair(reasonFrom(answer.reason), answer.detail);
  outcome.self = blocksOf(answer.self);
  for (const auto &timing : answer.pairs) {
    outcome.pairs.push_back(blocksOf(timing));
    outcome.stoppedBy = timing.stoppedBy;
  }
  outcome.notes = answer.notes;
  Counters clocks(answer.clocks.begin(), answer.clocks.end());
  clocks["inner_repeats"] = answer.innerRepeats;
  clocks["kernels_a_call"] = answer.kernelsACall;
  clocks["gap_seconds"] = answer.gapSeconds;
  outcome.baselineCounters = outcome.candidateCounters = clocks;
  if (outcome.reason != Reason::None) return outcome;
  if (!answer.freshEqual)
    for (unsigned a = 0; a < task.arguments.size(); ++a)
      for (auto [side, into] : {std::pair{"a_", &outcome.baselineFresh}, {"b_", &outcome.candidateFresh}}) {
        auto bytes = readFile(scratch.path() / outputFile(0, a, side));
        into->push_back(bytes ? std::move(*bytes) : std::string());
      }
  count(scratch.path(), job.libraries, *arguments, outcome, request);
  return outcome;
}

/// Counters in a process of their own: CUPTI does not give them beside activity records, and what goes wrong there leaves the times alone.
void CudaDevice::count(const fs::path &scratch, const std::vector<std::string> &libraries, const std::vector<TaskArgument> &arguments, PairOutcome &outcome,
                       const PairRequest &request) {
  if (!request.baselineCounters && !request.candidateCounters) return;
  Job job;
  job.scratch = scratch.string();
  job.libraries = libraries;
  job.metrics = wantedMetrics();
  std::vector<Counters *> into;
  for (auto [wanted, library, counters] : {std::tuple{request.baselineCounters, 0u, &outcome.baselineCounters}, {request.candidateCounters, 2u, &outcome.candidateCounters}}) {
    if (!wanted) continue;
    Task task;
    task.kind = "count";
    task.libraries = {library};
    task.arguments = arguments;
    task.secondsAtMost = profileSeconds;
    job.tasks.push_back(task);
    into.push_back(counters);
  }
  clearAnswers(scratch);
  auto answers = performJob(job, {.index = index, .facts = facts, .readable = inputs.path()});
  for (size_t i = 0; i < answers.size(); ++i) {
    const Answer &answer = answers[i];
    if (answer.reason != "none" || !answer.countersUnavailable.empty()) {
      outcome.countersUnavailable = answer.countersUnavailable.empty() ? answer.reason + ": " + answer.detail : answer.countersUnavailable;
      continue;
    }
    for (const auto &[name, value] : countersFrom(answer.counters)) (*into[i])[name] = value;
    (*into[i])["counter_passes"] = answer.counters.count("counter_passes") ? answer.counters.at("counter_passes") : 0;
  }
}

} // namespace

std::string cuptiLibrary() { return findCupti(); }

Result<std::unique_ptr<Device>> makeCudaDevice(unsigned index) {
  auto facts = describeDevice(index);
  if (!facts) return facts.error();
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(index, std::move(*facts)));
}

} // namespace klineage
