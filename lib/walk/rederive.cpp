#include "walk/rederive.h"
#include "record/rows.h"
#include <algorithm>

namespace klineage {
namespace {

/// A feature without its place: a re-derived one stands elsewhere in the text.
struct Present {
  std::string what; ///< Step and kind of locus.
  Parameters parameters;
  std::string text() const { return what + " " + json(parameters); }
};

std::vector<Present> profileOf(const LoadedVersion &version) {
  std::vector<Present> all;
  for (const auto &feature : features(version)) all.push_back({feature.step + " at a " + feature.locus.kind, feature.parameters});
  return all;
}

/// What the expert's code decides agrees. A parameter that it leaves open (a block size chosen at run time) may have any value.
bool agrees(const Present &wanted, const Present &got, bool exactly) {
  if (wanted.what != got.what || (exactly && wanted.parameters != got.parameters)) return false;
  return std::all_of(wanted.parameters.begin(), wanted.parameters.end(), [&](const auto &one) {
    auto found = got.parameters.find(one.first);
    return found != got.parameters.end() && found->second == one.second;
  });
}

/// What one version has and the other lacks, in words; empty when they have the same.
std::string difference(std::vector<Present> wanted, std::vector<Present> got) {
  for (bool exactly : {true, false})
    std::erase_if(wanted, [&](const Present &one) {
      auto same = std::find_if(got.begin(), got.end(), [&](const Present &other) { return agrees(one, other, exactly); });
      if (same == got.end()) return false;
      got.erase(same);
      return true;
    });
  std::string text;
  for (const auto &one : wanted) text += (text.empty() ? "missing " : ", missing ") + one.text();
  for (const auto &one : got) text += (text.empty() ? "extra " : ", extra ") + one.text();
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

Rederivation tryAt(const Workload &workload, const LoadedVersion &expert, const std::vector<Present> &wanted, const Candidate &removed,
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
  if (std::string differs = difference(wanted, profileOf(*applied->version)); !differs.empty())
    return failed(std::move(candidate), "features_differ", differs);

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
