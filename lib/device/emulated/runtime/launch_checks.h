// What a driver refuses before a kernel runs.
#pragma once
#include "device/emulated/machine.h"

namespace klineage::emulated {

/// Empty when the launch is allowed, else one sentence that says which limit it breaks.
std::string launchRefusal(const Launch &launch, const Limits &limits, unsigned registers);

} // namespace klineage::emulated
