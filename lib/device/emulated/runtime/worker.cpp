#include "device/emulated/runtime/worker.h"
#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <sys/mman.h>

namespace klineage::emulated {
namespace {
constexpr int32_t quantumAccesses = 128;
constexpr int64_t firstFuel = 1 << 20;

/// Who comes i-th of `count`. A shuffled order steps through them by a number that has no divisor in common with the count.
unsigned turnOf(unsigned i, unsigned count, const MachineOptions &options, uint64_t salt) {
  if (options.shuffleSeed) {
    uint64_t drawn = (options.shuffleSeed + salt) * 0x9E3779B97F4A7C15u;
    drawn ^= drawn >> 29;
    unsigned by = unsigned(drawn % count) | 1;
    while (std::gcd(by, count) != 1) by += 2;
    i = unsigned((uint64_t(i) * by + (drawn >> 40)) % count);
  }
  return options.reverse ? count - 1 - i : i;
}

void fiberMain(FiberTransfer from) {
  auto &thread = *static_cast<Thread *>(from.data);
  thread.block->worker->scheduler = from.fctx;
  LaunchState &launch = *thread.block->launch;
  launch.kernel.entry(&thread, launch.launch.arguments);
  threadEnded(thread);
  thread.wait = Wait::Ended;
  suspend(thread);
  __builtin_unreachable(); // the scheduler never resumes an ended thread
}
} // namespace

// ---------------------------------------------------------------- shared memory

SharedArena::~SharedArena() {
  for (unsigned char *slot : mapped) munmap(slot, slotBytes);
}

unsigned char *SharedArena::take() {
  std::lock_guard guard(lock);
  if (!idle.empty()) {
    unsigned char *slot = idle.back();
    idle.pop_back();
    return slot;
  }
  uintptr_t from = mapped.empty() ? sharedLow : reinterpret_cast<uintptr_t>(mapped.back()) + strideBytes;
  for (; from + strideBytes <= sharedHigh; from += strideBytes) {
    void *got = mmap(reinterpret_cast<void *>(from), slotBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) continue; // something else lies there
    mapped.push_back(static_cast<unsigned char *>(got));
    return mapped.back();
  }
  return nullptr;
}

void SharedArena::give(unsigned char *slot) {
  std::lock_guard guard(lock);
  idle.push_back(slot);
}

// ---------------------------------------------------------------- blocks

Worker::~Worker() {
  for (auto *list : {&blocks, &idle})
    for (auto &block : *list) arena.give(block->shared);
}

bool Worker::startBlock() {
  if (launch.nextBlock.load() >= launch.issued) return false;
  std::unique_ptr<Block> fresh;
  if (idle.empty()) {
    unsigned char *shared = arena.take();
    if (!shared) return false;
    fresh = std::make_unique<Block>();
    fresh->shared = shared;
  }
  uint32_t order = launch.nextBlock++;
  if (order >= launch.issued || launch.aborted(order)) {
    if (fresh) idle.push_back(std::move(fresh));
    return false;
  }
  if (!fresh) {
    fresh = std::move(idle.back());
    idle.pop_back();
  }
  ++launch.resident;
  Block &block = *fresh;
  auto &size = launch.launch.block;
  block.launch = &launch;
  block.worker = this;
  block.order = order;
  block.index = launch.blockIndex(order);
  block.threadCount = block.liveThreads = size[0] * size[1] * size[2];
  block.warpCount = (block.threadCount + 31) / 32;
  block.sharedBytes = launch.sharedBytes;
  if (block.threadRoom < block.threadCount) {
    block.threads = std::make_unique<Thread[]>(block.threadCount);
    block.warps = std::make_unique<Warp[]>(block.warpCount);
    block.threadRoom = block.threadCount;
  }
  if (launch.options.check) block.shadow.configure(block.sharedBytes, block.warpCount, launch.granuleShift);
  if (block.now > 0xF0000000u) block.now = 1, block.shadow.forget();
  ++block.now;
  block.life = order + 1;
  block.lifeStart = block.now - 1;
  block.sharedSync.clear();
  block.chainMax = 0;
  if (launch.options.count) {
    // The L1 and the shared memory share 256 KiB; the blocks of a multiprocessor share what is left.
    const Limits &limits = launch.options.limits;
    unsigned together = std::max(1u, blocksPerMultiprocessor(limits, block.threadCount, 32, block.sharedBytes));
    size_t left = 256 * 1024 - std::min<size_t>(together * (block.sharedBytes + 1024), 228 * 1024);
    block.l1.reset(left / together);
  }
  for (Barrier &barrier : block.barriers) barrier = {};
  uint32_t kinds = launch.kernel.blockCount;
  block.counters.assign(size_t(block.threadCount) * kinds, 0);
  for (uint32_t w = 0; w < block.warpCount; ++w) {
    Warp &warp = block.warps[w];
    uint32_t lanes = std::min(32u, block.threadCount - w * 32);
    warp.exists = warp.live = warp.ready = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.first = &block.threads[w * 32];
    warp.meetings.clear();
    warp.rounds = {};
    warp.blockMax.assign(kinds, 0);
    if (launch.options.count) warp.log.start(lanes);
  }
  for (uint32_t i = 0; i < block.threadCount; ++i) {
    Thread &thread = block.threads[i];
    thread = Thread();
    thread.tid[0] = i % size[0];
    thread.tid[1] = i / size[0] % size[1];
    thread.tid[2] = i / size[0] / size[1];
    for (int d = 0; d < 3; ++d) {
      thread.ctaid[d] = block.index[d];
      thread.ntid[d] = size[d];
      thread.nctaid[d] = launch.launch.grid[d];
    }
    thread.lane = i & 31;
    thread.warp = i >> 5;
    thread.smid = order % launch.options.limits.multiprocessors;
    thread.dynamicShared = launch.launch.dynamicShared;
    thread.gridid = 1;
    thread.shared = block.shared;
    thread.blockCounts = block.counters.data() + size_t(i) * kinds;
    thread.fuel = firstFuel;
    thread.block = &block;
    thread.myWarp = &block.warps[i >> 5];
    thread.linear = i;
    thread.check = launch.options.check;
    thread.count = launch.options.count;
    thread.sites = launch.module.sites;
    thread.siteCount = launch.module.siteCount;
    thread.lastAllocation = lastAllocation.data();
    thread.clock = thread.base = thread.warpBase = block.now;
  }
  blocks.push_back(std::move(fresh));
  ++activity;
  return true;
}

void Worker::finishWarp(Block &block, Warp &warp) {
  if (launch.options.count) warp.log.flush(tally, block.l1);
  uint64_t chain = 0;
  for (uint32_t i = 0; i < launch.kernel.blockCount; ++i) {
    totals.blocks.byWarp[i] += warp.blockMax[i];
    chain += uint64_t(warp.blockMax[i]) * launch.kernel.blocks[i].depth;
  }
  totals.warpChainSum += chain;
  totals.bareRounds += warp.rounds.bare;
  totals.coveredRounds += warp.rounds.covered;
  totals.hiddenReads += warp.rounds.hidden;
  block.chainMax = std::max(block.chainMax, chain);
}

void Worker::endBlock(Block &block) {
  for (uint32_t w = 0; w < block.warpCount; ++w) finishWarp(block, block.warps[w]);
  totals.chainSum += block.chainMax;
  totals.chainLongest = std::max(totals.chainLongest, block.chainMax);
  tally.counts[Count::blocks] += 1;
  tally.counts[Count::warps] += block.warpCount;
  tally.counts[Count::threads] += block.threadCount;
}

void Worker::abandon(Block &block) {
  for (uint32_t i = 0; i < block.threadCount; ++i) {
    Thread &thread = block.threads[i];
    if (thread.started && thread.stack.low) stacks.give(thread.stack);
    thread.stack = {};
    thread.wait = Wait::Ended;
  }
  block.liveThreads = 0;
}

void Worker::step(Thread &thread) {
  if (!thread.started) {
    thread.started = true;
    thread.stack = stacks.take();
    thread.context = boost::context::detail::make_fcontext(thread.stack.top, thread.stack.top - thread.stack.low, fiberMain);
  }
  thread.quantum = quantumAccesses;
  thread.yielded = false;
  FiberTransfer back = boost::context::detail::jump_fcontext(thread.context, &thread);
  thread.context = back.fctx;
  if (thread.wait == Wait::Ended) {
    stacks.give(thread.stack);
    thread.stack = {};
  }
}

bool Worker::runWarp(Block &block, unsigned index) {
  Warp &warp = block.warps[index];
  bool ran = false;
  for (int pass = 0; pass < 64 && warp.ready; ++pass) {
    bool again = false;
    for (unsigned i = 0; i < 32; ++i) {
      unsigned lane = turnOf(i, 32, launch.options, block.order * 64 + index);
      if (!(warp.ready >> lane & 1)) continue;
      Thread &thread = warp.lane(lane);
      step(thread);
      ran = true;
      if (launch.faultOrder.load(std::memory_order_relaxed) <= block.order) return true;
      again |= thread.wait != Wait::None;
    }
    if (!again) break; // each gave up its turn by itself: let other warps run
  }
  return ran;
}

Worker::Turn Worker::turn(Block &block) {
  uint64_t before = activity;
  bool ran = false;
  for (uint32_t i = 0; i < block.warpCount; ++i) {
    ran |= runWarp(block, turnOf(i, block.warpCount, launch.options, block.order));
    if (launch.faultOrder.load(std::memory_order_relaxed) <= block.order) {
      abandon(block);
      return Turn::Ended;
    }
  }
  if (block.liveThreads == 0) {
    endBlock(block);
    return Turn::Ended;
  }
  if (activity != before || settleCensus(block)) return Turn::Moved;
  return ran ? Turn::Spun : Turn::Stuck;
}

/// Nobody in the block can run: the lanes that asked who is active get those who ask at the same place.
bool Worker::settleCensus(Block &block) {
  bool settled = false;
  for (uint32_t w = 0; w < block.warpCount; ++w) {
    Warp &warp = block.warps[w];
    for (uint32_t left = warp.live; left; left &= left - 1) {
      Thread &one = warp.lane(std::countr_zero(left));
      if (one.wait != Wait::Census) continue;
      uint32_t mask = 0;
      for (uint32_t rest = left; rest; rest &= rest - 1) {
        unsigned lane = std::countr_zero(rest);
        Thread &other = warp.lane(lane);
        if (other.wait == Wait::Census && other.waitSite == one.waitSite && other.waitKey == one.waitKey) mask |= 1u << lane;
      }
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        Thread &other = warp.lane(std::countr_zero(rest));
        other.result = mask;
        makeReady(other);
      }
      settled = true;
    }
  }
  return settled;
}

