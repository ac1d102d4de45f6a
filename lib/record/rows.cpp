#include "record/rows.h"
#include "support/files.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace klineage {

std::string json(const Parameters &parameters) { return nlohmann::json(parameters).dump(); }

Parameters parametersFromJson(const std::string &text) {
  auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  Parameters parameters;
  if (parsed.is_object())
    for (const auto &[key, value] : parsed.items())
      if (value.is_number_integer()) parameters[key] = value.get<int64_t>();
  return parameters;
}

std::string json(const Verdict &verdict) {
  nlohmann::json points = nlohmann::json::array();
  for (const auto &point : verdict.profile)
    points.push_back({{"instance", point.instance}, {"baseline_seconds", point.baselineSeconds}, {"candidate_seconds", point.candidateSeconds},
                      {"evidence", point.measured ? "measured" : "modelled"}, {"speedup", point.speedup()}});
  return nlohmann::json{{"outcome", name(verdict.outcome)}, {"reason", verdict.reason == Reason::None ? "" : name(verdict.reason)},
                        {"detail", verdict.detail}, {"instance", verdict.instance}, {"profile", points}, {"worst_error", verdict.worstError},
                        {"nondeterministic", verdict.nondeterministic}, {"run", verdict.runKey}}
      .dump();
}

std::string relativePath(const Workload &workload, const std::string &path) {
  auto relative = std::filesystem::path(path).lexically_relative(workload.folder).string();
  return relative.empty() || relative.rfind("..", 0) == 0 ? path : relative;
}

unsigned lineOf(const SourceSet &sources, const Locus &locus) {
  auto file = sources.files.find(locus.file);
  if (file == sources.files.end()) return 0;
  return 1 + std::count(file->second.begin(), file->second.begin() + std::min<size_t>(locus.offset, file->second.size()), '\n');
}

namespace {

/// The first paragraph below the title, up to its first full stop or colon, on one line.
std::string firstSentence(const std::string &page) {
  std::istringstream lines(page);
  std::string sentence;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      if (!sentence.empty()) break;
    } else if (line[0] != '#') {
      sentence += (sentence.empty() ? "" : " ") + line;
    }
  }
  for (size_t at = 0; at < sentence.size(); ++at)
    if ((sentence[at] == '.' || sentence[at] == ':') && (at + 1 == sentence.size() || sentence[at + 1] == ' ')) return sentence.substr(0, at);
  return sentence;
}

} // namespace

KernelRow kernelRow(const Workload &workload) {
  KernelRow row;
  row.name = workload.name;
  row.family = workload.family;
  row.entry = workload.entry;
  row.workloadHash = workload.hash;
  row.oracle = workload.reference.empty() ? "self" : "reference";
  if (auto page = readFile(workload.folder / "ORIGIN.md")) row.origin = firstSentence(*page);
  return row;
}

VersionRow versionRow(const Workload &workload, const LoadedVersion &version) {
  VersionRow row;
  row.hash = version.hash();
  row.kernel = workload.name;
  row.mainFile = relativePath(workload, version.sources().mainFile);
  for (const auto &[path, text] : version.sources().files) row.files[relativePath(workload, path)] = text;
  row.complexity = complexity(version);
  return row;
}

std::vector<FeatureRow> featureRows(const Workload &workload, const LoadedVersion &version) {
  std::vector<FeatureRow> rows;
  for (const auto &feature : features(version))
    rows.push_back({feature.step, feature.locus.kind, feature.locus.label, relativePath(workload, feature.locus.file), feature.locus.offset, json(feature.parameters)});
  return rows;
}

SourceSet sourcesFrom(const Workload &workload, const VersionRow &row) {
  auto absolute = [&](const std::string &path) { return (workload.folder / path).string(); };
  SourceSet sources;
  sources.mainFile = absolute(row.mainFile);
  for (const auto &[path, text] : row.files) sources.files[absolute(path)] = text;
  sources.includeFolders = workload.includeFolders;
  sources.rewriteRoots = workload.rewriteRoots;
  sources.defines = workload.defines;
  return sources;
}

std::vector<EffectPoint> effectPoints(const Verdict &verdict, const std::string &device) {
  std::vector<EffectPoint> points;
  for (const auto &point : verdict.profile)
    points.push_back({device, point.measured, point.instance, point.baselineSeconds, point.candidateSeconds, point.baselineCounters, point.candidateCounters});
  for (const auto &point : verdict.modelled)
    points.push_back({verdict.modelledBy, point.measured, point.instance, point.baselineSeconds, point.candidateSeconds, point.baselineCounters, point.candidateCounters});
  return points;
}

std::pair<std::string, std::string> changedCode(const SourceSet &before, const SourceSet &after) {
  std::istringstream lines(unifiedDiff(before, after));
  std::string line, old, now;
  bool inHunk = false;
  while (std::getline(lines, line)) {
    if (line.rfind("@@", 0) == 0) {
      inHunk = true;
      continue;
    }
    if (line.rfind("--- before/", 0) == 0 || line.rfind("+++ after/", 0) == 0) {
      inHunk = false;
      continue;
    }
    if (!inHunk || line.empty()) continue;
    std::string text = line.substr(1) + "\n";
    if (line[0] != '+') old += text;
    if (line[0] != '-') now += text;
  }
  return {old, now};
}

} // namespace klineage
