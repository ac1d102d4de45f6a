// Counterexamples: for each soundness condition of a step a kernel that breaks it, so that a skill can say what fails without it.
#pragma once
#include "gate/gate.h"
#include "lineage_db/records.h"
#include <map>
#include <span>

namespace klineage {

/// A kernel of tests/steps/<step>/fail_<condition>.cu, with what it takes to run it. The kernel passes the gate as it stands.
struct Counterexample {
  const char *step, *condition;
  const char *kernel, *workload;
  const char *referenceFile, *reference; ///< Empty where the kernel is its own oracle.
};

/// All of them, written by CMake from tests/steps.
std::span<const Counterexample> counterexamples();

/// Where the code of a site shows by itself that a condition holds, no input can break it there. What the condition is for is then shown on other code:
/// the step is applied to its counterexample with the condition waived, and the gate says what went wrong.
class CounterexampleRuns {
public:
  explicit CounterexampleRuns(Gate &gate) : gate(gate) {}

  /// The probe of one condition, run once. `needed` with the gate's reason; `not_needed` when the waived form passes; `unproved` with the cause
  /// when there is no counterexample or it could not be run on this device.
  const ProbeRow &of(const std::string &step, const std::string &condition);

private:
  Gate &gate;
  std::map<std::pair<std::string, std::string>, ProbeRow> known;
};

} // namespace klineage
