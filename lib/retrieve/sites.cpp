#include "retrieve/sites.h"
#include "step/engine.h"
#include <algorithm>
#include <filesystem>

namespace klineage {
namespace {

unsigned lineOf(const SourceSet &sources, const std::string &file, unsigned offset) {
  auto found = sources.files.find(file);
  if (found == sources.files.end()) return 0;
  size_t end = std::min<size_t>(offset, found->second.size());
  return 1 + unsigned(std::count(found->second.begin(), found->second.begin() + end, '\n'));
}

/// Adding is judged by every condition; taking out by those that the site gives their names, because what is there already stands as its author made it.
SiteView viewOf(const LoadedVersion &version, const Candidate &candidate, Direction direction) {
  const Locus &locus = candidate.site.locus;
  SiteView view;
  view.step = candidate.step;
  view.locus = locus.kind + (locus.label.empty() ? "" : " " + locus.label);
  view.line = view.lastLine = lineOf(version.sources(), locus.file, locus.offset);
  if (candidate.site.carrier.isValid())
    if (auto place = version.view().unit.place(candidate.site.carrier)) {
      view.line = place->line;
      view.lastLine = lineOf(version.sources(), place->file, place->offset + place->length);
    }
  view.where = std::filesystem::path(locus.file).filename().string() + ":" + std::to_string(view.line);
  for (const auto &[name, value] : candidate.site.parameters) view.parameters[name] = value;
  for (const ConditionAnswer &c : candidate.conditions) {
    if (direction == Direction::Simplify && !c.asked) continue;
    view.conditions.push_back({c.decl.name, c.decl.text, name(c.decl.kind), name(c.answer.truth), c.answer.why});
    if (c.decl.kind == Soundness && c.answer.truth != Truth::Holds && view.unsound.empty()) view.unsound = c.decl.name;
  }
  return view;
}

/// The line in "file:line:column", or 0.
unsigned lineIn(const std::string &where) {
  size_t last = where.rfind(':');
  size_t before = last == std::string::npos ? last : where.rfind(':', last - 1);
  return before == std::string::npos ? 0 : unsigned(std::atoi(where.c_str() + before + 1));
}

} // namespace

Result<StepSites> findSites(const SourceSet &sources, const Environment &environment, unsigned sm, const std::string &onlyStep, std::optional<unsigned> line) {
  FrontEndOptions options;
  options.sm = sm;
  auto version = LoadedVersion::load(sources, environment, options);
  if (!version) return version.error();
  StepSites result;
  for (Direction direction : {Direction::Materialize, Direction::Simplify}) {
    Survey found = survey(**version, direction, onlyStep);
    auto &sites = direction == Direction::Materialize ? result.canAdd : result.present;
    auto &declines = direction == Direction::Materialize ? result.declinesToAdd : result.declinesToRemove;
    for (const Candidate &candidate : found.candidates) {
      SiteView view = viewOf(**version, candidate, direction);
      if (!line || (view.line <= *line && *line <= view.lastLine)) sites.push_back(std::move(view));
    }
    for (const auto &[step, decline] : found.declines)
      if (!line || lineIn(decline.where) == *line) declines.push_back({step, decline.reason, decline.where, decline.text});
  }
  return result;
}

} // namespace klineage
