// Inlining: a helper that stores what it is given, put where it is called.
#pragma once
#include "step/step.h"

namespace klineage {

/// Edits that replace each call statement through which the kernel stores elements of a local array by the helper's body. None when a
/// call cannot be: a helper that returns early, changes its parameters, or is given something that may not be said twice.
Edits inlineStores(const KernelModel &kernel);

} // namespace klineage
