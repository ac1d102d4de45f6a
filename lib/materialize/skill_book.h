// Inside the materializer: the corpus's skills as a search uses them, by step, best first.
#pragma once
#include "lineage_db/corpus.h"
#include "step/engine.h"

namespace klineage {

class SkillBook {
public:
  /// Skills that a search on this kernel may use: reproduced or admitted, not mined from it, their step's revision the current one.
  static Result<SkillBook> open(const Corpus &corpus, const std::string &kernel, const std::string &onlyStep);

  /// Steps with a skill, those of earlier stages first, then by merit.
  const std::vector<std::string> &steps() const { return order; }
  /// The best skill of a step; null without one.
  const Skill *best(const std::string &step) const;
  /// Parameter sets to try at a site of the step: each skill's own, then the step's choices; at most `limit`.
  std::vector<Parameters> parameters(const std::string &step, size_t limit) const;
  bool empty() const { return order.empty(); }
  size_t size() const;

private:
  std::map<std::string, std::vector<Skill>> byStep;
  std::vector<std::string> order;
};

} // namespace klineage
