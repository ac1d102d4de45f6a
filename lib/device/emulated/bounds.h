// What a worker of the emulated device may take before it is ended. Untrusted code runs in it: whatever it does, the tool goes on.
#pragma once
#include "device/device.h"

namespace klineage::emulated {

/// When ptxas is asked what registers a version takes.
enum class AskVendor {
  Beside,      ///< While it runs: nobody waits for the answer where there are two cores.
  WhenPassing, ///< Once nothing else is wrong with it: many wrong versions are to be judged in little time.
  Never        ///< Launches that take too many registers are not seen, and times are modelled without them.
};

struct Bounds {
  /// Of processor time, all threads together, and twice that by the clock: a busy machine is no hang.
  unsigned seconds = 60, secondsARequest = 10;
  /// Resident bytes beside the data: the compiler, fibers' stacks, shared memory.
  uint64_t memory = uint64_t(2) << 30;
  /// Resident bytes for each byte of a request's buffers: guard zones, and the shadow that finds races.
  unsigned memoryAByte = 24;
  AskVendor vendor = AskVendor::Beside;
};

} // namespace klineage::emulated

namespace klineage {
std::unique_ptr<Device> makeEmulatedDevice(unsigned sm, const emulated::Bounds &bounds);
} // namespace klineage
