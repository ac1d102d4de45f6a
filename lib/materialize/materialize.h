// The materializer: a forward search that applies skills of a corpus to a kernel that they were not mined from, under the gate.
#pragma once
#include "gate/gate.h"
#include "lineage_db/corpus.h"
#include "step/engine.h"

namespace klineage {

struct MaterializeOptions {
  int budget = 48;              ///< Gate calls; answers from the cache do not count.
  int parameterChoices = 3;     ///< Tried at one site: the skill's own first, then the step's, in the step's order.
  unsigned sm = 90;
  std::string onlyStep;         ///< Empty: all.
  std::function<void(const std::string &)> progress;
};

/// One try at one site.
struct Try {
  std::string skill, step, place; ///< `place` is for people: "vector_load at buffer x (kernel.cu:12)".
  Parameters parameters;
  Verdict verdict;
  bool kept = false;
  std::string note;               ///< Why an accepted one was not kept, or what a neutral one enabled.
};

/// A skill's step that found no place, or none where its conditions hold.
struct NotApplied {
  std::string step, reason, where, detail; ///< `reason` is a condition's name or a decline's.
};

struct MaterializeReport {
  SourceSet output;
  std::vector<Try> tries;         ///< In order; the kept ones are the chain.
  std::vector<NotApplied> notApplied;
  Verdict whole;                  ///< The output against the kernel as it was given.
  int gateCalls = 0;
  bool budgetSpent = false;
  double seconds = 0;
  int kept() const;
};

/// Searches stage by stage (structure before tuning), greedy, best parameters a site; a neutral step may stay when the next one on top of it passes
/// against the version below both. Skills mined from a kernel of the same name are never used. What was refused before at the same place of
/// the same version is not tried again. Every try is stored as it happens, so that a killed search leaves what it learned; an effect brought in another family admits the skill.
/// A start that does not pass the gate itself is a user error.
Result<MaterializeReport> materialize(const Workload &workload, const SourceSet &start, Gate &gate, Corpus &corpus, const std::string &device,
                                      const MaterializeOptions &options = {});

} // namespace klineage
