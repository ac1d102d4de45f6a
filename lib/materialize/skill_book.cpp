#include "materialize/skill_book.h"
#include "record/rows.h"
#include <algorithm>

namespace klineage {

Result<SkillBook> SkillBook::open(const Corpus &corpus, const std::string &kernel, const std::string &onlyStep) {
  SkillFilter filter;
  filter.notKernel = kernel;
  filter.step = onlyStep;
  filter.statuses = {SkillStatus::Reproduced, SkillStatus::Admitted};
  auto skills = corpus.skills(filter);
  if (!skills) return skills.error();
  SkillBook book;
  for (auto &skill : *skills) {
    const Step *step = findStep(skill.step);
    if (step && step->revision == skill.stepRevision) book.byStep[skill.step].push_back(std::move(skill));
  }
  auto merit = [](const Skill &skill) { return skill.merit.value_or(0); };
  for (auto &[step, list] : book.byStep) {
    std::stable_sort(list.begin(), list.end(), [&](const Skill &a, const Skill &b) {
      bool admittedA = a.status == SkillStatus::Admitted, admittedB = b.status == SkillStatus::Admitted;
      return admittedA != admittedB ? admittedA : merit(a) > merit(b);
    });
    book.order.push_back(step);
  }
  std::stable_sort(book.order.begin(), book.order.end(), [&](const std::string &a, const std::string &b) {
    Stage stageA = findStep(a)->stage, stageB = findStep(b)->stage;
    return stageA != stageB ? stageA < stageB : merit(book.byStep[a].front()) > merit(book.byStep[b].front());
  });
  return book;
}

const Skill *SkillBook::best(const std::string &step) const {
  auto found = byStep.find(step);
  return found == byStep.end() ? nullptr : &found->second.front();
}

size_t SkillBook::size() const {
  size_t all = 0;
  for (const auto &[step, list] : byStep) all += list.size();
  return all;
}

std::vector<Parameters> SkillBook::parameters(const std::string &step, size_t limit) const {
  std::vector<Parameters> sets;
  auto add = [&](const Parameters &one) {
    if (sets.size() < limit && std::find(sets.begin(), sets.end(), one) == sets.end()) sets.push_back(one);
  };
  if (auto found = byStep.find(step); found != byStep.end())
    for (const auto &skill : found->second) add(parametersFromJson(skill.carrier.parameters));
  Parameters base = sets.empty() ? Parameters{} : sets.front();
  for (const auto &parameter : findStep(step)->params)
    for (int64_t choice : parameter.choices) {
      Parameters varied = base;
      varied[parameter.name] = choice;
      add(varied);
    }
  if (sets.empty()) sets.push_back({});
  return sets;
}

} // namespace klineage
