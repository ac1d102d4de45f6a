#include "walk/rederive.h"
#include "record/rows.h"
#include <algorithm>

namespace klineage {
namespace {

/// What a version has, without the places: a re-derived feature stands elsewhere in the text.
std::multiset<std::string> profileOf(const LoadedVersion &version) {
  std::multiset<std::string> all;
  for (const auto &feature : features(version)) all.insert(feature.step + " at a " + feature.locus.kind + " " + json(feature.parameters));
  return all;
}

std::string difference(const std::multiset<std::string> &wanted, const std::multiset<std::string> &got) {
  std::vector<std::string> missing, extra;
  std::set_difference(wanted.begin(), wanted.end(), got.begin(), got.end(), std::back_inserter(missing));
  std::set_difference(got.begin(), got.end(), wanted.begin(), wanted.end(), std::back_inserter(extra));
  std::string text;
  for (const auto &one : missing) text += (text.empty() ? "missing " : ", missing ") + one;
  for (const auto &one : extra) text += (text.empty() ? "extra " : ", extra ") + one;
  return text;
}

/// Rank of a failed try: how far it came.
int reached(const std::string &status) {
  static const std::vector<std::string> order = {"no_site", "unsound", "edit_refused", "features_differ"};
  return static_cast<int>(std::find(order.begin(), order.end(), status) - order.begin());
}

Rederivation failed(Candidate site, std::string status, std::string detail) {
  Rederivation result;
  result.status = std::move(status);
  result.detail = std::move(detail);
  result.site = std::move(site);
  return result;
}

Rederivation tryAt(const Workload &workload, const LoadedVersion &expert, const std::multiset<std::string> &wanted, const Candidate &removed,
                   const LoadedVersion &plain, Candidate candidate, Gate &gate) {
  // Conditions are asked with the parameters that the expert chose.
  for (const auto &[key, value] : removed.site.parameters) candidate.site.facts.emplace(key, value);
  candidate.conditions = conditionsUnder(candidate, plain.view().environment);
  if (std::string condition = candidate.firstUnsound(); !condition.empty()) {
    std::string detail;
    for (const auto &answer : candidate.conditions)
      if (answer.decl.name == condition) detail = condition + " is " + name(answer.answer.truth) + ": " + answer.answer.why;
    return failed(std::move(candidate), "unsound", detail);
  }
  auto applied = apply(plain, Direction::Materialize, candidate, removed.site.parameters);
  if (!applied) return failed(std::move(candidate), "edit_refused", applied.error().message());
  if (auto got = profileOf(*applied->version); got != wanted) return failed(std::move(candidate), "features_differ", difference(wanted, got));

  Rederivation result;
  result.site = std::move(candidate);
  result.sources = applied->sources;
  if (applied->version->hash() == expert.hash()) {
    result.status = "reproduced";
    result.detail = "the same tree";
    return result;
  }
  Verdict verdict = gate.judge(workload, applied->sources, &expert.sources(), {.policy = Policy::Simplify});
  if (!verdict.accepted() || verdict.profile.empty()) {
    result.status = verdict.accepted() ? name(Reason::NoSamples) : name(verdict.reason);
    result.detail = verdict.detail;
    return result;
  }
  double worst = verdict.profile.front().speedup();
  for (const auto &point : verdict.profile) worst = std::min(worst, point.speedup());
  result.status = worst >= 0.99 ? "reproduced" : name(Reason::Slower);
  result.detail = "another tree with the same features, " + std::to_string(worst) + " of the expert's speed, " +
                  (verdict.profile.front().measured ? "measured" : "modelled");
  return result;
}

} // namespace

Rederivation rederive(const Workload &workload, const LoadedVersion &expert, const Candidate &removed, const LoadedVersion &plain, Gate &gate) {
  Rederivation best;
  best.status = "no_site";
  auto found = survey(plain, Direction::Materialize, removed.step);
  for (const auto &[step, decline] : found.declines) best.detail += (best.detail.empty() ? "" : "; ") + decline.reason + ": " + decline.text;
  if (best.detail.size() > 600) best.detail.resize(600);
  auto wanted = profileOf(expert);
  for (const auto &candidate : found.candidates) {
    Rederivation result = tryAt(workload, expert, wanted, removed, plain, candidate, gate);
    if (result.reproduced()) return result;
    if (!best.site || reached(result.status) > reached(best.status)) best = std::move(result);
  }
  return best;
}

} // namespace klineage
