#include "gate/correctness.h"
#include "device/isolation.h"
#include "gate/launcher.h"
#include "source/unit.h"
#include "support/hash.h"
#include "clang/Basic/Version.h"
#include <future>
#include <thread>

namespace klineage {
namespace {

void answer(RunRecord &record, Reason reason, std::string detail, std::string instance = {}) {
  record.outcome = reason == Reason::None ? Outcome::Accepted : isUndecided(reason) ? Outcome::Undecided : Outcome::Refused;
  record.reason = reason;
  record.detail = std::move(detail);
  record.instance = std::move(instance);
}

struct Call {
  const Instance *instance;
  uint64_t seed;
  bool repeat;
  std::shared_ptr<const Case> data;
};

/// The device's own orders of threads gave different bits (docs/counters.md, order_dependent_outputs), or it says so as a reason.
bool dependsOnOrder(const RunOutcome &outcome) {
  auto counter = outcome.counters.find("order_dependent_outputs");
  return outcome.reason == Reason::Nondeterministic || (counter != outcome.counters.end() && counter->second > 0);
}

bool isResult(const Argument &argument) { return argument.kind == ArgumentKind::Output || argument.kind == ArgumentKind::InOut; }

/// Repeating one instance shows state that is kept between calls; a measured device, whose order of threads is its own, repeats all.
std::vector<Call> plan(const Device &device, const std::vector<const Instance *> &instances, unsigned seeds) {
  std::vector<Call> calls;
  for (const Instance *instance : instances) {
    for (unsigned s = 0; s < seeds; ++s) calls.push_back({instance, instance->seed + s, false, nullptr});
    if (instance == instances.front() || device.measured()) calls.push_back({instance, instance->seed, true, nullptr});
  }
  return calls;
}

/// Cases for all calls, and the controls. False when the record already has its answer.
bool prepare(RunRecord &record, const Workload &workload, Oracle &oracle, std::vector<Call> &calls) {
  for (Call &call : calls) {
    auto data = oracle.caseOf(*call.instance, call.seed);
    auto other = data ? oracle.caseOf(*call.instance, call.seed == call.instance->seed ? call.seed + 1 : call.instance->seed) : data;
    if (!data || !other) {
      const Error &error = data ? other.error() : data.error();
      answer(record, error.fault == Fault::Ours ? Reason::Internal : Reason::NoReference, error.message(), call.instance->name);
      return false;
    }
    call.data = *data;
    if (call.repeat) continue;
    std::string control = passingControl(workload, *call.instance, call.data->inputs, call.data->expected, (*other)->expected);
    if (control.empty()) continue;
    answer(record, Reason::UnfitCase,
           "the control '" + control + "' would pass on instance " + call.instance->name + ", seed " + std::to_string(call.seed) +
               ": choose sizes or data on which it does not",
           call.instance->name);
    return false;
  }
  return true;
}

/// Input buffers that no longer hold what they were given; empty when all do.
std::string changedInput(const Workload &workload, const Case &data, const RunOutcome &outcome) {
  for (size_t a = 0; a < workload.arguments.size(); ++a) {
    const Argument &argument = workload.arguments[a];
    if (argument.kind != ArgumentKind::Input) continue;
    const std::string &before = data.inputs.arguments[a].bytes, &after = outcome.outputs[a];
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i] != after[i]) return argument.name + "[" + std::to_string(i / sizeOf(argument.type)) + "] is an input and was written";
  }
  return {};
}

/// Buffers that the device did not give back whole: without them nothing can be said.
std::string missingBuffer(const Workload &workload, const Case &data, const RunOutcome &outcome) {
  for (size_t a = 0; a < workload.arguments.size(); ++a) {
    const Argument &argument = workload.arguments[a];
    if (argument.kind == ArgumentKind::Scalar || argument.kind == ArgumentKind::Scratch) continue;
    size_t bytes = data.inputs.arguments[a].count * sizeOf(argument.type);
    if (a >= outcome.outputs.size() || outcome.outputs[a].size() != bytes) return "the device gave back no whole buffer " + argument.name;
  }
  return {};
}

bool sameOutputs(const Workload &workload, const RunOutcome &one, const RunOutcome &other) {
  for (size_t a = 0; a < workload.arguments.size(); ++a)
    if (isResult(workload.arguments[a]) && (a >= other.outputs.size() || one.outputs[a] != other.outputs[a])) return false;
  return true;
}

