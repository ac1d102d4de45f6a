#include "retrieve/show.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace klineage {

using nlohmann::json;

namespace {

std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string indented(const std::string &text, const std::string &margin) {
  std::string result;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find('\n', at), text.size());
    result += margin + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// {"width":4} as "width 4".
std::string parametersText(const std::string &text) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return text;
  std::string words;
  for (const auto &[name, value] : parsed.items()) words += (words.empty() ? "" : ", ") + name + " " + value.dump();
  return words;
}

json parsedOr(const std::string &text) {
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json(text) : parsed;
}

std::string day(int64_t time) {
  if (time == 0) return "at an unknown time";
  std::time_t seconds = time;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string effectCell(const EffectPoint &point) {
  return secondsText(point.beforeSeconds) + " -> " + secondsText(point.afterSeconds) + "  " + format("%.2fx", point.speedup());
}

/// The counters that moved most, as "global_load_requests 4096 -> 1024".
std::string movedCounters(const EffectPoint &point, size_t limit) {
  std::vector<std::pair<double, std::string>> moved;
  for (const auto &[name, before] : point.beforeCounters) {
    auto found = point.afterCounters.find(name);
    if (found == point.afterCounters.end() || found->second == before) continue;
    double ratio = std::fabs(std::log((found->second + 1) / (before + 1)));
    moved.push_back({-ratio, name + " " + format("%.6g", before) + " -> " + format("%.6g", found->second)});
  }
  std::sort(moved.begin(), moved.end());
  std::string text;
  for (size_t i = 0; i < moved.size() && i < limit; ++i) text += (text.empty() ? "" : ", ") + moved[i].second;
  return text;
}

/// Modelled and measured points of one instance side by side.
std::string effectTable(const std::vector<EffectPoint> &points) {
  if (points.empty()) return "  none was taken\n";
  std::vector<std::string> instances;
  std::string devices[2];
  for (const EffectPoint &point : points) {
    if (std::find(instances.begin(), instances.end(), point.instance) == instances.end()) instances.push_back(point.instance);
    std::string &device = devices[point.measured];
    if (device.find(point.device) == std::string::npos) device += (device.empty() ? "" : ", ") + point.device;
  }
  std::string text = "  " + padded("instance", 16) + padded("modelled" + (devices[0].empty() ? "" : " (" + devices[0] + ")"), 36) +
                     "measured" + (devices[1].empty() ? "" : " (" + devices[1] + ")") + "\n";
  for (const std::string &instance : instances) {
    std::vector<const EffectPoint *> sides[2];
    for (const EffectPoint &point : points)
      if (point.instance == instance) sides[point.measured].push_back(&point);
    for (size_t row = 0; row < std::max(sides[0].size(), sides[1].size()); ++row) {
      auto cell = [&](int kind) { return row < sides[kind].size() ? effectCell(*sides[kind][row]) : std::string("-"); };
      text += "  " + padded(row ? "" : instance, 16) + padded(cell(0), 36) + cell(1) + "\n";
    }
  }
  if (std::string moved = movedCounters(points.front(), 5); !moved.empty()) text += "  counters (" + points.front().instance + "): " + moved + "\n";
  return text;
}

json effectsJson(const std::vector<EffectPoint> &points) {
  json rows = json::array();
  for (const EffectPoint &point : points)
    rows.push_back({{"device", point.device},
                    {"kind", point.measured ? "measured" : "modelled"},
                    {"instance", point.instance},
                    {"before_seconds", point.beforeSeconds},
                    {"after_seconds", point.afterSeconds},
                    {"speedup", point.speedup()},
                    {"counters_before", point.beforeCounters},
                    {"counters_after", point.afterCounters}});
  return rows;
}

std::string evidenceText(ConditionEvidence evidence) {
  switch (evidence) {
  case ConditionEvidence::Needed: return "needed: a probe broke it and the expert form failed";
  case ConditionEvidence::NotNeeded: return "not needed: both forms passed without it";
  case ConditionEvidence::Proved: return "proved";
  case ConditionEvidence::Unproved: break;
  }
  return "unproved: no probe could show it";
}

} // namespace

std::string secondsText(double seconds) {
  if (seconds >= 1) return format("%.3g s", seconds);
  if (seconds >= 1e-3) return format("%.3g ms", seconds * 1e3);
  if (seconds >= 1e-6) return format("%.3g us", seconds * 1e6);
  return format("%.3g ns", seconds * 1e9);
}

std::optional<double> gain(const std::vector<EffectPoint> &points, bool measured) {
  double sum = 0;
  int count = 0;
  for (const EffectPoint &point : points)
    if (point.measured == measured && point.speedup() > 0) sum += std::log(point.speedup()), ++count;
  if (!count) return std::nullopt;
  return std::exp(sum / count);
}

