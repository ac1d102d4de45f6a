#include "retrieve/query.h"
#include "retrieve/examples.h"
#include "retrieve/show.h"
#include "step/registry.h"
#include <algorithm>
#include <cmath>

namespace klineage {
namespace {

constexpr const char *catalogue = "catalogue";

// The order of what speaks for a step. A sound site decides before any likeness: it was found by the step itself. Likeness decides
// among steps that all apply, or when nothing could be asked. The gain only parts equals.
constexpr double soundSite = 1.0, unsoundSite = 0.4, shapeWeight = 1.6, wordsWeight = 1.2, gainWeight = 0.15;

/// The catalogue as a corpus of its own, so that words find a step that nobody has mined.
Result<Corpus> catalogueCorpus() {
  auto corpus = Corpus::open(":memory:");
  if (!corpus) return corpus;
  for (const RegisteredStep &registered : registeredSteps()) {
    Skill skill;
    skill.key = std::string(registered.id) + "/" + catalogue;
    skill.step = registered.id;
    skill.summary = registered.step->summary;
    skill.intent = registered.step->intent;
    for (const StepExample &example : stepExamples())
      if (skill.step == example.step && std::string_view(example.name) == "pair") skill.anchor.before = example.plain, skill.anchor.after = example.expert;
    if (auto saved = corpus->saveSkill(skill); !saved) return saved.error();
  }
  return corpus;
}

bool usable(const Skill &skill) { return skill.status != SkillStatus::Rejected && skill.status != SkillStatus::Stale; }

/// Adds the hits of one index; the best hit of each step counts, 1 for the best of all.
void addWords(const std::vector<WordHit> &hits, std::map<std::string, Found> &found) {
  for (const WordHit &hit : hits) {
    std::string step = hit.skill.substr(0, hit.skill.find('/'));
    auto it = found.find(step);
    if (it != found.end() && hits.front().score > 0) it->second.words = std::max(it->second.words, hit.score / hits.front().score);
  }
}

void addSites(const StepSites &sites, std::map<std::string, Found> &found) {
  for (const SiteView &site : sites.canAdd)
    if (auto it = found.find(site.step); it != found.end()) it->second.sites.push_back(site);
  for (const SiteView &site : sites.present)
    if (auto it = found.find(site.step); it != found.end()) it->second.present.push_back(site);
  for (auto &[step, f] : found) {
    std::stable_sort(f.sites.begin(), f.sites.end(), [](const SiteView &a, const SiteView &b) { return a.unsound.empty() > b.unsound.empty(); });
    f.applies = !f.sites.empty() ? (f.sites.front().unsound.empty() ? "yes" : "conditions") : !f.present.empty() ? "present" : "no";
  }
}

std::optional<double> meanGain(const std::vector<Skill> &skills, bool measured) {
  double sum = 0;
  int count = 0;
  for (const Skill &skill : skills)
    if (auto one = gain(skill.effects, measured)) sum += std::log(*one), ++count;
  if (!count) return std::nullopt;
  return std::exp(sum / count);
}

} // namespace

Result<ShapeRanker> shapeRanker(const Corpus *corpus, const SkillFilter &filter) {
  ShapeRanker ranker;
  for (const StepExample &example : stepExamples())
    if (findStep(example.step)) ranker.add(example.step, std::string(example.step) + "/" + catalogue + "/" + example.name, shapeOf(example.plain), shapeOf(example.expert));
  if (!corpus) return ranker;
  auto documents = corpus->shapeIndex();
  if (!documents) return documents.error();
  auto skills = corpus->skills(filter);
  if (!skills) return skills.error();
  std::map<std::string, std::pair<Shape, Shape>> pairs;
  for (ShapeDocument &document : *documents) (document.expert ? pairs[document.skill].second : pairs[document.skill].first) = std::move(document.tokens);
  for (const Skill &skill : *skills)
    if (auto it = pairs.find(skill.key); it != pairs.end() && usable(skill)) ranker.add(skill.step, skill.key, it->second.first, it->second.second);
  return ranker;
}

Result<std::vector<Found>> answer(const Corpus *corpus, const Question &question) {
  std::map<std::string, Found> found;
  for (const RegisteredStep &registered : registeredSteps()) {
    Found &f = found[registered.id];
    f.step = registered.id;
    f.summary = registered.step->summary;
    f.stage = name(registered.step->stage);
    f.applies = "not_asked";
  }
  if (corpus) {
    auto skills = corpus->skills(question.filter);
    if (!skills) return skills.error();
    for (Skill &skill : *skills) {
      if (!usable(skill)) continue;
      Found &f = found[skill.step]; // A skill of no step of ours (uncatalogued, or of a newer klineage) is found too.
      if (f.step.empty()) f.step = skill.step, f.summary = skill.summary, f.stage = skill.stage, f.applies = "not_asked";
      f.skills.push_back(std::move(skill));
    }
  }
  for (auto &[step, f] : found) {
    std::stable_sort(f.skills.begin(), f.skills.end(), [](const Skill &a, const Skill &b) {
      return a.status != b.status ? int(a.status) > int(b.status) : a.merit.value_or(0) > b.merit.value_or(0);
    });
    f.gainModelled = meanGain(f.skills, false);
    f.gainMeasured = meanGain(f.skills, true);
  }

  if (!question.words.empty()) {
    auto own = catalogueCorpus();
    if (!own) return own.error();
    auto hits = own->searchWords(question.words, 200);
    if (!hits) return hits.error();
    addWords(*hits, found);
    if (corpus) {
      auto mined = corpus->searchWords(question.words, 200);
      if (!mined) return mined.error();
      addWords(*mined, found);
    }
  }
  if (!question.code.empty()) {
    Shape piece = shapeOf(question.code);
    if (piece.empty() && question.words.empty() && !question.sites)
      return userError("there is no structure in this code: no loop, access, call or declaration was recognised", "", "give the statements of a kernel, or words");
    auto ranker = shapeRanker(corpus, question.filter);
    if (!ranker) return ranker.error();
    for (const ShapeRanker::Match &match : ranker->rank(piece)) {
      auto it = found.find(match.step);
      if (it == found.end()) continue;
      it->second.shape = match.score;
      it->second.looksExpert = match.expert;
      it->second.nearest = match.label;
      for (size_t i = 0; i < match.because.size() && i < 4; ++i) it->second.because.push_back(match.because[i].first);
    }
  }
  if (question.sites) addSites(*question.sites, found);

  std::vector<Found> all;
  for (auto &[step, f] : found) {
    f.score = shapeWeight * f.shape + wordsWeight * f.words;
    if (f.applies == "yes") f.score += soundSite;
    if (f.applies == "conditions") f.score += unsoundSite;
    if (f.applies == "present") f.score += unsoundSite;
    if (f.score <= 0) continue;
    double pays = f.gainMeasured.value_or(f.gainModelled.value_or(1.0));
    f.score += gainWeight * std::clamp(std::log2(std::max(pays, 0.01)), -1.0, 2.0);
    all.push_back(std::move(f));
  }
  std::sort(all.begin(), all.end(), [](const Found &a, const Found &b) { return a.score != b.score ? a.score > b.score : a.step < b.step; });
  if (all.size() > question.limit) all.resize(question.limit);
  return all;
}

} // namespace klineage
