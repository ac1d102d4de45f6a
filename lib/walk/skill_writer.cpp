#include "walk/skill_writer.h"
#include "record/rows.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace klineage {
namespace {

std::vector<SkillCondition> conditionsOf(const AcceptedRemoval &removal) {
  // The conditions are those of the forward direction, asked where the step would be applied: on the plain version.
  const Candidate &asked = removal.rederivation.site ? *removal.rederivation.site : removal.removed;
  std::vector<SkillCondition> all;
  for (const auto &condition : asked.conditions) {
    SkillCondition row;
    row.name = condition.decl.name;
    row.text = condition.decl.text;
    row.kind = name(condition.decl.kind);
    row.truth = name(condition.answer.truth);
    row.why = condition.answer.why;
    bool dropped = false, isOwn = true; // The first row is this kernel's own, another is a counterexample of the step.
    for (const auto &probe : removal.probes) {
      if (probe.condition != row.name) continue;
      std::string said = (probe.change.empty() ? "" : probe.change + ": expert " + probe.expertAnswer + ", plain " + probe.plainAnswer + ". ") + probe.detail;
      if (isOwn) {
        row.evidence = probe.evidence;
        dropped = probe.evidence == ConditionEvidence::NotNeeded;
      } else if (row.evidence == ConditionEvidence::Unproved && probe.evidence == ConditionEvidence::Needed) {
        row.evidence = ConditionEvidence::Needed;
      }
      row.evidenceDetail += (row.evidenceDetail.empty() ? "" : "; ") + said;
      isOwn = false;
    }
    // A condition that both forms can do without is no part of the skill; the probe's row keeps the experiment.
    if (!dropped) all.push_back(std::move(row));
  }
  return all;
}

std::vector<SkillRisk> risksOf(const AcceptedRemoval &removal) {
  std::vector<SkillRisk> risks;
  for (const auto &probe : removal.probes)
    if (probe.evidence == ConditionEvidence::Needed) risks.push_back({probe.condition, probe.expertAnswer, probe.change + ". " + probe.detail});
  return risks;
}

/// Measured points alone where there are any: they are never mixed with modelled ones.
std::optional<double> meritOf(const std::vector<EffectPoint> &effects) {
  bool measured = std::any_of(effects.begin(), effects.end(), [](const EffectPoint &point) { return point.measured; });
  double sum = 0;
  unsigned count = 0;
  for (const auto &point : effects)
    if (point.measured == measured) sum += std::log(std::max(point.speedup(), 1e-9)), ++count;
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

} // namespace

Skill skillFrom(const AcceptedRemoval &removal) {
  const Step &step = *findStep(removal.removed.step);
  const Workload &workload = removal.workload;
  Skill skill;
  skill.key = removal.removed.step + "/" + workload.name + "/" + std::to_string(removal.transition.order);
  skill.step = removal.removed.step;
  skill.stepRevision = step.revision;
  skill.stage = name(step.stage);
  skill.kernel = workload.name;
  skill.family = workload.family;
  bool reproduced = removal.rederivation.reproduced();
  skill.status = reproduced ? SkillStatus::Reproduced : SkillStatus::Candidate;
  skill.summary = step.summary;
  skill.intent = step.intent;
  skill.anchor.before = removal.transition.carrierAfter; // the transition goes back: its "after" is the plain side
  skill.anchor.after = removal.transition.carrierBefore;
  skill.anchor.locusKind = removal.removed.site.locus.kind;
  skill.anchor.locusLabel = removal.removed.site.locus.label;
  skill.carrier.parameters = json(removal.removed.site.parameters);
  skill.conditions = conditionsOf(removal);
  skill.effects = reversed(removal.transition.effects);
  skill.evidence.transitions = {removal.transition.id};
  skill.evidence.runKeys = {removal.transition.runKey};
  skill.evidence.gateRevision = Gate::revision;
  skill.evidence.families = {workload.family};
  skill.risks = risksOf(removal);
  skill.scope.archs = {"sm_" + std::to_string(removal.expert.view().unit.options().sm)};
  std::set<std::string> types, shapes;
  for (const auto &argument : workload.arguments)
    if (argument.kind != ArgumentKind::Scalar) types.insert(name(argument.type));
  for (const auto &instance : workload.instances) {
    std::string shape;
    for (const auto &[axis, value] : instance.axes) shape += (shape.empty() ? "" : " ") + axis + "=" + std::to_string(value);
    if (instance.devices.empty()) shapes.insert(shape);
  }
  skill.scope.dtypes.assign(types.begin(), types.end());
  skill.scope.shapes.assign(shapes.begin(), shapes.end());
  skill.scope.families = {workload.family};
  skill.log.push_back({0, "mined", "from " + workload.name + ", step " + std::to_string(removal.transition.order) + " of its walk"});
  skill.log.push_back({0, reproduced ? "reproduced" : "not_reproduced", removal.rederivation.status + ": " + removal.rederivation.detail});
  for (const auto &probe : removal.probes) skill.log.push_back({0, "probed", probe.condition + " is " + name(probe.evidence)});
  skill.provenance = "walk";
  skill.merit = meritOf(skill.effects);
  return skill;
}

} // namespace klineage