std::string gainText(const std::vector<EffectPoint> &points) {
  std::string text;
  for (bool measured : {false, true})
    if (auto mean = gain(points, measured)) text += (text.empty() ? "" : ", ") + format("%.2fx", *mean) + (measured ? " measured" : " modelled");
  return text.empty() ? "no figures" : text;
}

std::string skillLine(const Skill &skill) {
  return padded(skill.key, 34) + " " + padded(name(skill.status), 11) + padded(gainText(skill.effects), 32) + skill.summary;
}

std::string describeSkill(const Skill &s, const std::vector<ProbeRow> &probes, const std::vector<Annotation> &notes) {
  std::string text = s.key + ": " + s.summary + "\n";
  text += "  status " + std::string(name(s.status)) + ", stage " + s.stage + ", mined from " + s.kernel + " (family " + s.family + ")\n\n";
  text += "Intent\n" + indented(s.intent, "  ") + "\n";
  text += "Anchor: the code where it applies (" + s.anchor.locusKind + " " + s.anchor.locusLabel + ")\n";
  text += "  plain\n" + indented(s.anchor.before, "    ") + "  expert\n" + indented(s.anchor.after, "    ") + "\n";
  text += "Carrier\n  step " + s.step + " revision " + std::to_string(s.stepRevision);
  if (std::string parameters = parametersText(s.carrier.parameters); !parameters.empty()) text += " with " + parameters;
  text += "\n" + (s.carrier.code.empty() ? "" : indented(s.carrier.code, "    ")) + "\n";

  text += "Preconditions\n";
  if (s.conditions.empty()) text += "  none\n";
  for (const SkillCondition &c : s.conditions) {
    text += "  " + padded(c.name, 20) + " " + padded(c.kind, 10) + padded(c.truth.empty() ? "" : c.truth, 9) + c.text + "\n";
    if (!c.why.empty()) text += "      " + c.why + "\n";
    text += "      " + evidenceText(c.evidence) + (c.evidenceDetail.empty() ? "" : " (" + c.evidenceDetail + ")") + "\n";
  }
  text += "\nEffects: plain -> expert\n" + effectTable(s.effects);

  text += "\nEvidence\n";
  std::vector<std::string> ids;
  for (int64_t id : s.evidence.transitions) ids.push_back(std::to_string(id));
  text += "  transitions " + (ids.empty() ? "none" : joined(ids)) + "; gate revision " + std::to_string(s.evidence.gateRevision) + "; families " +
          (s.evidence.families.empty() ? "none" : joined(s.evidence.families)) + "\n";
  for (const std::string &run : s.evidence.runKeys) text += "  run " + run + "\n";
  for (const ProbeRow &p : probes)
    text += "  probe of " + p.condition + ": " + (p.change.empty() ? "not made" : p.change) + "; expert " + p.expertAnswer + ", plain " + p.plainAnswer + ": " + name(p.evidence) + "\n";

  text += "\nRisks\n";
  if (s.risks.empty()) text += "  none was seen\n";
  for (const SkillRisk &risk : s.risks) text += "  without " + risk.condition + ": " + risk.failure + (risk.detail.empty() ? "" : " (" + risk.detail + ")") + "\n";
  text += "\nScope\n";
  for (auto [label, list] : {std::pair("architectures", &s.scope.archs), std::pair("types", &s.scope.dtypes), std::pair("families", &s.scope.families), std::pair("shapes", &s.scope.shapes)})
    if (!list->empty()) text += "  " + std::string(label) + ": " + joined(*list) + "\n";
  text += "\nVerification log\n";
  for (const LogEntry &entry : s.log) text += "  " + day(entry.time) + "  " + entry.event + (entry.detail.empty() ? "" : ": " + entry.detail) + "\n";
  text += "\nProvenance " + (s.provenance.empty() ? "unknown" : s.provenance) + "; merit " + (s.merit ? format("%.3g", *s.merit) : "none yet") + "; review " + (s.review.empty() ? "none" : s.review) + "\n";
  for (const Annotation &note : notes) text += "Note by " + note.author + ", " + day(note.time) + ": " + note.text + "\n";
  return text;
}

