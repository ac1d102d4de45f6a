// Equivalence: mutants that the gate accepts because they mean the same as their kernel. Shown by proof where the optimized code is the same, else by hand.
#pragma once
#include "planted/planted.h"

namespace klineage {

/// One row of equivalent.json ("klineage.equivalent/1"): {"mutant": "kernel/operation", "was": "text at the place", "places": ["kernel.cu:25:3"], "why": "...",
/// "kind": "equivalent", "beyond_instances" or "undefined"}. It names a mutant by its kernel and operation, by the text that is changed, so that a row does not outlive the line that it
/// speaks of, and by place.
struct ByHand {
  std::string mutant, was, why;
  std::vector<std::string> places; ///< All that carry the text, when there are none.
  enum class Kind {
    Equivalent,
    BeyondInstances, ///< It does go wrong, but only on inputs larger than any instance of the workload may be: counted apart.
    Undefined        ///< Wrong, however equal its code is: what it does is undefined, and this compiler chose what is right. It stays a false accept.
  } kind = Kind::Equivalent;
};

/// Errors name the file and what is wrong with it. A file that is not there holds no rows.
Result<std::vector<ByHand>> readByHand(const std::filesystem::path &file);

/// "same code", "by hand: ...", "beyond the instances: ...", or empty. `kernelCode` is the hash of the kernel's own code (device/emulated/code_hash.h).
std::string equivalenceOf(const Planted &mutant, const std::string &kernelCode, const std::vector<ByHand> &byHand);

} // namespace klineage
