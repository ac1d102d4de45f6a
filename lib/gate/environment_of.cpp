#include "gate/environment_of.h"
#include <algorithm>
#include <cstdlib>

namespace klineage {
namespace {

unsigned alignmentOf(const Argument &argument) {
  uint64_t offset = static_cast<uint64_t>(argument.offset) * sizeOf(argument.type);
  uint64_t aligned = argument.alignment;
  if (offset == 0) return aligned;
  return static_cast<unsigned>(std::min<uint64_t>(aligned, offset & (~offset + 1))); // the largest power of two in the offset
}

} // namespace

Environment environmentOf(const Workload &workload, const std::string &device, unsigned sm) {
  Environment environment;
  environment.device.sm = sm;
  if (!workload.tolerance.exact) environment.relativeTolerance = workload.tolerance.relative;
  for (const auto &argument : workload.arguments) {
    ArgumentFacts facts;
    facts.name = argument.name;
    facts.isPointer = argument.kind != ArgumentKind::Scalar;
    facts.alignment = facts.isPointer ? alignmentOf(argument) : 0;
    facts.mayAlias = argument.mayAlias;
    bool known = true;
    for (const auto &instance : workload.instances) {
      if (!instance.devices.empty() && std::find(instance.devices.begin(), instance.devices.end(), device) == instance.devices.end()) continue;
      int64_t value = 1;
      if (facts.isPointer) {
        for (const auto &extent : argument.shape) {
          auto one = evaluate(extent, instance.axes);
          if (one) value *= *one;
          else known = false;
        }
      } else if (auto one = evaluate(argument.value, instance.axes)) {
        value = *one;
      } else {
        known = false; // a floating-point scalar has no place among integer facts
      }
      facts.values.push_back(value);
    }
    if (!known) facts.values.clear();
    environment.arguments.push_back(std::move(facts));
  }
  return environment;
}

} // namespace klineage
