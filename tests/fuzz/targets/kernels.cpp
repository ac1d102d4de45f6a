// Kernels: whatever parses is lifted and asked for every step's sites, both ways; what a step makes of the first sites parses again, or is refused.
#include "tests/fuzz/fuzz.h"
#include "step/engine.h"

namespace klineage::fuzz {
namespace {

constexpr size_t appliedAtMost = 3;

void applySome(const LoadedVersion &version, Direction direction, const Survey &found) {
  size_t applied = 0;
  for (const Candidate &candidate : found.candidates) {
    if (applied++ == appliedAtMost) return;
    Parameters parameters;
    for (const ParameterDecl &parameter : findStep(candidate.step)->params) parameters[parameter.name] = parameter.choices.front();
    auto made = apply(version, direction, candidate, parameters, /*waive=*/true);
    if (!made) promise(made.error().fault != Fault::Ours, candidate.step + ": " + made.error().message());
    else if (direction == Direction::Simplify) (void)checkOneFeature(version, candidate, *made);
  }
}

} // namespace

void kernels(std::string_view bytes) {
  SourceSet set;
  set.mainFile = "/klineage-fuzz/kernel.cu";
  set.files[set.mainFile] = std::string(bytes);
  auto version = LoadedVersion::load(set, Environment());
  if (!version) {
    promise(version.error().fault != Fault::Ours, "a source's fault is told as ours: " + version.error().message());
    return;
  }
  for (Direction direction : {Direction::Simplify, Direction::Materialize}) {
    Survey found = survey(**version, direction);
    applySome(**version, direction, found);
  }
}

} // namespace klineage::fuzz
