#include "planted/usual_check.h"
#include "gate/correctness.h"
#include <cmath>

namespace klineage {
namespace {

bool close(double have, double want) {
  if (std::isnan(want)) return std::isnan(have);
  if (have == want) return true; // infinities
  return std::fabs(have - want) <= UsualCheck::tolerance + UsualCheck::tolerance * std::fabs(want);
}

/// The first output that is not close, or nothing.
const Argument *firstWrong(const Workload &workload, const RunOutcome &outcome, const Expected &expected) {
  for (size_t a = 0; a < workload.arguments.size(); ++a) {
    const Argument &argument = workload.arguments[a];
    if (argument.kind != ArgumentKind::Output && argument.kind != ArgumentKind::InOut) continue;
    auto have = a < outcome.outputs.size() ? toDoubles(argument.type, outcome.outputs[a]) : std::vector<double>();
    if (have.size() != expected[a].size()) return &argument;
    for (size_t i = 0; i < have.size(); ++i)
      if (!close(have[i], expected[a][i])) return &argument;
  }
  return nullptr;
}

} // namespace

std::string UsualCheck::ask(const SourceSet &sources) {
  auto instances = instancesFor(device, workload, &Instance::check);
  if (instances.empty()) return "not run: no instance";
  if (!oracle) {
    auto made = Oracle::make(workload, device);
    if (!made) return "not run: " + made.error().what;
    oracle = *made;
  }
  auto right = oracle->caseOf(*instances.front(), instances.front()->seed);
  if (!right) return "not run: " + right.error().what;
  Build build = device.build(sources, workload);
  if (build.reason == Reason::CompileError) return "refused: it does not compile";
  if (build.reason != Reason::None) return std::string("not run: ") + name(build.reason);
  RunRequest request;
  request.workload = &workload;
  request.instance = instances.front();
  request.seed = instances.front()->seed;
  request.profile = true; // what only a check looks for is off
  auto outcomes = device.run(sources, {request});
  if (outcomes.size() != 1) return "not run: no outcome";
  const RunOutcome &outcome = outcomes.front();
  if (outcome.reason == Reason::NoDeviceKernel || outcome.reason == Reason::Nondeterministic) {
    // It does not ask whether a kernel ran.
  } else if (outcome.reason == Reason::Unsupported || outcome.reason == Reason::Internal) {
    return std::string("not run: ") + name(outcome.reason);
  } else if (outcome.reason != Reason::None) {
    return std::string("refused: ") + name(outcome.reason);
  }
  if (const Argument *wrong = firstWrong(workload, outcome, (*right)->expected)) return "refused: " + wrong->name + " is not close";
  return "accepted";
}

} // namespace klineage
