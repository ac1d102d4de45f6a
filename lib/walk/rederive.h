// Re-deriving: an accepted removal is applied forward again on its own simpler source, by the rewriter, never by reversing a patch.
#pragma once
#include "gate/gate.h"
#include "step/engine.h"

namespace klineage {

struct Rederivation {
  std::string status;              ///< reproduced, no_site, unsound, edit_refused, features_differ, slower, or the gate's reason
  std::string detail;
  std::optional<Candidate> site;   ///< The materialize site that was used, or the one that came nearest. Points into `plain`.
  SourceSet sources;
  bool reproduced() const { return status == "reproduced"; }
};

/// `removed` is the simplify site in `expert` whose removal gave `plain`. Same features, and at least 0.99 of the expert's speed.
Rederivation rederive(const Workload &workload, const LoadedVersion &expert, const Candidate &removed, const LoadedVersion &plain, Gate &gate);

} // namespace klineage
