// Mutate: planted faults. Each mutant is a version changed at one place in a way in which kernels go wrong in the field; what judges versions is asked
// whether it sees it. A family of changes is one file of operators/.
#pragma once
#include "source/source_set.h"

namespace klineage {

/// One change of one version. A few change nothing that can be seen: whoever runs them has to show that (lib/planted/equivalence.h).
struct Mutant {
  std::string operation;             ///< What was done: "barrier_dropped".
  std::string place;                 ///< "kernel.cu:25:3".
  std::string was;                   ///< The text that stood there, on one line, shortened.
  Edits edits;                       ///< Of the version as it was given.
  std::vector<std::string> expected; ///< The reasons, by name, of which the gate must give one; empty: any refusal.

  std::string id() const { return operation + "@" + place; }
};

/// All mutants of a version, by place, then by operation; equal edits once. The same version gives the same list, always. Errors are those of parsing.
Result<std::vector<Mutant>> mutantsOf(const SourceSet &sources);

} // namespace klineage
