#include "step/engine.h"
#include <algorithm>
#include "support/hash.h"
#include <filesystem>
#include <set>
#include <tuple>

namespace klineage {

Result<std::unique_ptr<LoadedVersion>> LoadedVersion::load(const SourceSet &sources, const Environment &environment, const FrontEndOptions &options,
                                                           const std::string &entry) {
  auto unit = Unit::parse(sources, options);
  if (!unit) return unit.error();
  auto version = std::make_unique<LoadedVersion>();
  version->unit = std::move(*unit);
  version->kernels = liftKernels(*version->unit);
  version->launcher = entry;
  if (!entry.empty())
    std::erase_if(version->kernels, [&](const KernelModel &kernel) {
      return std::none_of(kernel.launches.begin(), kernel.launches.end(), [&](const Launch &launch) { return launch.launcher && launch.launcher->getNameAsString() == entry; });
    });
  version->environment = environment;
  version->key = versionHash(version->unit->sources());
  return version;
}

bool Candidate::sound() const { return firstUnsound().empty(); }

std::string Candidate::firstUnsound() const {
  for (const auto &condition : conditions)
    if (condition.decl.kind == Soundness && condition.answer.truth != Truth::Holds) return condition.decl.name;
  return {};
}

namespace {

ConditionAnswer answerOf(const Step &step, const ConditionDecl &decl, const Site &site, const Environment &environment) {
  auto condition = Condition::parse(decl.text);
  if (!condition) return {decl, {Truth::Unknown, "the condition cannot be read: " + condition.error().message()}};
  if (!site.kernel) return {decl, {Truth::Unknown, "the site belongs to no kernel"}};
  // A condition may speak of the step's parameters; a site that leaves one open is asked with the names it has.
  FactBindings bindings = site.facts;
  for (const auto &[name, value] : site.parameters) bindings.emplace(name, value);
  for (const auto &parameter : step.params)
    if (!parameter.choices.empty()) bindings.emplace(parameter.name, parameter.choices.front()); // what a search would try first
  return {decl, condition->evaluate({*site.kernel, environment, bindings}), condition->isAskedWith(bindings)};
}

std::vector<ConditionAnswer> answers(const Step &step, const Site &site, const Environment &environment) {
  std::vector<ConditionAnswer> all;
  for (const auto &decl : step.conditions) all.push_back(answerOf(step, decl, site, environment));
  return all;
}

} // namespace

Survey survey(const LoadedVersion &version, Direction direction, std::string_view onlyStep) {
  Survey result;
  Version view = version.view();
  for (const auto &registered : registeredSteps()) {
    if (!onlyStep.empty() && onlyStep != registered.id) continue;
    const StepDirection &way = direction == Direction::Simplify ? registered.step->simplify : registered.step->materialize;
    if (!way.detect) continue;
    Detection detection = way.detect(view);
    for (auto &site : detection.sites) {
      Candidate candidate{registered.id, std::move(site), {}};
      candidate.conditions = answers(*registered.step, candidate.site, view.environment);
      result.candidates.push_back(std::move(candidate));
    }
    std::set<std::tuple<std::string, std::string, std::string>> said; // once a place: several loops of one kernel may meet the same hindrance
    for (auto &decline : detection.declines)
      if (said.insert({decline.where, decline.reason, decline.text}).second) result.declines.emplace_back(registered.id, std::move(decline));
  }
  return result;
}

std::vector<ConditionAnswer> conditionsUnder(const Candidate &candidate, const Environment &environment) {
  const Step *step = findStep(candidate.step);
  return step ? answers(*step, candidate.site, environment) : std::vector<ConditionAnswer>{};
}

std::vector<Feature> features(const LoadedVersion &version) {
  std::vector<Feature> all;
  for (const auto &candidate : survey(version, Direction::Simplify).candidates)
    all.push_back({candidate.step, candidate.site.locus, candidate.site.parameters});
  return all;
}

Result<Applied> apply(const LoadedVersion &version, Direction direction, const Candidate &candidate, const Parameters &parameters, bool waive) {
  const Step *step = findStep(candidate.step);
  if (!step) return userError("there is no step " + candidate.step, {}, "klineage step list names them");
  const StepDirection &way = direction == Direction::Simplify ? step->simplify : step->materialize;
  if (!way.edit) return refusal(candidate.step + " has no " + name(direction) + " direction");
  Parameters bound = parameters;
  for (const auto &[key, value] : candidate.site.parameters) bound[key] = value; // what the site forces wins
  if (direction == Direction::Materialize && !waive) {
    // Parameters may decide a condition (a width, a tile), so it is asked again with the chosen ones.
    Site chosen = candidate.site;
    chosen.parameters = bound;
    for (const auto &[key, value] : bound) chosen.facts[key] = value;
    for (const auto &condition : answers(*step, chosen, version.view().environment))
      if (condition.decl.kind == Soundness && condition.answer.truth != Truth::Holds)
        return refusal("condition " + condition.decl.name + " is " + name(condition.answer.truth) + ": " + condition.answer.why,
                       candidate.site.locus.file, condition.decl.text);
  }
  auto edits = way.edit(version.view(), candidate.site, bound);
  if (!edits) return edits.error();
  if (edits->empty()) return ourFault(candidate.step + " answered a site with no edit");
  auto edited = applyEdits(version.sources(), *edits);
  if (!edited) return edited.error();
  Applied applied;
  applied.edits = std::move(*edits);
  applied.edited = std::move(*edited);
  applied.sources = formatted(applied.edited);
  auto loaded = LoadedVersion::load(applied.sources, version.view().environment, version.view().unit.options(), version.entry());
  if (!loaded)
    return refusal("the rewritten source does not parse: " + loaded.error().message(), candidate.site.locus.file, "this is a fault of the step " + candidate.step);
  applied.version = std::move(*loaded);
  return applied;
}

std::string describe(const std::string &step, const Locus &locus, const Parameters &parameters, const SourceSet &sources) {
  std::string text = step + " at " + locus.kind + " " + locus.label;
  if (auto file = sources.files.find(locus.file); file != sources.files.end()) {
    auto end = file->second.begin() + std::min<size_t>(locus.offset, file->second.size());
    text += " (" + std::filesystem::path(locus.file).filename().string() + ":" + std::to_string(1 + std::count(file->second.begin(), end, '\n')) + ")";
  }
  for (const auto &[name, value] : parameters) text += ", " + name + " " + std::to_string(value);
  return text;
}

} // namespace klineage