void Worker::run() {
  totals.blocks.byWarp.assign(launch.kernel.blockCount, 0);
  totals.blocks.byThread.assign(launch.kernel.blockCount, 0);
  lastAllocation.assign(launch.module.siteCount + 1, nullptr);
  tally.sharedTable = launch.workers > 1;
  int64_t idleCycles = 0;
  startBlock();
  while (!blocks.empty()) {
    bool moved = false;
    uint64_t spinning = 0;
    for (size_t i = 0; i < blocks.size();) {
      Block &block = *blocks[i];
      Turn last = Turn::Moved;
      for (int turns = 0; turns < 64 && last == Turn::Moved; ++turns) last = turn(block);
      if (last == Turn::Stuck) {
        reportFor(block, Reason::BarrierDivergence, stuckBecause(block));
        abandon(block);
        last = Turn::Ended;
      }
      if (last == Turn::Spun) spinning += block.liveThreads;
      moved |= last != Turn::Spun;
      if (last != Turn::Ended) {
        ++i;
        continue;
      }
      --launch.resident;
      idle.push_back(std::move(blocks[i]));
      blocks.erase(blocks.begin() + i);
    }
    if (blocks.empty()) {
      startBlock();
      continue;
    }
    if (moved) {
      idleCycles = 0;
      continue;
    }
    if (launch.resident < launch.maxResident && startBlock()) continue;
    if (++idleCycles < std::max<int64_t>(launch.options.hangBound / int64_t(std::max<uint64_t>(spinning, 1)), 64)) continue;
    Block &block = *blocks.front();
    Thread *one = nullptr;
    for (uint32_t i = 0; i < block.threadCount && !one; ++i)
      if (block.threads[i].wait == Wait::None) one = &block.threads[i];
    reportFor(block, Reason::Hang,
              (one ? threadName(block, one->linear) + " spins at " + at(launch, one->waitSite) : std::string("threads spin")) +
                  " and no other thread can change what it waits for");
    for (auto &each : blocks) abandon(*each);
    for (auto &each : blocks) idle.push_back(std::move(each)), --launch.resident;
    blocks.clear();
  }
  totals.counts.add(tally.counts);
  totals.atomicsAt = std::move(tally.atomicsAt);
}

