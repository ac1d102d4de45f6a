// Planted: the gate is given what it must refuse (mutants of kernels, written cheats) and what it must accept (variants), and its answers are counted.
//
// On disk, for a kernel folder NAME:
//   <planted>/cheats/NAME/*.cu      first line `// gate: REASON`: the reason that the gate must give
//   <planted>/variants/NAME/*.cu    first line `// gate: accepted`. A line `// vary: A=1,2 B=3,4` stands for four versions, in each of which it is replaced by
//                                   `#define A 1` and so on
//   <planted>/equivalent.json       mutants that mean the same as their kernel, by hand, each with its reason (equivalence.h)
#pragma once
#include "gate/gate.h"

namespace klineage {

enum class PlantedKind { Mutant, Cheat, Variant };
const char *name(PlantedKind kind);

/// One version whose right answer is known before the gate is asked.
struct Planted {
  PlantedKind kind = PlantedKind::Mutant;
  std::string kernel;                ///< The workload's name.
  std::string operation;             ///< Of a mutant; the file's stem otherwise.
  std::string place;                 ///< Of a mutant "kernel.cu:25:3"; of a variant what was varied.
  std::string was;                   ///< Of a mutant: the text at the place.
  std::vector<std::string> expected; ///< Reasons, one of which must be given; empty: any refusal. Of a variant: none.
  SourceSet sources;

  std::string id() const { return kernel + "/" + operation + (place.empty() ? "" : "@" + place); }
};

/// A kernel with all that is planted in it, in a fixed order: mutants by place, then cheats and variants by name.
struct PlantedKernel {
  Workload workload;
  SourceSet sources;
  std::vector<Planted> planted;
};
/// Errors name the file that cannot be read, does not parse, or lacks its first line.
Result<PlantedKernel> plantedIn(const std::filesystem::path &kernelFolder, const std::filesystem::path &plantedFolder);

/// `count` of them, spread evenly over all in their order; all where there are no more.
void sample(std::vector<PlantedKernel> &kernels, size_t count);

} // namespace klineage
