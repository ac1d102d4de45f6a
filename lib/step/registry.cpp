#include "step/registry.h"

namespace klineage {

const Step *findStep(std::string_view id) {
  for (const auto &registered : registeredSteps())
    if (id == registered.id) return registered.step;
  return nullptr;
}

const char *name(Stage stage) {
  switch (stage) {
  case Stage::Structure: return "structure";
  case Stage::Mapping: return "mapping";
  case Stage::Memory: return "memory";
  case Stage::Compute: return "compute";
  case Stage::Tuning: return "tuning";
  }
  return "?";
}

const char *name(Direction direction) { return direction == Direction::Simplify ? "simplify" : "materialize"; }
const char *name(ConditionKind kind) { return kind == Soundness ? "soundness" : "profit"; }

} // namespace klineage
