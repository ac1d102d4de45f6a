#include "gate/gate.h"
#include "device/isolation.h"
#include "gate/correctness.h"
#include "gate/profile.h"
#include "support/files.h"
#include "support/hash.h"
#include <chrono>

namespace klineage {

const char *name(Outcome outcome) {
  switch (outcome) {
  case Outcome::Accepted: return "accepted";
  case Outcome::Refused: return "refused";
  case Outcome::Undecided: return "undecided";
  }
  return "?";
}

namespace {

/// The verdict that a reason stands for; None accepts.
void settle(Verdict &verdict, Reason reason, std::string detail, const std::string &instance) {
  verdict.outcome = reason == Reason::None ? Outcome::Accepted : isUndecided(reason) ? Outcome::Undecided : Outcome::Refused;
  verdict.reason = reason;
  verdict.detail = std::move(detail);
  verdict.instance = instance;
}

} // namespace

struct Gate::Impl {
  Device &device;
  RecordFolder record;
  std::filesystem::path folder;
  std::unique_ptr<Gate> verifier;
  std::mutex lock;
  std::map<std::string, std::shared_ptr<Result<std::shared_ptr<Oracle>>>> oracles; ///< By question.
  std::map<std::string, double> noise;                                            ///< By question: found on its first baseline.
  std::map<std::string, double> smallestDifferences; ///< Measured baselines timed against themselves, by question, instance and version.
  std::map<std::string, Counters> counted;           ///< Measured versions, likewise.

  Impl(Device &device, std::filesystem::path folder) : device(device), record(folder), folder(std::move(folder)) {}

  std::shared_ptr<Result<std::shared_ptr<Oracle>>> oracleOf(const Workload &workload, const std::string &question) {
    std::lock_guard<std::mutex> hold(lock);
    auto &oracle = oracles[question];
    // A reference that failed is tried again: the cause may be mended meanwhile.
    if (!oracle || !*oracle) oracle = std::make_shared<Result<std::shared_ptr<Oracle>>>(Oracle::make(workload, device));
    return oracle;
  }

  std::string key(const char *kind, const std::string &version, const std::string &question, const std::string &more) const {
    Hasher hasher;
    hasher.add("kind", kind).add("version", version).add("question", question).add("device", device.id());
    hasher.add("device revision", device.revision()).add("revision", std::to_string(revision)).add("more", more);
    return hasher.hex().substr(0, 40);
  }

  RunRequest profileRequest(const Workload &workload, const Instance &instance) const {
    RunRequest request;
    request.workload = &workload;
    request.instance = &instance;
    request.seed = instance.seed;
    request.profile = true;
    if (!device.measured()) request.maxBlocks = instance.sampleBlocks;
    return request;
  }

  ProfileRecord asRecord(const RunOutcome &outcome, const std::string &key, const std::string &version, const std::string &question,
                         const Instance &instance) const {
    ProfileRecord profile;
    profile.key = key;
    profile.version = version;
    profile.workload = question;
    profile.device = device.id();
    profile.instance = instance.name;
    profile.reason = outcome.reason;
    profile.detail = outcome.detail;
    profile.measured = device.measured();
    profile.seconds = outcome.seconds;
    profile.counters = outcome.counters;
    return profile;
  }

  void keep(const ProfileRecord &profile, std::vector<std::string> &notes) {
    if (auto status = record.keep(profile); !status) notes.push_back("the profile was not kept: " + status.error().message());
  }

  /// A kept profile that answers; one without times, or of an open question, is asked for again.
  std::optional<ProfileRecord> knownProfile(const std::string &profileKey, Verdict &verdict) const {
    auto kept = record.profile(profileKey, verdict.notes);
    if (kept && (isUndecided(kept->reason) || kept->reason == Reason::Timeout || (kept->reason == Reason::None && kept->seconds.empty())))
      kept.reset();
    return kept;
  }

  struct Question {
    const Workload &workload;
    const GateOptions &options;
    std::string hash;
    const Instance *profileInstance = nullptr;
  };

