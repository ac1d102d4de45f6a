// Worker: one host thread and the blocks that it runs.
//
// A block is run until it ends; only when all its threads wait for something that another block must do is a further one made resident, up
// to what the device could hold. So kernels whose blocks wait for each other make progress, and the others stay in the cache.
#pragma once
#include "device/emulated/runtime/execution.h"

namespace klineage::emulated {

/// Reserves the shared memory of resident blocks, below 4 GiB.
class SharedArena {
public:
  SharedArena() = default;
  SharedArena(const SharedArena &) = delete;
  SharedArena &operator=(const SharedArena &) = delete;
  ~SharedArena();
  unsigned char *take(); ///< 256 KiB, with unmapped memory behind; null when the arena is full.
  void give(unsigned char *slot);
  static constexpr size_t slotBytes = 256 * 1024, strideBytes = 512 * 1024;

private:
  std::mutex lock;
  std::vector<unsigned char *> idle;
  std::vector<unsigned char *> mapped;
};

class Worker {
public:
  Worker(LaunchState &launch, SharedArena &arena, StackPool &stacks) : launch(launch), stacks(stacks), arena(arena) {}
  ~Worker();
  void run();

  LaunchState &launch;
  LaunchTotals totals;
  Tally tally;
  std::vector<Allocation *> lastAllocation; ///< By site: where its last access went.
  StackPool &stacks; ///< The host thread's own; kept from launch to launch.
  FiberContext scheduler = nullptr;
  uint64_t activity = 0;    ///< Whatever is not spinning.
  uint64_t changes = 0;     ///< Writes and ends: what a loop without end may be waiting for.
  uint64_t seenChanges = 0; ///< At the last refill of fuel.
  uint32_t idleRefills = 0; ///< Since something changed.

private:
  enum class Turn { Ended, Moved, Spun, Stuck };
  bool startBlock();
  void endBlock(Block &block);
  Turn turn(Block &block);
  bool runWarp(Block &block, unsigned warp);
  void step(Thread &thread);
  bool settleCensus(Block &block);
  void abandon(Block &block);
  void finishWarp(Block &block, Warp &warp);
  std::string stuckBecause(Block &block);

  SharedArena &arena;
  std::vector<std::unique_ptr<Block>> blocks; ///< Resident.
  std::vector<std::unique_ptr<Block>> idle;   ///< Slots to be used again.
};

inline void noteChange(Thread &thread) {
  Worker &worker = *thread.block->worker;
  ++worker.activity;
  ++worker.changes;
}

} // namespace klineage::emulated
