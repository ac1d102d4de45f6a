#include "device/emulated/runtime/execution.h"
#include <algorithm>
#include <thread>

namespace klineage::emulated {
namespace {
bool mayBeGlobal(const kl_site &site) { return site.space == KL_GENERIC || site.space == KL_GLOBAL; }

/// Blocks that talk through global memory depend on who comes first; one worker keeps every run the same, to the bit.
bool blocksTalk(const kl_module &module) {
  for (uint32_t i = 0; i < module.siteCount; ++i) {
    const kl_site &site = module.sites[i];
    if (!mayBeGlobal(site)) continue;
    if (site.kind == KL_SITE_ATOMIC) return true;
    if ((site.kind == KL_SITE_LOAD || site.kind == KL_SITE_STORE) && (site.flags & KL_VOLATILE)) return true;
  }
  return false;
}

unsigned smallestAccess(const kl_module &module) {
  unsigned smallest = 4;
  for (uint32_t i = 0; i < module.siteCount; ++i) {
    const kl_site &site = module.sites[i];
    if (site.bytes && (site.kind == KL_SITE_LOAD || site.kind == KL_SITE_STORE || site.kind == KL_SITE_ATOMIC))
      smallest = std::min(smallest, site.bytes);
  }
  return smallest;
}
} // namespace

LaunchState::LaunchState(const Launch &launch, const MachineOptions &options, DeviceMemory &memory)
    : launch(launch), kernel(*launch.kernel), module(*launch.module), options(options), memory(memory) {
  gridBlocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  issued = options.maxBlocks ? std::min<uint64_t>(options.maxBlocks, gridBlocks) : gridBlocks;
  sharedBytes = kernel.staticShared + launch.dynamicShared;
  unsigned smallest = smallestAccess(module);
  granuleShift = smallest >= 4 ? 2 : smallest >= 2 ? 1 : 0;
  workers = blocksTalk(module) ? 1 : options.workers ? options.workers : std::max(1u, std::thread::hardware_concurrency());
  workers = std::min<uint64_t>(workers, std::max<uint32_t>(issued, 1));
  crossBlock = issued < (1u << 20) - (1u << 16); // a cell names a block in 20 bits; some names are for long-lived blocks
  unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  auto known = options.registers.find(kernel.name);
  unsigned registers = known != options.registers.end() ? unsigned(known->second) : 32;
  unsigned perMultiprocessor = std::max(1u, blocksPerMultiprocessor(options.limits, threads, registers, sharedBytes));
  maxResident = std::min<uint64_t>(uint64_t(perMultiprocessor) * options.limits.multiprocessors, 2048);
}

void LaunchState::report(uint32_t order, Reason reason, std::string detail) {
  std::lock_guard guard(lock);
  if (order >= fault.order) return;
  fault.order = order;
  fault.fault = {reason, std::move(detail)};
  faultOrder.store(order);
}

FoundFault LaunchState::found() {
  std::lock_guard guard(lock);
  return fault;
}

std::array<uint32_t, 3> LaunchState::blockIndex(uint32_t order) const {
  uint64_t linear = issued == gridBlocks ? order : order * gridBlocks / issued;
  if (options.reverse) linear = gridBlocks - 1 - linear;
  uint64_t x = launch.grid[0], y = launch.grid[1];
  return {uint32_t(linear % x), uint32_t(linear / x % y), uint32_t(linear / x / y)};
}

uint32_t LaunchState::newLife(uint32_t order) {
  std::lock_guard guard(lock);
  uint32_t life = issued + 1 + lives++;
  renewed[life] = order;
  return life;
}

uint32_t LaunchState::ownerOf(uint32_t life) {
  if (life <= issued) return life - 1;
  std::lock_guard guard(lock);
  auto found = renewed.find(life);
  return found == renewed.end() ? ~0u : found->second;
}

void LaunchTotals::add(const LaunchTotals &other) {
  counts.add(other.counts);
  blocks.add(other.blocks);
  chainSum += other.chainSum;
  chainLongest = std::max(chainLongest, other.chainLongest);
  warpChainSum += other.warpChainSum;
  bareRounds += other.bareRounds;
  coveredRounds += other.coveredRounds;
  hiddenReads += other.hiddenReads;
  for (auto &[address, lanes] : other.atomicsAt) atomicsAt[address] += lanes;
}

} // namespace klineage::emulated
