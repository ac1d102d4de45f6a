// The parts of a running launch: threads, warps, blocks, the worker that runs them, and what all workers share.
#pragma once
#include "device/emulated/machine.h"
#include "device/emulated/runtime/fibers.h"
#include "device/emulated/runtime/memory.h"
#include "device/emulated/runtime/order.h"
#include "device/emulated/runtime/requests.h"
#include "device/emulated/runtime/shared_shadow.h"
#include <array>
#include <memory>

namespace klineage::emulated {

struct Block;
struct Warp;
class Worker;
class LaunchState;

enum class Wait : uint8_t {
  None,     ///< Ready or running.
  Barrier,
  SyncWarp,
  Exchange, ///< Shuffles, votes, matrix operations: whatever needs the lanes of a mask.
  Census,   ///< activemask: until no other lane of the warp can come.
  Ended
};

struct AsyncCopy {
  uintptr_t to = 0;
  uint32_t bytes = 0, site = 0;
  unsigned char data[16];
};

/// How often a thread had to wait for global memory, as the time model asks. Loads of one pass through a loop's body are one round; it ends
/// at the next store or barrier, or with the next pass. Reads of shared memory in between are work that hides the wait (a tile that is
/// fetched while the one before is used).
struct WaitRounds {
  uint64_t key = 0, hidden = 0;
  uint32_t bare = 0, covered = 0; ///< Rounds with nothing in between; rounds with something, which `hidden` counts.
  uint32_t between = 0;
  bool open = false;
  void load(uint64_t ofKey) {
    if (open && ofKey == key) return;
    close();
    open = true;
    between = 0;
    key = ofKey;
  }
  void close() {
    if (!open) return;
    add(between);
    open = false;
    between = 0;
  }
  void add(uint32_t reads) {
    if (reads) ++covered, hidden += reads;
    else ++bare;
  }
};

/// One CUDA thread.
struct Thread : kl_thread {
  Block *block = nullptr;
  Warp *myWarp = nullptr;
  uint32_t linear = 0; ///< In the block.
  int32_t quantum = 0; ///< Accesses left before others get their turn.
  // Copies of what every access asks for.
  bool check = true, count = true;
  uint32_t siteCount = 0;
  const kl_site *sites = nullptr;
  Allocation **lastAllocation = nullptr; ///< Worker::lastAllocation
  WaitRounds rounds;
  uint32_t sharedReads = 0;

  // order.h explains these.
  uint32_t clock = 0, base = 0, warpBase = 0;
  std::shared_ptr<const PeerClocks> peers;
  std::shared_ptr<const Acquisitions> acquired;
  std::unique_ptr<Release> fence; ///< What the last fence covers; later atomic writes hand it out.

  // Waiting. An exchange finds its operands behind `payload`.
  Wait wait = Wait::None;
  uint32_t waitSite = 0, waitMask = 0;
  uint64_t waitKey = 0;
  void *payload = nullptr;
  uint64_t result = 0;

