#include "walk/walk.h"
#include "gate/environment_of.h"
#include "device/machine_code.h"
#include "walk/counterexample.h"
#include "walk/probe.h"
#include "walk/rederive.h"
#include "record/rows.h"
#include "walk/skill_writer.h"
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace klineage {
namespace {

using Clock = std::chrono::steady_clock;

/// Names a try at one version, so that it is not repeated there: the step, the place, the parameters.
std::string keyOf(const Candidate &candidate) {
  const Locus &locus = candidate.site.locus;
  return candidate.step + "@" + locus.kind + ":" + std::filesystem::path(locus.file).filename().string() + ":" + std::to_string(locus.offset) + json(candidate.site.parameters);
}

/// What was added last comes off first: tuning before compute before memory before mapping before structure.
bool before(const Candidate &a, const Candidate &b) {
  auto rank = [](const Candidate &one) { return -static_cast<int>(findStep(one.step)->stage); };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.step != b.step) return a.step < b.step;
  return a.site.locus.offset < b.site.locus.offset;
}

class Walker {
public:
  Walker(const Workload &workload, Gate &gate, Corpus &corpus, const std::string &device, const WalkOptions &options)
      : workload(workload), gate(gate), corpus(corpus), device(device), options(options) {
    report.kernel = workload.name;
  }

  Result<WalkReport> run(const SourceSet &expert);

private:
  Status begin(const SourceSet &expert);
  Result<bool> resume(const std::string &expertHash);
  Status step();
  Status tryCandidate(const Candidate &candidate);
  Status accept(const Candidate &candidate, Applied applied, TransitionRow row, const Verdict &verdict);
  Status refuse(const Candidate &candidate, TransitionRow row);
  Status saveState(Corpus &into, const std::string &status);
  void listWhatIsLeft();
  TransitionRow rowFor(const Candidate &candidate) const;
  void say(const std::string &line) const {
    if (options.progress) options.progress(workload.name + ": " + line);
  }

  const Workload &workload;
  Gate &gate;
  Corpus &corpus;
  std::string device;
  WalkOptions options;
  WalkReport report;
  std::unique_ptr<LoadedVersion> current;
  CounterexampleRuns counterexamples{gate};
  std::map<std::string, std::pair<std::string, std::string>> refusedHere; ///< At the current version: key to reason and detail.
  int order = 0;
  bool finished = false;
};

Status Walker::saveState(Corpus &into, const std::string &status) {
  WalkState state;
  state.kernel = workload.name;
  state.status = status;
  state.current = current->hash();
  state.order = order;
  nlohmann::json queue = {{"expert_workload", workload.hash}, {"refused_here", nlohmann::json::object()}, {"totals", {report.accepted, report.refused, report.undecided, report.reproduced, report.inert, report.skills}}};
  for (const auto &[key, why] : refusedHere) queue["refused_here"][key] = {why.first, why.second};
  state.queue = queue.dump();
  return into.saveWalk(state);
}

Status Walker::begin(const SourceSet &expert) {
  auto loaded = LoadedVersion::load(formatted(expert), environmentOf(workload, "emulated", options.sm), {.sm = options.sm}, workload.entry);
  if (!loaded) return loaded.error();
  current = std::move(*loaded);
  auto resumed = resume(current->hash());
  if (!resumed) return resumed.error();
  if (*resumed) return Done{};

  say("the expert against its reference");
  if (Status passes = expertPasses(workload, current->sources(), gate); !passes) return passes;
  KernelRow kernel = kernelRow(workload);
  kernel.expertVersion = current->hash();
  return corpus.transact([&]() -> Status {
    if (auto forgotten = corpus.forgetKernel(workload.name); !forgotten) return forgotten;
    if (auto saved = corpus.saveKernel(kernel); !saved) return saved;
    if (auto saved = corpus.saveVersion(versionRow(workload, *current), featureRows(workload, *current)); !saved) return saved;
    return saveState(corpus, "running");
  });
}

/// Takes up a walk of the same expert and workload where it stopped. Anything else is walked anew.
Result<bool> Walker::resume(const std::string &expertHash) {
  auto kernel = corpus.kernel(workload.name);
  if (!kernel) return kernel.error();
  auto state = corpus.walk(workload.name);
  if (!state) return state.error();
  if (!*kernel || !*state || (*kernel)->expertVersion != expertHash || (*kernel)->workloadHash != workload.hash) return false;
  auto version = corpus.version((*state)->current);
  if (!version) return version.error();
  if (!*version) return ourFault("the walk of " + workload.name + " stands on a version that the corpus does not hold", corpus.file().string());
  auto loaded = LoadedVersion::load(sourcesFrom(workload, **version), environmentOf(workload, "emulated", options.sm), {.sm = options.sm}, workload.entry);
  if (!loaded) return loaded.error();
  current = std::move(*loaded);
  order = (*state)->order;
  auto queue = nlohmann::json::parse((*state)->queue, nullptr, /*allow_exceptions=*/false);
  if (queue.is_object()) {
    for (const auto &[key, why] : queue.value("refused_here", nlohmann::json::object()).items()) refusedHere[key] = {why.at(0), why.at(1)};
    auto totals = queue.value("totals", std::vector<int>{});
    if (totals.size() == 6)
      std::tie(report.accepted, report.refused, report.undecided, report.reproduced, report.inert, report.skills) =
          std::tie(totals[0], totals[1], totals[2], totals[3], totals[4], totals[5]);
  }
  report.resumed = true;
  finished = (*state)->status != "running";
  report.status = (*state)->status;
  say(finished ? "already walked (" + report.status + ")" : "resumed after try " + std::to_string(order));
  return true;
}

TransitionRow Walker::rowFor(const Candidate &candidate) const {
  TransitionRow row;
  row.kernel = workload.name;
  row.from = current->hash();
  row.step = candidate.step;
  row.stepRevision = findStep(candidate.step)->revision;
  row.locusKind = candidate.site.locus.kind;
  row.locusLabel = candidate.site.locus.label;
  row.file = relativePath(workload, candidate.site.locus.file);
  row.offset = candidate.site.locus.offset;
  row.line = lineOf(current->sources(), candidate.site.locus);
  row.parameters = json(candidate.site.parameters);
  row.order = order;
  return row;
}

Status Walker::refuse(const Candidate &candidate, TransitionRow row) {
  (row.outcome == "undecided" ? report.undecided : report.refused) += 1;
  refusedHere[keyOf(candidate)] = {row.reason, row.detail};
  say("  " + row.outcome + " " + row.reason + ": " + row.detail.substr(0, 160));
  return corpus.transact([&]() -> Status {
    if (auto added = corpus.addTransition(row); !added) return added.error();
    return saveState(corpus, "running");
  });
}

Status Walker::tryCandidate(const Candidate &candidate) {
  ++order;
  say(std::to_string(order) + ". take out " + describe(candidate.step, candidate.site.locus, candidate.site.parameters, current->sources()));
  TransitionRow row = rowFor(candidate);
  row.outcome = name(Outcome::Refused);
  auto applied = apply(*current, Direction::Simplify, candidate, candidate.site.parameters);
  if (!applied) {
    row.reason = "edit_refused";
    row.detail = applied.error().message();
    return refuse(candidate, row);
  }
  auto check = checkOneFeature(*current, candidate, *applied);
  if (!check.exactlyOne) {
    row.reason = "changed_more_than_one";
    row.detail = check.why;
    return refuse(candidate, row);
  }
  Verdict verdict = gate.judge(workload, applied->sources, &current->sources(), {.policy = Policy::Simplify});
  row.outcome = name(verdict.outcome);
  row.reason = verdict.accepted() ? "" : name(verdict.reason);
  row.detail = verdict.detail;
  row.runKey = verdict.runKey;
  row.verdict = json(verdict);
  if (!verdict.accepted()) return refuse(candidate, row);
  return accept(candidate, std::move(*applied), std::move(row), verdict);
}

Status Walker::accept(const Candidate &candidate, Applied applied, TransitionRow row, const Verdict &verdict) {
  row.to = applied.version->hash();
  row.effects = effectPoints(verdict, device);
  std::tie(row.carrierBefore, row.carrierAfter) = changedCode(current->sources(), applied.sources);
  auto code = compareMachineCode(current->sources(), applied.sources, options.sm);
  row.codegen = code.state;
  row.codegenDetail = code.detail;
  double speedup = row.effects.empty() ? 0 : row.effects.front().speedup();
  say("  accepted, time × " + std::to_string(speedup > 0 ? 1 / speedup : 0) + (verdict.profile.empty() ? "" : verdict.profile.front().measured ? " (measured)" : " (modelled)") +
      ", machine code " + code.state);

  Rederivation again;
  std::vector<ProbeRow> probes;
  if (options.rederive) {
    again = rederive(workload, *current, candidate, *applied.version, gate);
    row.rederived = again.status;
    row.rederivedDetail = again.detail;
    say("  forward again: " + again.status + (again.detail.empty() ? "" : ", " + again.detail.substr(0, 200)));
  }
  if (options.probe) {
    probes = probeConditions(workload, current->sources(), applied.sources, again.site ? *again.site : candidate, gate);
    addCounterexamples(candidate.step, probes, counterexamples);
  }

  report.accepted += 1;
  report.reproduced += again.reproduced();
  report.inert += code.state == "inert";
  bool isSkill = code.state != "inert" && options.rederive;
  report.skills += isSkill;
  std::unique_ptr<LoadedVersion> expert = std::move(current);
  current = std::move(applied.version);
  refusedHere.clear();
  return corpus.transact([&]() -> Status {
    if (auto saved = corpus.saveVersion(versionRow(workload, *current), featureRows(workload, *current)); !saved) return saved;
    auto id = corpus.addTransition(row);
    if (!id) return id.error();
    row.id = *id;
    if (auto updated = corpus.updateTransition(row); !updated) return updated;
    std::string skillKey;
    if (isSkill) {
      Skill skill = skillFrom({workload, *expert, *current, candidate, again, probes, row});
      skillKey = skill.key;
      if (auto saved = corpus.saveSkill(skill); !saved) return saved.error();
    }
    for (auto &probe : probes) {
      probe.transition = row.id;
      probe.skill = skillKey;
      if (auto saved = corpus.addProbe(probe); !saved) return saved;
    }
    return saveState(corpus, "running");
  });
}

/// One try, or the end of the walk.
Status Walker::step() {
  if (report.accepted >= options.stepLimit || report.refused + report.undecided >= options.refusalLimit) {
    report.status = report.accepted >= options.stepLimit ? "step_limit" : "refusal_limit";
    finished = true;
    return saveState(corpus, report.status);
  }
  auto found = survey(*current, Direction::Simplify);
  std::sort(found.candidates.begin(), found.candidates.end(), before);
  for (const auto &candidate : found.candidates)
    if (!refusedHere.count(keyOf(candidate))) return tryCandidate(candidate);
  report.status = "complete";
  finished = true;
  return saveState(corpus, report.status);
}

void Walker::listWhatIsLeft() {
  auto found = survey(*current, Direction::Simplify);
  for (const auto &candidate : found.candidates) {
    auto why = refusedHere.find(keyOf(candidate));
    report.left.push_back({{candidate.step, candidate.site.locus, candidate.site.parameters},
                           why == refusedHere.end() ? "not_tried" : why->second.first, why == refusedHere.end() ? "" : why->second.second});
  }
  for (const auto &[step, decline] : found.declines) report.left.push_back({{step, {"decline", decline.where, "", 0}, {}}, decline.reason, decline.text});
}

Result<WalkReport> Walker::run(const SourceSet &expert) {
  auto start = Clock::now();
  if (auto begun = begin(expert); !begun) return begun.error();
  while (!finished) {
    if (options.stop && options.stop()) {
      report.status = "stopped";
      break;
    }
    if (auto stepped = step(); !stepped) return stepped.error();
  }
  listWhatIsLeft();
  report.plain = current->sources();
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

} // namespace

Status expertPasses(const Workload &workload, const SourceSet &expert, Gate &gate) {
  Verdict verdict = gate.judge(workload, expert, nullptr, {.policy = Policy::Simplify});
  if (verdict.accepted()) return Done{};
  std::string what = "the expert does not pass the gate itself: " + std::string(name(verdict.reason)) + ": " + verdict.detail;
  if (verdict.reason == Reason::Internal) return ourFault(what, workload.folder.string());
  return userError(what, workload.folder.string(), "mend the kernel, its reference or its workload; klineage gate shows more");
}

Result<WalkReport> walk(const Workload &workload, const SourceSet &expert, Gate &gate, Corpus &corpus, const std::string &device, const WalkOptions &options) {
  return Walker(workload, gate, corpus, device, options).run(expert);
}

} // namespace klineage