InstanceResult judgeCall(const Workload &workload, const Call &call, const RunOutcome &outcome) {
  InstanceResult result{call.instance->name, call.seed, call.repeat, outcome.reason, outcome.detail, 0, 0};
  // Orders of threads that differ bitwise are no fault by themselves: the values decide.
  if (outcome.reason != Reason::None && outcome.reason != Reason::Nondeterministic) return result;
  result.reason = Reason::None;
  if (auto missing = missingBuffer(workload, *call.data, outcome); !missing.empty()) {
    result.reason = Reason::Internal;
    result.detail = missing;
    return result;
  }
  for (size_t a = 0; a < workload.arguments.size(); ++a) {
    const Argument &argument = workload.arguments[a];
    if (!isResult(argument)) continue;
    auto compared = compareOutput(argument, outcome.outputs[a], call.data->expected[a], boundsOf(workload, argument, *call.instance));
    result.worstError = std::max(result.worstError, compared.worst);
    result.normError = std::max(result.normError, compared.norm);
    if (compared.reason != Reason::None && result.reason == Reason::None) {
      result.reason = compared.reason;
      result.detail = compared.detail;
    }
  }
  // A changed input explains a wrong value, so it is the reason that is told.
  if (auto changed = changedInput(workload, *call.data, outcome); !changed.empty()) {
    result.reason = Reason::InputModified;
    result.detail = changed;
  }
  if (result.reason == Reason::WrongValue && outcome.reason == Reason::Nondeterministic) {
    result.reason = Reason::Nondeterministic; // the device saw a right and a wrong order
    result.detail = outcome.detail + "; " + result.detail;
  }
  return result;
}

/// Judges all calls in order; the first failure is the version's.
void judgeCalls(RunRecord &record, const Workload &workload, const std::vector<Call> &calls, const std::vector<RunOutcome> &outcomes) {
  for (size_t c = 0; c < calls.size(); ++c) {
    const Call &call = calls[c];
    InstanceResult result = judgeCall(workload, call, outcomes[c]);
    const RunOutcome *before = c > 0 && calls[c - 1].instance == call.instance ? &outcomes[c - 1] : nullptr;
    bool whole = missingBuffer(workload, *call.data, outcomes[c]).empty();
    if (result.reason == Reason::WrongValue && whole && before && sameOutputs(workload, outcomes[c], *before)) {
      result.detail += "; it gave the last output again";
    } else if (call.repeat && whole) {
      for (size_t first = 0; first < c; ++first) {
        if (calls[first].instance != call.instance || calls[first].seed != call.seed) continue;
        if (sameOutputs(workload, outcomes[c], outcomes[first])) break;
        record.nondeterministic = true;
        if (result.reason == Reason::WrongValue && record.instances[first].reason == Reason::None) {
          result.reason = Reason::Nondeterministic;
          result.detail = "right the first time, wrong when asked again: " + result.detail;
        }
        break;
      }
    }
    record.nondeterministic |= dependsOnOrder(outcomes[c]);
    record.worstError = std::max(record.worstError, result.worstError);
    if (result.reason != Reason::None && record.reason == Reason::None)
      answer(record, result.reason,
             "instance " + call.instance->name + ", seed " + std::to_string(call.seed) + (call.repeat ? ", asked again" : "") + ": " + result.detail,
             call.instance->name);
    record.instances.push_back(std::move(result));
  }
}

/// Below this many requests a second worker costs more than it brings.
constexpr size_t manyRequests = 8;

/// All requests, in two workers at once where the times are modelled and two cores exist: small instances keep one core busy. The calls
/// of one instance stay together and in order, so that what a version keeps between them still shows.
std::vector<RunOutcome> runShared(Device &device, const SourceSet &sources, const std::vector<RunRequest> &requests, const std::vector<Call> &calls) {
  if (device.measured() || requests.size() < manyRequests || std::thread::hardware_concurrency() < 2) return device.run(sources, requests);
  size_t cut = requests.size() * 11 / 20; // the profile, at the end, weighs more than a check
  while (cut < calls.size() && calls[cut].instance == calls[cut - 1].instance) ++cut;
  if (cut >= requests.size()) return device.run(sources, requests);
  std::vector<RunRequest> first(requests.begin(), requests.begin() + cut), second(requests.begin() + cut, requests.end());
  auto other = std::async(std::launch::async, [&] { return device.run(sources, second); });
  auto outcomes = device.run(sources, first);
  auto rest = other.get();
  if (outcomes.size() != first.size()) return outcomes; // the caller sees that some are missing
  outcomes.insert(outcomes.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return outcomes;
}

} // namespace

bool isUndecided(Reason reason) {
  switch (reason) {
  case Reason::NoSamples:
  case Reason::Throttled:
  case Reason::CountersUnavailable:
  case Reason::Unsupported:
  case Reason::UnfitCase:
  case Reason::NoReference:
  case Reason::Internal: return true;
  default: return false;
  }
}

