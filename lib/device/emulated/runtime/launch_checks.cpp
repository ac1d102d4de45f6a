#include "device/emulated/runtime/launch_checks.h"
#include <algorithm>

namespace klineage::emulated {
namespace {
unsigned roundUp(unsigned value, unsigned to) { return (value + to - 1) / to * to; }

/// Registers are given to a warp in units of 256.
unsigned registersOfBlock(unsigned threads, unsigned registers) {
  return roundUp(threads, 32) / 32 * roundUp(registers * 32, 256);
}
} // namespace

unsigned blocksPerMultiprocessor(const Limits &limits, unsigned threads, unsigned registers, size_t sharedBytes) {
  if (threads == 0) return 0;
  unsigned rounded = roundUp(threads, limits.warpSize);
  unsigned blocks = std::min(limits.maxBlocksPerMultiprocessor, limits.maxThreadsPerMultiprocessor / rounded);
  if (registers) blocks = std::min(blocks, limits.registersPerMultiprocessor / registersOfBlock(threads, registers));
  // The driver keeps 1 KiB of shared memory for each block and gives it in units of 128 bytes.
  size_t shared = (sharedBytes + 127) / 128 * 128 + 1024;
  return std::min<size_t>(blocks, limits.sharedPerMultiprocessor / shared);
}

LaunchRefusal registerRefusal(const std::string &kernel, unsigned threads, unsigned registers, const Limits &limits) {
  if (registersOfBlock(threads, registers) <= limits.registersPerMultiprocessor) return {};
  return {Reason::ResourcesExceeded, kernel + ": a block of " + std::to_string(threads) + " threads with " + std::to_string(registers) +
                                         " registers each (ptxas) needs more than the " + std::to_string(limits.registersPerMultiprocessor) +
                                         " registers of a multiprocessor; __launch_bounds__ would bound them"};
}

LaunchRefusal launchRefusal(const Launch &launch, const Limits &limits) {
  const auto misshapen = [](std::string detail) { return LaunchRefusal{Reason::LaunchError, std::move(detail)}; };
  const auto tooLarge = [](std::string detail) { return LaunchRefusal{Reason::ResourcesExceeded, std::move(detail)}; };
  static const char axis[] = "xyz";
  const unsigned maxGrid[] = {0x7FFFFFFF, 65535, 65535}, maxBlock[] = {1024, 1024, 64};
  for (int d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.grid[d] > maxGrid[d])
      return misshapen(std::string("gridDim.") + axis[d] + " is " + std::to_string(launch.grid[d]) + "; 1 to " + std::to_string(maxGrid[d]) +
             " is allowed");
    if (launch.block[d] == 0 || launch.block[d] > maxBlock[d])
      return misshapen(std::string("blockDim.") + axis[d] + " is " + std::to_string(launch.block[d]) + "; 1 to " + std::to_string(maxBlock[d]) +
             " is allowed");
  }
  uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  if (threads > limits.maxThreadsPerBlock)
    return misshapen("a block has " + std::to_string(threads) + " threads; at most " + std::to_string(limits.maxThreadsPerBlock) + " are allowed");
  if (launch.kernel->maxThreads && threads > launch.kernel->maxThreads)
    return misshapen("a block has " + std::to_string(threads) + " threads; __launch_bounds__ allows " + std::to_string(launch.kernel->maxThreads));
  size_t total = launch.kernel->staticShared + launch.dynamicShared;
  size_t allowed = std::max<size_t>(limits.sharedPerBlock, launch.sharedLimit + launch.kernel->staticShared);
  if (launch.kernel->staticShared > limits.sharedPerBlock)
    return tooLarge("static shared memory takes " + std::to_string(launch.kernel->staticShared) + " bytes; at most " +
           std::to_string(limits.sharedPerBlock) + " are allowed");
  if (total > limits.sharedPerBlockOptin)
    return tooLarge("a block takes " + std::to_string(total) + " bytes of shared memory; the device has " +
           std::to_string(limits.sharedPerBlockOptin));
  if (total > allowed)
    return tooLarge("a block takes " + std::to_string(total) + " bytes of shared memory (" + std::to_string(launch.kernel->staticShared) +
           " static); more than " + std::to_string(limits.sharedPerBlock) +
           " needs cudaFuncAttributeMaxDynamicSharedMemorySize set to at least " + std::to_string(launch.dynamicShared));
  return {};
}

} // namespace klineage::emulated