std::string Worker::stuckBecause(Block &block) {
  // Names one place where threads wait, and one where others wait instead.
  std::string text;
  uint32_t first = ~0u;
  for (uint32_t i = 0; i < block.threadCount; ++i) {
    Thread &thread = block.threads[i];
    if (thread.wait == Wait::Ended || (first != ~0u && thread.waitSite == first)) continue;
    const char *what = thread.wait == Wait::Barrier ? "a barrier" : thread.wait == Wait::SyncWarp ? "__syncwarp" : "a warp operation";
    std::string mask = thread.wait == Wait::Barrier ? "" : " for " + lanesName(thread.waitMask);
    std::string here = threadName(block, i) + " waits" + mask + " in " + what + " at " + at(launch, thread.waitSite);
    if (first == ~0u) {
      first = thread.waitSite;
      text = here;
      continue;
    }
    return text + ", but " + here;
  }
  uint32_t ended = block.threadCount - block.liveThreads;
  return text + ", and no other thread can come (" + std::to_string(ended) + " of " + std::to_string(block.threadCount) +
         " threads of the block have ended)";
}

// ---------------------------------------------------------------- for the hooks

void suspend(Thread &thread) {
  Worker &worker = *thread.block->worker;
  FiberTransfer back = boost::context::detail::jump_fcontext(worker.scheduler, &thread);
  worker.scheduler = back.fctx;
}

void quantumSpent(Thread &thread) {
  ++thread.block->worker->activity;
  suspend(thread);
}

void makeReady(Thread &thread) {
  thread.wait = Wait::None;
  thread.myWarp->ready |= 1u << thread.lane;
  ++thread.block->worker->activity;
}

void blockUntilReady(Thread &thread) {
  thread.myWarp->ready &= ~(1u << thread.lane);
  suspend(thread);
}

void reportFor(Block &block, Reason reason, std::string detail) {
  LaunchState &launch = *block.launch;
  launch.report(block.order, reason, std::string(launch.kernel.name) + ": " + detail);
}

void raise(Thread &thread, Reason reason, std::string detail) {
  reportFor(*thread.block, reason, std::move(detail));
  thread.myWarp->ready &= ~(1u << thread.lane);
  suspend(thread);
  __builtin_unreachable(); // the block is abandoned
}

} // namespace klineage::emulated