  FiberContext context = nullptr;
  Stack stack;
  bool started = false, yielded = false;
  uint32_t refills = 0;   ///< Of fuel.
  uint64_t yields = 0, ticks = 0;
  std::vector<std::vector<AsyncCopy>> copyGroups; ///< Committed, oldest first.
  std::vector<AsyncCopy> copies;                  ///< Not yet committed.
  std::vector<uint32_t> copyStarts;               ///< For each committed group, sharedReads when it was committed.
};

/// Lanes of one warp that wait for each other at one place. When all have come, `act` does the work for them.
struct Meeting {
  uint64_t key = 0;
  uint32_t site = 0, mask = 0, arrived = 0;
  void (*act)(Warp &warp, uint32_t lanes) = nullptr;
};

struct Warp {
  uint32_t live = 0;    ///< Lanes that exist and have not ended.
  uint32_t exists = 0;  ///< Lanes that exist.
  uint32_t ready = 0;   ///< Lanes that can run.
  Thread *first = nullptr;
  uint64_t joins = 0;   ///< Accesses recorded; tells a lane that waits for log space whether others move.
  std::vector<Meeting> meetings;
  RequestLog log;
  WaitRounds rounds; ///< Of the lane that waited most often.
  std::vector<uint32_t> blockMax; ///< Of each basic block, the largest count of a lane that ended.
  Thread &lane(unsigned i) const { return first[i]; }
};

/// One of the 16 barriers of a block.
struct Barrier {
  std::vector<Thread *> waiting;
  struct Arrival {
    uint32_t thread, self, warpBase;
    std::shared_ptr<const PeerClocks> peers;
    std::shared_ptr<const Acquisitions> acquired;
  };
  std::vector<Arrival> arrivals;           ///< Of bar.arrive.
  std::vector<uint32_t> lanes;             ///< By warp: who came.
  uint32_t expected = 0, site = 0;
  uint32_t ones = 0, votes = 0;            ///< Of bar.red.
  bool open() const { return !waiting.empty() || !arrivals.empty(); }
};

struct Block {
  LaunchState *launch = nullptr;
  Worker *worker = nullptr;
  uint32_t order = 0;  ///< In the order of issue.
  uint32_t life = 0;   ///< Names the block in global shadow cells: order + 1, renewed when its clock outgrows a cell.
  uint32_t lifeStart = 0;
  std::array<uint32_t, 3> index{};
  uint32_t threadCount = 0, warpCount = 0, liveThreads = 0;
  uint32_t now = 1;    ///< The clock; goes on from block to block in one slot.
  unsigned char *shared = nullptr;
  size_t sharedBytes = 0;
  std::unique_ptr<Thread[]> threads;
  std::unique_ptr<Warp[]> warps;
  uint32_t threadRoom = 0, warpRoom = 0; ///< Sizes of the two.
  std::array<Barrier, 16> barriers;
  SharedShadow shadow;
  SyncVariables sharedSync;
  L1Model l1;
  uint64_t chainMax = 0; ///< The longest warp, in latency-weighted cycles.
  std::vector<uint32_t> counters; ///< threadCount × kl_kernel::blockCount
};

/// A fault with the order of the block that found it: the earliest one is reported, whoever was quicker.
struct FoundFault {
  Fault fault;
  uint32_t order = ~0u;
};

/// What one launch adds up to.
struct LaunchTotals {
  Counts counts;
  BlockTotals blocks;
  uint64_t chainSum = 0;     ///< Sum over blocks of the longest warp's latency-weighted cycles.
  uint64_t chainLongest = 0;
  uint64_t warpChainSum = 0; ///< Sum over all warps.
  uint64_t bareRounds = 0, coveredRounds = 0, hiddenReads = 0; ///< WaitRounds, summed over warps.
  std::unordered_map<uint64_t, uint64_t> atomicsAt; ///< Lanes by address, for the most wanted one.
  void add(const LaunchTotals &other);
};

/// What the workers of a launch share.
class LaunchState {
public:
  LaunchState(const Launch &launch, const MachineOptions &options, DeviceMemory &memory);
  const Launch &launch;
  const kl_kernel &kernel;
  const kl_module &module;
  const MachineOptions &options;
  DeviceMemory &memory;
  unsigned workers = 1;
  unsigned granuleShift = 2;   ///< Races are told apart at this size; no access of the kernel is smaller.
  uint64_t gridBlocks = 0;     ///< Of the whole grid.
  uint32_t issued = 0;         ///< Blocks that are run; fewer than the grid in a sample.
  size_t sharedBytes = 0;
  unsigned maxResident = 0;    ///< Blocks that the device could hold at once.
  bool crossBlock = true;      ///< Races between blocks are looked for.
  SyncVariables globalSync;
  std::atomic<uint32_t> nextBlock{0}, lives{0}, resident{0};
  std::atomic<uint32_t> faultOrder{~0u};

