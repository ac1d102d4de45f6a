#include "materialize/materialize.h"
#include "gate/environment_of.h"
#include "materialize/skill_book.h"
#include "record/rows.h"
#include "support/hash.h"
#include <algorithm>
#include <chrono>

namespace klineage {

int MaterializeReport::kept() const {
  return static_cast<int>(std::count_if(tries.begin(), tries.end(), [](const Try &one) { return one.kept; }));
}

namespace {

using Clock = std::chrono::steady_clock;


double worstSpeedup(const Verdict &verdict) {
  double worst = verdict.profile.empty() ? 0 : verdict.profile.front().speedup();
  for (const auto &point : verdict.profile) worst = std::min(worst, point.speedup());
  return worst;
}

class Search {
public:
  Search(const Workload &workload, Gate &gate, Corpus &corpus, const std::string &device, const MaterializeOptions &options)
      : workload(workload), gate(gate), corpus(corpus), device(device), options(options) {}

  Result<MaterializeReport> run(const SourceSet &start);

private:
  Status rememberAttempts();
  Result<bool> improve(const std::string &step);
  struct Best {
    std::unique_ptr<LoadedVersion> version;
    size_t tried = 0;
    double speedup = 0;
  };
  Result<Best> tryStep(const LoadedVersion &from, const LoadedVersion &baseline, const std::string &step, std::vector<Best> *neutral);
  Result<size_t> tryOne(const LoadedVersion &from, const LoadedVersion &baseline, const Candidate &candidate, const Parameters &parameters,
                        std::unique_ptr<LoadedVersion> &into);
  Status keep(Best best);
  Status markKept(size_t tried);
  Result<bool> lookAhead(std::vector<Best> neutral);
  void listWhatDidNotApply();
  bool spent() const { return report.gateCalls >= options.budget; }
  void say(const std::string &line) const {
    if (options.progress) options.progress(workload.name + ": " + line);
  }

