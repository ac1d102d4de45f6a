// What a driver refuses before a kernel runs.
#pragma once
#include "device/emulated/machine.h"

namespace klineage::emulated {

/// Which limit a launch breaks, in one sentence; reason None when it is allowed.
struct LaunchRefusal {
  Reason reason = Reason::None; ///< launch_error: its shape. resources_exceeded: its block does not fit a multiprocessor.
  std::string detail;
};
LaunchRefusal launchRefusal(const Launch &launch, const Limits &limits);

/// The same for registers, which are known later than the rest: ptxas runs beside the emulator.
LaunchRefusal registerRefusal(const std::string &kernel, unsigned threads, unsigned registers, const Limits &limits);

} // namespace klineage::emulated