  void report(uint32_t order, Reason reason, std::string detail);
  FoundFault found();
  bool aborted(uint32_t order) const { return faultOrder.load(std::memory_order_relaxed) < order; }
  std::array<uint32_t, 3> blockIndex(uint32_t order) const;
  /// A new name for a block; remembers whose it is.
  uint32_t newLife(uint32_t order);
  uint32_t ownerOf(uint32_t life);
  const kl_site *site(uint32_t id) const { return id < module.siteCount ? &module.sites[id] : nullptr; }

private:
  std::mutex lock;
  FoundFault fault;
  std::unordered_map<uint32_t, uint32_t> renewed; ///< Lives above the first one of each block.
};

// ---- what the hooks use (scheduler.cpp)

constexpr uint32_t sharedLow = 0x10000000, sharedHigh = 0xF0000000; ///< Where shared memory of all blocks lies.

inline Thread &threadOf(kl_thread *self) { return *static_cast<Thread *>(self); }
/// Gives the host thread back to the scheduler; returns when this thread is ready again.
void suspend(Thread &thread);
/// Lets others run.
void quantumSpent(Thread &thread);
/// Something that a spinning thread may wait for has changed.
inline void noteChange(Thread &thread); ///< In worker.h.
void makeReady(Thread &thread);
/// Records the fault and abandons the fiber.
[[noreturn]] void raise(Thread &thread, Reason reason, std::string detail);
/// Records a fault from outside any fiber, or where the fiber goes on to be abandoned anyway.
void reportFor(Block &block, Reason reason, std::string detail);

inline void spendQuantum(Thread &thread) {
  if (--thread.quantum < 0) quantumSpent(thread);
}

// ---- words for messages (messages.cpp)
std::string at(const LaunchState &launch, uint32_t site);            ///< "kernel.cu:12:5", or "an unknown place".
std::string threadName(const Block &block, uint32_t linear);         ///< "thread (3,0,0) of block (1,0,0)"
std::string blockName(const LaunchState &launch, uint32_t order);    ///< "block (1,0,0)"
std::string lanesName(uint32_t mask);                                ///< "lanes 0-3,7"

// ---- accesses (access.cpp)
enum class Act : uint8_t { Read, Write, VolatileRead, VolatileWrite, AtomicRead, AtomicStore, AtomicChange };
inline bool isWrite(Act act) { return act == Act::Write || act == Act::VolatileWrite || act >= Act::AtomicStore; }
inline bool isAtomic(Act act) { return act >= Act::AtomicRead; }
inline bool isStrong(Act act) { return act >= Act::VolatileRead; }
/// Checks and counts one access.
void access(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, uint64_t key, Act act, RequestKind global, RequestKind shared);
void record(Thread &thread, RequestKind kind, uint32_t site, uint64_t key, uint64_t address, uint32_t bytes, Allocation *allocation);
/// Race check of shared memory alone (offset in the block).
void touchShared(Thread &thread, size_t offset, uint32_t bytes, uint32_t site, Act act);
void touchGlobal(Thread &thread, Allocation &allocation, uintptr_t address, uint32_t bytes, uint32_t site, Act act);
Allocation &resolve(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, bool write);
void checkShared(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, bool write);

/// Whether a cp.async that was not waited for writes there (copy_async.cpp).
bool copyInFlight(const Block &block, size_t offset, uint32_t bytes);

// ---- order (synchronize.cpp)
Release snapshot(Thread &thread);
void takeIn(Thread &thread, uintptr_t address);
void handOut(Thread &thread, uintptr_t address);
SyncVariables &syncFor(Thread &thread, uintptr_t address);
void threadEnded(Thread &thread);
void blockUntilReady(Thread &thread);

// ---- meetings of lanes (exchange.cpp)
/// Waits until all live lanes of the mask are at this place with this mask, then `act` runs once for them all.
void meet(Thread &thread, Wait kind, uint32_t mask, uint32_t site, uint64_t key, void *payload, void (*act)(Warp &, uint32_t));
/// A lane ended: meetings may be complete without it.
void lanesLeft(Warp &warp);
/// The live lanes of the warp.
inline uint32_t wholeWarp(const Thread &thread) { return thread.myWarp->exists; }

} // namespace klineage::emulated