std::string questionHash(const Workload &workload) {
  Hasher hasher;
  auto addNumber = [&](std::string_view what, double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    hasher.add(what, text);
  };
  auto addFill = [&](const Fill &fill) {
    hasher.add("fill", fill.kind);
    addNumber("low", fill.low);
    addNumber("high", fill.high);
  };
  auto addTolerance = [&](const Tolerance &tolerance) {
    addNumber("relative", tolerance.relative);
    addNumber("norm", tolerance.norm);
    hasher.add("exact", tolerance.exact ? "1" : "0");
  };
  hasher.add("workload", workload.hash).add("name", workload.name).add("entry", workload.entry);
  addTolerance(workload.tolerance);
  for (const auto &argument : workload.arguments) {
    hasher.add("argument", argument.name).add("type", name(argument.type)).add("value", argument.value);
    for (const auto &extent : argument.shape) hasher.add("extent", extent);
    addFill(argument.fill);
    addNumber("kind", int(argument.kind));
    addNumber("alignment", argument.alignment);
    addNumber("offset", argument.offset);
    addNumber("alias", argument.mayAlias);
  }
  for (const auto &instance : workload.instances) {
    hasher.add("instance", instance.name);
    for (const auto &[axis, value] : instance.axes) hasher.add(axis, std::to_string(value));
    for (const auto &[argument, fill] : instance.fills) {
      hasher.add("of", argument);
      addFill(fill);
    }
    for (const auto &device : instance.devices) hasher.add("device", device);
    if (instance.tolerance) addTolerance(*instance.tolerance);
    addNumber("sample", instance.sampleBlocks);
    hasher.add("seed", std::to_string(instance.seed)).add("role", instance.check ? (instance.profile ? "both" : "check") : "profile");
  }
  return hasher.hex();
}

std::vector<const Instance *> instancesFor(const Device &device, const Workload &workload, bool Instance::*role) {
  std::string id = device.id();
  std::string family = id.substr(0, id.find_first_of(":/ "));
  std::vector<const Instance *> found;
  for (const Instance &instance : workload.instances)
    if (instance.*role && (instance.devices.empty() || std::find(instance.devices.begin(), instance.devices.end(), family) != instance.devices.end()))
      found.push_back(&instance);
  return found;
}

RunRecord checkVersion(Device &device, const Workload &workload, const SourceSet &sources, Result<std::shared_ptr<Oracle>> &oracle, unsigned seeds,
                       const RunRequest *profileRequest, std::optional<RunOutcome> &profiled) {
  RunRecord record;
  record.workload = questionHash(workload);
  record.device = device.id();
  record.compiler = clang::getClangFullVersion();
  record.isolation = name(isolationFacts().level);
  record.sources = sources;

  // Two readings of the same text on two cores: the device's, and the one that the launcher is judged by.
  auto parsed = std::async(std::launch::async, [&] { return Unit::parse(sources); });
  record.build = device.build(sources, workload);
  auto unit = parsed.get();
  // A launcher that may not be run is refused for what it does, also where this device could not run it anyway.
  if (auto finding = unit ? checkLauncher(**unit, workload) : std::nullopt) {
    answer(record, finding->reason, finding->detail);
    return record;
  }
  if (record.build.reason != Reason::None) {
    answer(record, record.build.reason, record.build.detail);
    return record;
  }
  if (!unit) {
    answer(record, unit.error().fault == Fault::Ours ? Reason::Internal : Reason::CompileError, unit.error().message());
    return record;
  }
  if (!oracle) {
    answer(record, oracle.error().fault == Fault::Ours ? Reason::Internal : Reason::NoReference, oracle.error().message());
    return record;
  }
  record.oracle = (*oracle)->kind();
  auto instances = instancesFor(device, workload, &Instance::check);
  if (instances.empty() || seeds == 0) {
    answer(record, Reason::UnfitCase, "the workload has no check instance for the device " + device.id());
    return record;
  }
  auto calls = plan(device, instances, seeds);
  if (!prepare(record, workload, **oracle, calls)) return record;

  std::vector<RunRequest> requests;
  for (const Call &call : calls) {
    RunRequest request;
    request.workload = &workload;
    request.instance = call.instance;
    request.seed = call.seed;
    requests.push_back(request);
  }
  if (profileRequest) requests.push_back(*profileRequest);
  auto outcomes = runShared(device, sources, requests, calls);
  record.build = device.build(sources, workload); // with the resources, which are found while it runs
  if (outcomes.size() != requests.size()) {
    answer(record, Reason::Internal, "the device answered " + std::to_string(outcomes.size()) + " of " + std::to_string(requests.size()) + " requests");
    return record;
  }
  if (profileRequest) {
    profiled = std::move(outcomes.back());
    outcomes.pop_back();
  }
  judgeCalls(record, workload, calls, outcomes);
  if (record.reason == Reason::None) answer(record, Reason::None, "");
  return record;
}

} // namespace klineage
