// What the vendor's compiler makes of a version: opcode counts of its PTX. Evidence that a simplification reached the machine.
#pragma once
#include "source/source_set.h"

namespace klineage {

/// The PTX of nvcc for one architecture, counted. Never Clang's code: the two differ in what they split and merge.
struct MachineCode {
  bool known = false;
  std::string why;                      ///< When unknown: no nvcc, or its error.
  std::string compiler;                 ///< First line with the release of `nvcc --version`.
  std::map<std::string, int> opcodes;   ///< "ld.global.v4.f32": 2. Predicates and operands are left out.
  std::string digest;                   ///< Of the PTX without comments, names of labels kept.
};
/// Cached by version and architecture in cacheFolder().
MachineCode machineCode(const SourceSet &sources, unsigned sm = 90);

/// changed: some instruction differs. inert: identical PTX, the simplification was undone by the compiler. unknown: no answer.
struct MachineCodeChange {
  std::string state = "unknown";
  std::string detail; ///< JSON: compiler, and the opcodes whose counts differ with both counts; or the reason.
};
MachineCodeChange compareMachineCode(const SourceSet &expert, const SourceSet &plain, unsigned sm = 90);

} // namespace klineage
