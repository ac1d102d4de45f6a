// What the vendor's compiler makes of a version: opcode counts of its PTX, and what ptxas gives each kernel. Evidence that a simplification
// reached the machine, and the registers that decide how many blocks fit a multiprocessor.
#pragma once
#include "source/source_set.h"
#include <optional>

namespace klineage {

/// What a launch of one kernel takes, as ptxas reports it.
struct KernelResources {
  unsigned registers = 0;    ///< A thread.
  unsigned spillBytes = 0;   ///< Stores and loads of one thread to local memory that ptxas added.
  unsigned sharedBytes = 0;  ///< Static.
  unsigned stackBytes = 0;
};

/// The code of nvcc for one architecture. Never Clang's: the two differ in what they split and merge.
struct MachineCode {
  bool known = false;
  std::string why;                      ///< When unknown: no nvcc, or its error.
  std::string compiler;                 ///< First line with the release of `nvcc --version`.
  std::map<std::string, int> opcodes;   ///< "ld.global.v4.f32": 2. Predicates and operands are left out.
  std::string digest;                   ///< Of the PTX without comments, names of labels kept.
  std::map<std::string, KernelResources> kernels; ///< By mangled name as Clang writes it.

  /// Of a kernel by Clang's mangled name; nothing when ptxas did not report it.
  std::optional<KernelResources> resourcesOf(const std::string &kernel) const;
};
/// Cached by version and architecture in cacheFolder(). About half a second where it is not.
MachineCode machineCode(const SourceSet &sources, unsigned sm = 90);

/// changed: some instruction differs. inert: identical PTX, the simplification was undone by the compiler. unknown: no answer.
struct MachineCodeChange {
  std::string state = "unknown";
  std::string detail; ///< JSON: compiler, and the opcodes whose counts differ with both counts; or the reason.
};
MachineCodeChange compareMachineCode(const SourceSet &expert, const SourceSet &plain, unsigned sm = 90);

/// nvcc names what lies in an anonymous namespace after the file's path; both compilers' names become Clang's here, so that one version has
/// one name wherever it lies.
std::string withoutPathInNames(const std::string &text);

/// The report of `ptxas -v`, by kernel name.
std::map<std::string, KernelResources> readResourceReport(const std::string &report);

} // namespace klineage
