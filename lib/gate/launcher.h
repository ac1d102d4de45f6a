// What a launcher may do, read from its AST before any of it runs. The grammar is in docs/gate.md, "The launcher".
#pragma once
#include "device/device.h"
#include <optional>

namespace klineage {

class Unit;

/// Why a launcher may not run: delegated, tampered, forbidden_side_effect, no_device_kernel, or launch_error when it does not take the
/// workload's arguments.
struct LauncherFinding {
  Reason reason = Reason::ForbiddenSideEffect;
  std::string detail; ///< "file:line:column: what it does".
};

/// Reads the host side: the entry, every function of the version's own files that it can reach, and what those files do at load time.
/// Nothing when all of it lies inside the grammar.
std::optional<LauncherFinding> checkLauncher(const Unit &unit, const Workload &workload);

} // namespace klineage
