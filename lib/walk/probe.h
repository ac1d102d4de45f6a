// Probing: soundness conditions are shown by breaking them, one at a time, and running both forms.
#pragma once
#include "gate/gate.h"
#include "lineage_db/records.h"
#include "step/engine.h"

namespace klineage {

/// One probe row a soundness condition of the site's step. `site` is where the conditions were asked (on the plain version when it was
/// re-derived there, else on the expert's). The change is one axis, offset or alias of one check instance that makes the condition
/// violated. Expert fails and plain passes: needed, with the failure. Both pass: not needed. Neither can be run, or nothing in this
/// workload breaks it: unproved. A condition that holds with nothing known of the workload is proved by the code itself.
std::vector<ProbeRow> probeConditions(const Workload &workload, const SourceSet &expert, const SourceSet &plain, const Candidate &site, Gate &gate);

class CounterexampleRuns;
/// Where no input of this kernel showed what a condition is for (proved or unproved), the step's counterexample of that condition follows as a
/// second row. The first row of a condition is always the one of this kernel.
void addCounterexamples(const std::string &step, std::vector<ProbeRow> &rows, CounterexampleRuns &runs);

} // namespace klineage
