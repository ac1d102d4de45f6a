#include "walk/probe.h"
#include "walk/counterexample.h"
#include "gate/environment_of.h"
#include "support/hash.h"
#include <algorithm>

namespace klineage {
namespace {

/// A workload with one check instance, changed in one respect.
struct Mutation {
  std::string what;
  Workload workload;
};

Workload onlyInstance(const Workload &workload, const Instance &instance, const std::string &what) {
  Workload one = workload;
  Instance copy = instance;
  copy.check = true;
  copy.profile = false;
  copy.devices.clear();
  copy.name = instance.name + ", " + what;
  one.instances = {copy};
  one.hash = Hasher().add("workload", workload.hash).add("probe", what).add("instance", instance.name).hex();
  return one;
}

std::vector<Mutation> mutations(const Workload &workload) {
  std::vector<Mutation> all;
  auto base = std::find_if(workload.instances.begin(), workload.instances.end(), [](const Instance &one) { return one.check && one.fills.empty(); });
  if (base == workload.instances.end()) return all;
  for (const auto &[axis, value] : base->axes)
    for (int64_t changed : {value + 1, value - 1, value / 2 + 1, int64_t{37}, int64_t{1}}) {
      if (changed <= 0 || changed == value) continue;
      Instance instance = *base;
      instance.axes[axis] = changed;
      std::string what = axis + " = " + std::to_string(changed) + " instead of " + std::to_string(value);
      all.push_back({what, onlyInstance(workload, instance, what)});
    }
  for (size_t i = 0; i < workload.arguments.size(); ++i) {
    if (workload.arguments[i].kind == ArgumentKind::Scalar) continue;
    std::string what = workload.arguments[i].name + " one element past an aligned address";
    Workload shifted = onlyInstance(workload, *base, what);
    shifted.arguments[i].offset += 1;
    all.push_back({what, std::move(shifted)});
  }
  return all;
}

const ConditionAnswer *find(const std::vector<ConditionAnswer> &answers, const std::string &name) {
  for (const auto &answer : answers)
    if (answer.decl.name == name) return &answer;
  return nullptr;
}

std::string said(const Verdict &verdict) { return verdict.accepted() ? "accepted" : name(verdict.reason); }

/// Runs both forms under one mutation. False when the plain form does not pass there: the change left the kernel's own contract.
bool runProbe(const Mutation &mutation, const SourceSet &expert, const SourceSet &plain, Gate &gate, ProbeRow &row) {
  GateOptions options{.policy = Policy::Simplify, .seeds = 1, .profile = false};
  Verdict simple = gate.judge(mutation.workload, plain, nullptr, options);
  row.change = mutation.what;
  row.plainAnswer = said(simple);
  if (!simple.accepted()) {
    row.expertAnswer = "not_run";
    row.evidence = ConditionEvidence::Unproved;
    row.detail = "the plain form does not pass either: " + simple.detail;
    return false;
  }
  Verdict full = gate.judge(mutation.workload, expert, nullptr, options);
  row.expertAnswer = said(full);
  row.detail = full.detail;
  if (full.outcome == Outcome::Undecided) row.evidence = ConditionEvidence::Unproved;
  else row.evidence = full.accepted() ? ConditionEvidence::NotNeeded : ConditionEvidence::Needed;
  return true;
}

} // namespace

std::vector<ProbeRow> probeConditions(const Workload &workload, const SourceSet &expert, const SourceSet &plain, const Candidate &site, Gate &gate) {
  std::vector<ProbeRow> rows;
  std::vector<Mutation> all = mutations(workload);
  auto bare = conditionsUnder(site, Environment{});
  for (const auto &condition : conditionsUnder(site, environmentOf(workload))) {
    if (condition.decl.kind != Soundness) continue;
    ProbeRow row;
    row.condition = condition.decl.name;
    row.expertAnswer = row.plainAnswer = "not_run";
    if (auto *alone = find(bare, row.condition); alone && alone->answer.truth == Truth::Holds) {
      row.evidence = ConditionEvidence::Proved;
      row.detail = "the code alone shows it: " + alone->answer.why;
      rows.push_back(row);
      continue;
    }
    row.detail = "no change of one axis, offset or alias in this workload breaks it";
    int tries = 0;
    for (const auto &mutation : all) {
      auto changed = conditionsUnder(site, environmentOf(mutation.workload));
      auto *answer = find(changed, row.condition);
      if (!answer || answer->answer.truth != Truth::Violated) continue;
      if (runProbe(mutation, expert, plain, gate, row) && row.evidence != ConditionEvidence::Unproved) break;
      if (++tries == 3) break; // three changes left the kernel's contract; a fourth of the same kind will too
    }
    rows.push_back(row);
  }
  return rows;
}

void addCounterexamples(const std::string &step, std::vector<ProbeRow> &rows, CounterexampleRuns &runs) {
  const size_t own = rows.size();
  for (size_t i = 0; i < own; ++i) {
    bool shown = rows[i].evidence == ConditionEvidence::Needed || rows[i].evidence == ConditionEvidence::NotNeeded;
    if (!shown) rows.push_back(runs.of(step, rows[i].condition));
  }
}

} // namespace klineage
