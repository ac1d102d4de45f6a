// Oracle: what a call should have answered. It lives in the parent only; a candidate never shares a process or a folder with it.
#pragma once
#include "gate/compare.h"
#include <memory>
#include <mutex>

namespace klineage {

/// One call with its data and its right answer.
struct Case {
  Inputs inputs;
  Expected expected;
};

/// Answers from the workload's reference, in double precision; where there is none, from the kernel's own expert version on the device.
class Oracle {
public:
  /// Compiles the reference (once: the object is kept in cacheFolder() under a hash of its text and the compiler's arguments).
  /// User errors: no C++ compiler, a reference that does not compile.
  static Result<std::shared_ptr<Oracle>> make(const Workload &workload, Device &device);
  ~Oracle();

  /// "reference" or "self".
  std::string kind() const;

  /// The case of an instance and seed; kept as long as the oracle, within 512 MiB. A user error names a reference that crashed or did not
  /// end within a minute, or an expert version that does not run.
  Result<std::shared_ptr<const Case>> caseOf(const Instance &instance, uint64_t seed);

private:
  Oracle();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace klineage