  const Workload &workload;
  Gate &gate;
  Corpus &corpus;
  std::string device;
  MaterializeOptions options;
  MaterializeReport report;
  SkillBook book;
  std::unique_ptr<LoadedVersion> current;
  std::set<std::string> refusedBefore; ///< From earlier searches and this one: version, step, place, parameters.
  std::vector<AttemptRow> rows;        ///< One a try, same order; each is in the corpus before the next try begins.
  std::string searchKey;
};

std::string placeKey(const std::string &version, const std::string &step, const std::string &place, const std::string &parameters) {
  return version + "|" + step + "|" + place + "|" + parameters;
}

Status Search::rememberAttempts() {
  auto before = corpus.attempts(workload.name);
  if (!before) return before.error();
  for (const auto &attempt : *before)
    if (attempt.outcome == name(Outcome::Refused) && !attempt.kept && attempt.reason != name(Reason::WithinNoise))
      refusedBefore.insert(placeKey(attempt.from, attempt.step, attempt.locus, attempt.parameters));
  return Done{};
}

/// Applies and judges. The index of the try; `into` holds the version when it came to be and was not refused for its values.
Result<size_t> Search::tryOne(const LoadedVersion &from, const LoadedVersion &baseline, const Candidate &candidate, const Parameters &parameters,
                              std::unique_ptr<LoadedVersion> &into) {
  Try one;
  const Skill *skill = book.best(candidate.step);
  one.skill = skill ? skill->key : "";
  one.step = candidate.step;
  one.place = describe(candidate.step, candidate.site.locus, {}, from.sources());
  one.parameters = parameters;
  AttemptRow row;
  row.search = searchKey;
  row.target = workload.name;
  row.targetFamily = workload.family;
  row.from = from.hash();
  row.skill = one.skill;
  row.step = one.step;
  row.parameters = json(parameters);
  row.locus = one.place;
  row.order = static_cast<int>(report.tries.size()) + 1;
  say("try " + one.place + " " + row.parameters);
  auto applied = apply(from, Direction::Materialize, candidate, parameters);
  if (!applied) {
    one.verdict.outcome = Outcome::Refused;
    one.note = applied.error().message();
    row.outcome = name(Outcome::Refused);
    row.reason = "edit_refused";
    row.detail = one.note;
  } else {
    one.verdict = gate.judge(workload, applied->sources, &baseline.sources(), {.policy = Policy::Materialize});
    report.gateCalls += !one.verdict.fromCache;
    row.to = applied->version->hash();
    row.outcome = name(one.verdict.outcome);
    row.reason = one.verdict.accepted() ? "" : name(one.verdict.reason);
    row.detail = one.verdict.detail;
    row.runKey = one.verdict.runKey;
    row.effects = effectPoints(one.verdict, device);
    into = std::move(applied->version);
  }
  if (!one.verdict.accepted()) refusedBefore.insert(placeKey(from.hash(), one.step, one.place, row.parameters));
  say("  " + row.outcome + (row.reason.empty() ? "" : " " + row.reason) +
      (one.verdict.profile.empty() ? one.note.substr(0, 200) : ", " + std::to_string(worstSpeedup(one.verdict)) + " × the speed"));
  auto stored = corpus.addAttempt(row);
  if (!stored) return stored.error();
  row.id = *stored;
  report.tries.push_back(std::move(one));
  rows.push_back(std::move(row));
  return report.tries.size() - 1;
}

/// The best accepted version that one step gives on `from`, judged against `baseline`; neutral ones are handed out on the side.
Result<Search::Best> Search::tryStep(const LoadedVersion &from, const LoadedVersion &baseline, const std::string &step, std::vector<Best> *neutral) {
  Best best;
  auto found = survey(from, Direction::Materialize, step);
  for (const auto &candidate : found.candidates)
    for (const auto &parameters : book.parameters(step, options.parameterChoices)) {
      Candidate asked = candidate;
      for (const auto &[key, value] : parameters) asked.site.facts.emplace(key, value);
      asked.conditions = conditionsUnder(asked, from.view().environment);
      if (!asked.sound()) continue; // listed at the end, with the condition's name
      std::string place = describe(step, candidate.site.locus, {}, from.sources());
      if (refusedBefore.count(placeKey(from.hash(), step, place, json(parameters)))) continue;
      if (spent()) {
        report.budgetSpent = true;
        return best;
      }
      std::unique_ptr<LoadedVersion> version;
      auto tried = tryOne(from, baseline, asked, parameters, version);
      if (!tried) return tried.error();
      const Verdict &verdict = report.tries[*tried].verdict;
      if (!version) continue;
      double speedup = worstSpeedup(verdict);
      if (verdict.accepted() && speedup > best.speedup) best = {std::move(version), *tried, speedup};
      else if (neutral && verdict.reason == Reason::WithinNoise && findStep(step)->stage != Stage::Tuning) neutral->push_back({std::move(version), *tried, speedup});
    }
  return best;
}

Status Search::markKept(size_t tried) {
  report.tries[tried].kept = true;
  rows[tried].kept = true;
  return corpus.keepAttempt(rows[tried].id);
}

Status Search::keep(Best best) {
  const Try &one = report.tries[best.tried];
  if (auto marked = markKept(best.tried); !marked) return marked;
  current = std::move(best.version);
  say("  kept " + one.place);
  const Skill *skill = book.best(one.step);
  if (!skill || skill->family == workload.family || !one.verdict.accepted()) return Done{};
  for (const auto &point : rows[best.tried].effects)
    if (auto added = corpus.addEffect(skill->key, point, workload.family); !added) return added;
  if (skill->status != SkillStatus::Admitted)
    return corpus.setSkillStatus(skill->key, SkillStatus::Admitted, "brought its effect on " + workload.name + " of family " + workload.family);
  return Done{};
}

/// A neutral step stays when another on top of it passes against the version below both. Tuning changes no structure that another step could
/// build on, so neutral tuning is not looked behind.
Result<bool> Search::lookAhead(std::vector<Best> neutral) {
  for (auto &under : neutral)
    for (const auto &step : book.steps()) {
      if (spent()) return false;
      auto over = tryStep(*under.version, *current, step, nullptr);
      if (!over) return over.error();
      if (!over->version) continue;
      if (auto marked = markKept(under.tried); !marked) return marked.error();
      report.tries[under.tried].note = "neutral alone; kept because " + step + " on top of it passes";
      if (auto kept = keep(std::move(*over)); !kept) return kept.error();
      return true;
    }
  return false;
}

Result<bool> Search::improve(const std::string &step) {
  std::vector<Best> neutral;
  auto best = tryStep(*current, *current, step, &neutral);
  if (!best) return best.error();
  if (best->version) {
    if (auto kept = keep(std::move(*best)); !kept) return kept.error();
    return true;
  }
  return lookAhead(std::move(neutral));
}

void Search::listWhatDidNotApply() {
  for (const auto &step : book.steps()) {
    auto found = survey(*current, Direction::Materialize, step);
    for (const auto &candidate : found.candidates) {
      std::string condition = candidate.firstUnsound();
      if (condition.empty()) continue;
      for (const auto &answer : candidate.conditions)
        if (answer.decl.name == condition)
          report.notApplied.push_back({step, condition, candidate.site.locus.file + ":" + std::to_string(lineOf(current->sources(), candidate.site.locus)),
                                       std::string(name(answer.answer.truth)) + ": " + answer.answer.why});
    }
    for (const auto &[id, decline] : found.declines) report.notApplied.push_back({step, decline.reason, decline.where, decline.text});
    if (found.candidates.empty() && found.declines.empty()) report.notApplied.push_back({step, "no_site", "", "nothing in this kernel looks like its plain form"});
  }
}

Result<MaterializeReport> Search::run(const SourceSet &start) {
  auto begun = Clock::now();
  auto opened = SkillBook::open(corpus, workload.name, options.onlyStep);
  if (!opened) return opened.error();
  book = std::move(*opened);
  if (book.empty())
    return userError("the corpus holds no skill that this kernel may use", corpus.file().string(), "mine an expert first: klineage mine FOLDER --corpus FILE");
  auto loaded = LoadedVersion::load(formatted(start), environmentOf(workload, "emulated", options.sm), {.sm = options.sm}, workload.entry);
  if (!loaded) return loaded.error();
  current = std::move(*loaded);
  SourceSet original = current->sources();
  Verdict own = gate.judge(workload, original, nullptr, {.policy = Policy::Simplify});
  if (!own.accepted())
    return userError("the kernel does not pass the gate as it is: " + std::string(name(own.reason)) + ": " + own.detail, workload.folder.string(), "klineage gate shows more");
  searchKey = Hasher().add("target", workload.name).add("from", current->hash()).add("workload", workload.hash).hex().substr(0, 16);
  if (auto remembered = rememberAttempts(); !remembered) return remembered.error();
  say(std::to_string(book.size()) + " skills of " + std::to_string(book.steps().size()) + " steps may be used");

  // Stage after stage; when a later stage changed something, earlier stages are asked again.
  bool changed = true;
  while (changed && !spent()) {
    changed = false;
    for (const auto &step : book.steps()) {
      bool more = true;
      while (more && !spent()) {
        auto improved = improve(step);
        if (!improved) return improved.error();
        more = *improved;
        changed |= more;
      }
    }
  }
  listWhatDidNotApply();
  report.output = current->sources();
  if (report.kept()) report.whole = gate.judge(workload, report.output, &original, {.policy = Policy::Materialize});
  report.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return report;
}

} // namespace

Result<MaterializeReport> materialize(const Workload &workload, const SourceSet &start, Gate &gate, Corpus &corpus, const std::string &device,
                                      const MaterializeOptions &options) {
  return Search(workload, gate, corpus, device, options).run(start);
}

} // namespace klineage
