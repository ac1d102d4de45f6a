// From an accepted, re-derived removal to a skill: the step reversed, with its evidence.
#pragma once
#include "lineage_db/records.h"
#include "walk/rederive.h"

namespace klineage {

struct AcceptedRemoval {
  const Workload &workload;
  const LoadedVersion &expert, &plain;
  const Candidate &removed;
  const Rederivation &rederivation;
  const std::vector<ProbeRow> &probes;
  const TransitionRow &transition; ///< Already stored: its id and effects are used.
};

/// The nine fields. Status is reproduced when the re-derivation was, else candidate.
Skill skillFrom(const AcceptedRemoval &removal);

} // namespace klineage