  RunRecord correctness(const Question &question, const SourceSet &candidate, const std::string &version, Verdict &verdict,
                        std::optional<ProfileRecord> &profile);
  ProfileRecord profileOf(const Question &question, const SourceSet &sources, const std::string &version, bool selfCheck, Verdict &verdict);
  PairRecord pairOf(const Question &question, const SourceSet &baseline, const SourceSet &candidate, Verdict &verdict);
  void judgePair(const Question &question, const SourceSet &candidate, const SourceSet *baseline, Verdict &verdict);
  bool isVerified(const Question &question, const SourceSet &candidate, const SourceSet *baseline, Verdict &verdict);
  void judgeProfile(const Question &question, const SourceSet &candidate, const std::string &version, const SourceSet *baseline,
                    std::optional<ProfileRecord> profile, Verdict &verdict);
};

RunRecord Gate::Impl::correctness(const Question &question, const SourceSet &candidate, const std::string &version, Verdict &verdict,
                                  std::optional<ProfileRecord> &profile) {
  verdict.runKey = key("run", version, question.hash, std::to_string(question.options.seeds));
  std::string profileKey = question.profileInstance ? key("profile", version, question.hash, question.profileInstance->name) : "";
  if (question.options.useCache && question.profileInstance && !device.measured()) profile = knownProfile(profileKey, verdict);
  if (question.options.useCache)
    // An open question is asked again, and so is one that ended by the clock.
    if (auto kept = record.run(verdict.runKey, verdict.notes); kept && kept->outcome != Outcome::Undecided && kept->reason != Reason::Timeout) {
      verdict.fromCache = true;
      return *kept;
    }
  auto start = std::chrono::steady_clock::now();
  auto oracle = oracleOf(question.workload, question.hash);
  std::optional<RunOutcome> outcome;
  RunRequest request;
  if (question.profileInstance) request = profileRequest(question.workload, *question.profileInstance);
  bool ride = question.profileInstance && !profile && !device.measured(); // measured times are taken in turns with the baseline's
  RunRecord run = checkVersion(device, question.workload, candidate, *oracle, question.options.seeds, ride ? &request : nullptr, outcome);
  run.key = verdict.runKey;
  run.version = version;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (auto status = record.keep(run); !status) verdict.notes.push_back("the run was not kept: " + status.error().message());
  if (outcome) {
    profile = asRecord(*outcome, profileKey, version, question.hash, *question.profileInstance);
    if (run.outcome == Outcome::Accepted) keep(*profile, verdict.notes);
  }
  return run;
}

ProfileRecord Gate::Impl::profileOf(const Question &question, const SourceSet &sources, const std::string &version, bool selfCheck,
                                    Verdict &verdict) {
  std::string profileKey = key("profile", version, question.hash, question.profileInstance->name);
  if (question.options.useCache && !selfCheck)
    if (auto kept = knownProfile(profileKey, verdict)) return *kept;
  RunRequest request = profileRequest(question.workload, *question.profileInstance);
  auto outcomes = device.run(sources, selfCheck ? std::vector<RunRequest>{request, request} : std::vector<RunRequest>{request});
  if (outcomes.empty()) {
    RunOutcome none;
    none.reason = Reason::Internal;
    none.detail = "the device gave no outcome for the profile";
    outcomes.push_back(none);
  }
  ProfileRecord profile = asRecord(outcomes[0], profileKey, version, question.hash, *question.profileInstance);
  keep(profile, verdict.notes);
  if (selfCheck && outcomes.size() == 2) {
    std::lock_guard<std::mutex> hold(lock);
    noise[question.hash] = selfNoise(outcomes[0].seconds, outcomes[1].seconds);
  }
  return profile;
}

void Gate::Impl::judgeProfile(const Question &question, const SourceSet &candidate, const std::string &version, const SourceSet *baseline,
                              std::optional<ProfileRecord> profile, Verdict &verdict) {
  auto answer = [&](Reason reason, std::string detail, const std::string &instance) { settle(verdict, reason, std::move(detail), instance); };
  if (!question.profileInstance) return answer(Reason::NoSamples, "the workload has no profile instance for the device " + device.id(), "");
  const std::string &instance = question.profileInstance->name;
  if (!profile) profile = profileOf(question, candidate, version, false, verdict);
  if (profile->reason != Reason::None) return answer(profile->reason, "while profiling instance " + instance + ": " + profile->detail, instance);

  ProfilePoint point;
  point.instance = instance;
  point.measured = profile->measured;
  point.candidateCounters = profile->counters;
  if (!baseline) {
    auto valid = compareTimes(profile->seconds, profile->seconds, profile->measured, 0);
    if (!valid) return answer(Reason::NoSamples, valid.error().what, instance);
    point.candidateSeconds = valid->candidate;
    verdict.profile.push_back(point);
    if (question.options.policy == Policy::Materialize) answer(Reason::NoSamples, "there is no baseline to be faster than", instance);
    return;
  }
  bool knownNoise;
  {
    std::lock_guard<std::mutex> hold(lock);
    knownNoise = noise.count(question.hash) != 0;
  }
  // The device against itself comes first: what it cannot repeat, it cannot tell apart.
  ProfileRecord base = profileOf(question, *baseline, versionHash(*baseline), !knownNoise, verdict);
  if (base.reason != Reason::None)
    return answer(Reason::NoSamples, std::string("the baseline cannot be profiled: ") + name(base.reason) + ": " + base.detail, instance);
  double found;
  {
    std::lock_guard<std::mutex> hold(lock);
    found = noise[question.hash];
  }
  auto times = compareTimes(base.seconds, profile->seconds, profile->measured && base.measured, found);
  if (!times) return answer(Reason::NoSamples, times.error().what, instance);
  point.baselineSeconds = times->baseline;
  point.candidateSeconds = times->candidate;
  point.baselineCounters = base.counters;
  verdict.profile.push_back(point);
  ProfileDecision decision = decide(question.options.policy, *times);
  if (decision.reason != Reason::None) answer(decision.reason, decision.detail, instance);
}

PairRecord Gate::Impl::pairOf(const Question &question, const SourceSet &baseline, const SourceSet &candidate, Verdict &verdict) {
  const Instance &instance = *question.profileInstance;
  PairRecord pair;
  pair.baseline = versionHash(baseline);
  pair.candidate = versionHash(candidate);
  pair.key = key("pair", pair.candidate, question.hash, instance.name + "/" + pair.baseline);
  if (question.options.useCache)
    if (auto kept = record.pair(pair.key, verdict.notes); kept && !isUndecided(kept->reason)) return *kept;
  pair.workload = question.hash;
  pair.device = device.id();
  pair.instance = instance.name;
  std::string where = question.hash + "/" + instance.name + "/";
  std::optional<double> knownDifference;
  std::optional<Counters> knownCounters;
  {
    std::lock_guard<std::mutex> hold(lock);
    if (auto found = smallestDifferences.find(where + pair.baseline); found != smallestDifferences.end()) knownDifference = found->second;
    if (auto found = counted.find(where + pair.baseline); found != counted.end()) knownCounters = found->second;
  }
  PairRequest request;
  request.workload = &question.workload;
  request.instance = &instance;
  request.seed = instance.seed;
  request.self = !knownDifference;
  request.baselineCounters = !knownCounters;
  PairOutcome outcome = device.timePair(baseline, candidate, request);
  pair.reason = outcome.reason;
  pair.detail = outcome.detail;
  pair.stoppedBy = outcome.stoppedBy;
  pair.countersUnavailable = outcome.countersUnavailable;
  pair.self = outcome.self;
  if (!outcome.pairs.empty()) pair.blocks = outcome.pairs.back();
  pair.baselineCounters = knownCounters ? *knownCounters : outcome.baselineCounters;
  pair.candidateCounters = outcome.candidateCounters;
  pair.notes = outcome.notes;
  if (pair.reason == Reason::None && (pair.blocks.empty() || (!knownDifference && pair.self.empty()))) {
    pair.reason = Reason::NoSamples;
    pair.detail = "the device gave no samples";
  }
  // What was kept from an earlier call would be right for the old values and wrong for the new ones.
  for (size_t a = 0; pair.reason == Reason::None && a < outcome.candidateFresh.size() && a < outcome.baselineFresh.size(); ++a) {
    const Argument &argument = question.workload.arguments[a];
    if (outcome.candidateFresh[a].empty()) continue;
    auto compared = compareOutput(argument, outcome.candidateFresh[a], toDoubles(argument.type, outcome.baselineFresh[a]), boundsOf(question.workload, argument, instance));
    pair.reason = compared.reason;
    if (compared.reason != Reason::None) pair.detail = "on new values at the addresses that were timed, against the baseline: " + compared.detail;
  }
  if (pair.reason == Reason::None) {
    pair.smallestDifference = knownDifference ? *knownDifference : smallestDifference(ratioOf(pair.self));
    std::lock_guard<std::mutex> hold(lock);
    smallestDifferences[where + pair.baseline] = pair.smallestDifference;
    if (pair.countersUnavailable.empty()) {
      counted[where + pair.baseline] = pair.baselineCounters;
      counted[where + pair.candidate] = pair.candidateCounters; // the next baseline, when it is accepted
    }
  }
  if (auto status = record.keep(pair); !status) verdict.notes.push_back("the pair was not kept: " + status.error().message());
  return pair;
}

void Gate::Impl::judgePair(const Question &question, const SourceSet &candidate, const SourceSet *baseline, Verdict &verdict) {
  auto answer = [&](Reason reason, std::string detail, const std::string &instance) { settle(verdict, reason, std::move(detail), instance); };
  if (!question.profileInstance) return answer(Reason::NoSamples, "the workload has no profile instance for the device " + device.id(), "");
  const std::string &instance = question.profileInstance->name;
  PairRecord pair = pairOf(question, baseline ? *baseline : candidate, candidate, verdict);
  for (const auto &note : pair.notes) verdict.notes.push_back(note);
  if (pair.reason != Reason::None) return answer(pair.reason, "while profiling instance " + instance + ": " + pair.detail, instance);
  RatioInterval interval = ratioOf(pair.blocks);
  ProfilePoint point;
  point.instance = instance;
  point.measured = true;
  point.candidateSeconds = median(samplesOf(pair.blocks, true));
  if (baseline) {
    point.baselineSeconds = median(samplesOf(pair.blocks, false));
    point.ratio = interval.ratio;
    point.low = interval.low;
    point.high = interval.high;
  }
  point.smallestDifference = pair.smallestDifference;
  point.blocks = unsigned(pair.blocks.size());
  point.baselineCounters = pair.baselineCounters;
  point.candidateCounters = pair.candidateCounters;
  point.countersUnavailable = pair.countersUnavailable;
  verdict.profile.push_back(point);
  if (!pair.countersUnavailable.empty()) verdict.notes.push_back("counters_unavailable: " + pair.countersUnavailable);
  if (!baseline) {
    if (question.options.policy == Policy::Materialize) answer(Reason::NoSamples, "there is no baseline to be faster than", instance);
    return;
  }
  TimeComparison times;
  times.baseline = point.baselineSeconds;
  times.candidate = point.candidateSeconds;
  times.speedup = point.ratio;
  times.low = point.low;
  times.high = point.high;
  times.smallestDifference = pair.smallestDifference;
  ProfileDecision decision = decide(question.options.policy, times);
  if (decision.reason != Reason::None) answer(decision.reason, decision.detail, instance);
}

bool Gate::Impl::isVerified(const Question &question, const SourceSet &candidate, const SourceSet *baseline, Verdict &verdict) {
  GateOptions options = question.options;
  options.profile = false;
  Verdict other = verifier->judge(question.workload, candidate, nullptr, options);
  if (other.accepted()) {
    verdict.notes = std::move(other.notes);
    if (question.options.profile && question.options.instance.empty()) {
      options.profile = true;
      options.policy = Policy::Simplify; // its times are told, and decide nothing
      verdict.modelled = verifier->judge(question.workload, candidate, baseline, options).profile;
      verdict.modelledBy = verifier->impl->device.id();
    }
    return true;
  }
  std::string said = other.detail;
  verdict = std::move(other);
  verdict.detail = "on the emulated device, whose verdict a GPU's needs: " + said;
  return false;
}

void Gate::setVerifier(Device &verifier) {
  if (impl->device.measured()) impl->verifier = std::make_unique<Gate>(verifier, impl->folder);
}

Gate::Gate(Device &device, std::filesystem::path record) : impl(std::make_unique<Impl>(device, std::move(record))) {}
Gate::~Gate() = default;

Verdict Gate::judge(const Workload &workload, const SourceSet &candidate, const SourceSet *baseline, const GateOptions &options) {
  auto start = std::chrono::steady_clock::now();
  Verdict verdict;
  Impl::Question question{workload, options, questionHash(workload), nullptr};
  if (options.profile && options.instance.empty()) {
    if (auto instances = instancesFor(impl->device, workload, &Instance::profile); !instances.empty()) question.profileInstance = instances.front();
  } else if (options.profile) {
    for (const Instance &instance : workload.instances)
      if (instance.name == options.instance) question.profileInstance = &instance;
  }
  if (impl->verifier && !impl->isVerified(question, candidate, baseline, verdict)) {
    verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return verdict;
  }
  std::string version = versionHash(candidate);

  std::optional<ProfileRecord> profile;
  RunRecord run = impl->correctness(question, candidate, version, verdict, profile);
  verdict.outcome = run.outcome;
  verdict.reason = run.reason;
  verdict.detail = run.detail;
  verdict.instance = run.instance;
  verdict.instances = run.instances;
  verdict.worstError = run.worstError;
  verdict.nondeterministic = run.nondeterministic;
  verdict.resources = run.build.resources;
  verdict.oracle = run.oracle;
  if (isolationFacts().level != IsolationLevel::Bubblewrap)
    verdict.notes.push_back(std::string("isolation is ") + name(isolationFacts().level) + ": " + isolationFacts().why);
  if (verdict.accepted() && options.profile) {
    if (impl->device.measured()) impl->judgePair(question, candidate, baseline, verdict);
    else impl->judgeProfile(question, candidate, version, baseline, std::move(profile), verdict);
  }

  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string asked = baseline ? versionHash(*baseline) : "none";
  asked += options.policy == Policy::Simplify ? "/simplify" : "/materialize";
  if (auto status = impl->record.keepVerdict(impl->key("verdict", version, question.hash, asked), verdict); !status)
    verdict.notes.push_back("the verdict was not kept: " + status.error().message());
  return verdict;
}

} // namespace klineage