json skillJson(const Skill &s, const std::vector<ProbeRow> &probes, const std::vector<Annotation> &notes) {
  json conditions = json::array(), risks = json::array(), log = json::array(), probeRows = json::array(), noteRows = json::array();
  for (const SkillCondition &c : s.conditions)
    conditions.push_back({{"name", c.name}, {"text", c.text}, {"kind", c.kind}, {"truth", c.truth}, {"why", c.why}, {"evidence", name(c.evidence)}, {"evidence_detail", c.evidenceDetail}});
  for (const SkillRisk &r : s.risks) risks.push_back({{"condition", r.condition}, {"failure", r.failure}, {"detail", r.detail}});
  for (const LogEntry &e : s.log) log.push_back({{"time", e.time}, {"event", e.event}, {"detail", e.detail}});
  for (const ProbeRow &p : probes)
    probeRows.push_back({{"condition", p.condition}, {"change", p.change}, {"expert", p.expertAnswer}, {"plain", p.plainAnswer}, {"evidence", name(p.evidence)}, {"detail", p.detail}});
  for (const Annotation &n : notes) noteRows.push_back({{"author", n.author}, {"text", n.text}, {"time", n.time}});
  return {{"key", s.key}, {"step", s.step}, {"step_revision", s.stepRevision}, {"stage", s.stage}, {"kernel", s.kernel}, {"family", s.family},
          {"status", name(s.status)}, {"summary", s.summary}, {"intent", s.intent},
          {"anchor", {{"plain", s.anchor.before}, {"expert", s.anchor.after}, {"locus_kind", s.anchor.locusKind}, {"locus_label", s.anchor.locusLabel}}},
          {"carrier", {{"step", s.step}, {"parameters", parsedOr(s.carrier.parameters)}, {"code", s.carrier.code}}},
          {"preconditions", conditions}, {"effects", effectsJson(s.effects)},
          {"evidence", {{"transitions", s.evidence.transitions}, {"runs", s.evidence.runKeys}, {"gate_revision", s.evidence.gateRevision}, {"families", s.evidence.families}, {"probes", probeRows}}},
          {"risks", risks},
          {"scope", {{"architectures", s.scope.archs}, {"types", s.scope.dtypes}, {"families", s.scope.families}, {"shapes", s.scope.shapes}}},
          {"log", log}, {"provenance", s.provenance}, {"merit", s.merit ? json(*s.merit) : json()}, {"review", s.review}, {"notes", noteRows}};
}

std::string describeLineage(const KernelRow &kernel, const std::optional<WalkState> &walk, const std::vector<TransitionRow> &transitions,
                            const std::vector<FeatureRow> &left) {
  std::string text = kernel.name + " (family " + kernel.family + "): " + (kernel.origin.empty() ? "origin not stated" : kernel.origin) + "\n";
  text += "  walk " + (walk ? walk->status : "not begun") + "; oracle " + kernel.oracle + "\n";
  text += "  expert form " + kernel.expertVersion.substr(0, 12) + "\n";
  for (const TransitionRow &t : transitions) {
    const bool accepted = t.outcome == "accepted";
    std::string parameters = parametersText(t.parameters);
    text += (accepted ? "   |\n   o " : "   | x ") + std::to_string(t.order) + "  " + (t.direction == "simplify" ? "without " : "with ") + t.step + " at " + t.locusKind + " " +
            t.locusLabel + (t.line ? " (" + t.file + ":" + std::to_string(t.line) + ")" : "") + (parameters.empty() ? "" : ", " + parameters) + "\n";
    if (!accepted) {
      text += "   |     " + t.outcome + ": " + t.reason + (t.detail.empty() ? "" : ": " + t.detail.substr(0, t.detail.find('\n')).substr(0, 160)) + "\n";
      continue;
    }
    std::string facts = "brings " + gainText(reversed(t.effects));
    if (!t.codegen.empty()) facts += "; machine code " + t.codegen;
    if (!t.rederived.empty()) facts += "; forward again: " + t.rederived;
    text += "   |     " + facts + "\n   |     version " + t.to.substr(0, 12) + "\n";
  }
  text += std::string("   |\n  plain form") + (left.empty() ? ": no known feature is left\n" : ", where these features are left:\n");
  for (const FeatureRow &feature : left) text += "    " + feature.step + " at " + feature.locusKind + " " + feature.locusLabel + "\n";
  return text;
}

json lineageJson(const KernelRow &kernel, const std::optional<WalkState> &walk, const std::vector<TransitionRow> &transitions, const std::vector<FeatureRow> &left) {
  json rows = json::array(), leftRows = json::array();
  for (const TransitionRow &t : transitions)
    rows.push_back({{"order", t.order}, {"step", t.step}, {"direction", t.direction}, {"from", t.from}, {"to", t.to},
                    {"locus", {{"kind", t.locusKind}, {"label", t.locusLabel}, {"file", t.file}, {"line", t.line}}},
                    {"parameters", parsedOr(t.parameters)}, {"outcome", t.outcome}, {"reason", t.reason}, {"detail", t.detail}, {"run", t.runKey},
                    {"codegen", t.codegen}, {"rederived", t.rederived}, {"effects", effectsJson(t.effects)}});
  for (const FeatureRow &f : left) leftRows.push_back({{"step", f.step}, {"locus_kind", f.locusKind}, {"locus_label", f.locusLabel}});
  return {{"kernel", kernel.name}, {"family", kernel.family}, {"origin", kernel.origin}, {"oracle", kernel.oracle}, {"expert_version", kernel.expertVersion},
          {"walk", walk ? json(walk->status) : json()}, {"plain_version", walk ? json(walk->current) : json()}, {"transitions", rows}, {"features_left", leftRows}};
}

} // namespace klineage
