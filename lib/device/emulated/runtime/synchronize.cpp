// What orders memory: barriers, warp syncs, fences, and the meeting of lanes.
#include "device/emulated/runtime/worker.h"
#include <algorithm>
#include <bit>

namespace klineage::emulated {
namespace {

bool samePlace(const LaunchState &launch, uint32_t a, uint32_t b) {
  if (a == b) return true;
  const kl_site *one = launch.site(a), *two = launch.site(b);
  return one && two && one->line == two->line && one->file && two->file && std::string_view(one->file) == two->file;
}

/// The highest clocks of two tables.
void raiseTo(std::shared_ptr<PeerClocks> &into, const std::shared_ptr<const PeerClocks> &from) {
  if (!from) return;
  for (size_t i = 0; i < from->size(); ++i) (*into)[i] = std::max((*into)[i], (*from)[i]);
}

void raiseWarp(PeerClocks &into, const Block &block, uint32_t warp, uint32_t clock) {
  for (uint32_t i = warp * 32; i < std::min(warp * 32 + 32, block.threadCount); ++i) into[i] = std::max(into[i], clock);
}

/// Everyone knows everything that the block did.
void passWholeBlock(Block &block, Barrier &barrier) {
  LaunchState &launch = *block.launch;
  ++block.now;
  if (block.now - block.lifeStart > 50000) {
    block.life = launch.newLife(block.order);
    block.lifeStart = block.now - 1;
  }
  std::shared_ptr<const Acquisitions> all;
  for (Thread *thread : barrier.waiting) learn(all, thread->acquired);
  for (auto &arrival : barrier.arrivals) learn(all, arrival.acquired);
  for (Thread *thread : barrier.waiting) {
    thread->clock = thread->base = thread->warpBase = block.now;
    thread->peers.reset();
    thread->acquired = all;
  }
}

/// Lanes of one warp know what each of them did.
void passLanes(Warp &warp, uint32_t lanes) {
  Block &block = *warp.first->block;
  ++block.now;
  std::shared_ptr<const Acquisitions> all;
  std::shared_ptr<PeerClocks> known;
  bool everyone = !(warp.live & ~lanes);
  auto each = [&](auto &&fn) {
    for (uint32_t left = lanes; left; left &= left - 1) fn(warp.lane(std::countr_zero(left)));
  };
  each([&](Thread &thread) {
    learn(all, thread.acquired);
    if (!known && (!everyone || thread.peers)) known = std::make_shared<PeerClocks>(block.threadCount, 0);
  });
  if (known) {
    const PeerClocks *last = nullptr;
    each([&](Thread &thread) {
      if (thread.peers.get() != last) raiseTo(known, thread.peers), last = thread.peers.get();
      if (!everyone) raiseWarp(*known, block, thread.warp, thread.warpBase);
    });
    each([&](Thread &thread) { (*known)[thread.linear] = block.now; });
  }
  each([&](Thread &thread) {
    thread.clock = block.now;
    if (everyone) thread.warpBase = block.now;
    if (known) thread.peers = known;
    thread.acquired = all;
  });
  if (block.launch->options.count) ++block.worker->tally.counts[Count::warp_syncs];
}

/// Those who came know what those who came did.
void passSome(Block &block, Barrier &barrier) {
  ++block.now;
  auto known = std::make_shared<PeerClocks>(block.threadCount, 0);
  std::shared_ptr<const Acquisitions> all;
  const PeerClocks *lastPeers = nullptr;
  for (Thread *thread : barrier.waiting) {
    learn(all, thread->acquired);
    if (thread->peers.get() != lastPeers) raiseTo(known, thread->peers), lastPeers = thread->peers.get();
    raiseWarp(*known, block, thread->warp, thread->warpBase);
  }
  for (auto &arrival : barrier.arrivals) {
    learn(all, arrival.acquired);
    raiseTo(known, arrival.peers);
    raiseWarp(*known, block, arrival.thread / 32, arrival.warpBase);
    (*known)[arrival.thread] = std::max((*known)[arrival.thread], arrival.self);
  }
  for (Thread *thread : barrier.waiting) (*known)[thread->linear] = block.now;
  for (Thread *thread : barrier.waiting) {
    thread->clock = block.now;
    thread->peers = known;
    thread->acquired = all;
  }
}

bool complete(const Block &block, const Barrier &barrier) {
  if (!barrier.open()) return false;
  if (barrier.expected == 0) return barrier.waiting.size() + barrier.arrivals.size() >= block.liveThreads;
  uint32_t came = 0;
  for (uint32_t w = 0; w < block.warpCount; ++w) {
    uint32_t lanes = barrier.lanes[w];
    if (lanes) came += block.warps[w].live & ~lanes ? std::popcount(lanes) : 32; // hardware counts whole warps
  }
  return came >= barrier.expected;
}

void pass(Block &block, Barrier &barrier, uint32_t op, bool reduce) {
  LaunchState &launch = *block.launch;
  bool whole = barrier.waiting.size() + barrier.arrivals.size() >= block.liveThreads;
  if (whole && barrier.arrivals.empty()) passWholeBlock(block, barrier);
  else passSome(block, barrier);
  if (launch.options.count) {
    ++block.worker->tally.counts[Count::barriers];
    block.worker->tally.counts[Count::barrier_arrivals] += barrier.waiting.size() + barrier.arrivals.size();
    if (whole)
      for (uint32_t w = 0; w < block.warpCount; ++w) block.warps[w].log.flush(block.worker->tally, block.l1);
  }
  uint32_t answer = op == KL_REDUCE_POPC ? barrier.ones : op == KL_REDUCE_AND ? barrier.ones == barrier.votes : barrier.ones > 0;
  std::vector<Thread *> waiting = std::move(barrier.waiting);
  barrier = {};
  for (Thread *thread : waiting) {
    thread->result = reduce ? answer : 0;
    makeReady(*thread);
  }
}

Barrier &arriveAt(Thread &thread, uint32_t id, uint32_t count, uint32_t site) {
  Block &block = *thread.block;
  if (id >= 16)
    raise(thread, Reason::BarrierDivergence, at(*block.launch, site) + ": barrier " + std::to_string(id) + " does not exist (0 to 15 do)");
  Barrier &barrier = block.barriers[id];
  uint32_t whole = block.warpCount * 32;
  uint32_t expected = count == 0 || count >= whole || (id == 0 && count == block.threadCount) ? 0 : count;
  if (!barrier.open()) {
    barrier.expected = expected;
    barrier.site = site;
    barrier.lanes.assign(block.warpCount, 0);
  } else if (barrier.expected != expected) {
    raise(thread, Reason::BarrierDivergence,
          at(*block.launch, site) + ": " + threadName(block, thread.linear) + " brings another thread count to barrier " +
              std::to_string(id) + " than those at " + at(*block.launch, barrier.site));
  } else if (expected == 0 && !samePlace(*block.launch, barrier.site, site)) {
    raise(thread, Reason::BarrierDivergence,
          at(*block.launch, site) + ": " + threadName(block, thread.linear) + " waits here while other threads of the block wait at " +
              at(*block.launch, barrier.site));
  }
  barrier.lanes[thread.warp] |= 1u << thread.lane;
  return barrier;
}

uint32_t barrier(kl_thread *self, uint32_t id, uint32_t count, uint32_t op, bool reduce, uint32_t predicate, uint32_t site) {
  Thread &thread = threadOf(self);
  Block &block = *thread.block;
  Barrier &barrier = arriveAt(thread, id, count, site);
  thread.rounds.close();
  barrier.waiting.push_back(&thread);
  ++barrier.votes;
  barrier.ones += predicate != 0;
  thread.wait = Wait::Barrier;
  thread.waitSite = site;
  thread.payload = reinterpret_cast<void *>(uintptr_t(op) << 1 | reduce);
  if (complete(block, barrier)) {
    pass(block, barrier, op, reduce);
    // The last to come goes on at once; it is ready already.
    return uint32_t(thread.result);
  }
  blockUntilReady(thread);
  return uint32_t(thread.result);
}


} // namespace

Release snapshot(Thread &thread) {
  Block &block = *thread.block;
  Release release;
  release.block = block.life;
  release.thread = thread.linear;
  // Clocks of a life, so that they can be compared with what cells of global memory hold.
  uint32_t start = block.lifeStart;
  auto inLife = [&](uint32_t clock) { return clock > start ? clock - start : 0; };
  release.base = inLife(thread.base);
  release.warpBase = inLife(thread.warpBase);
  if (thread.peers) {
    auto peers = std::make_shared<PeerClocks>(*thread.peers);
    for (uint32_t &clock : *peers) clock = inLife(clock);
    release.peers = std::move(peers);
  }
  release.acquired = thread.acquired;
  thread.clock = ++block.now;
  release.self = inLife(thread.clock);
  return release;
}

SyncVariables &syncFor(Thread &thread, uintptr_t address) {
  bool shared = address - sharedLow < sharedHigh - sharedLow;
  return shared ? thread.block->sharedSync : thread.block->launch->globalSync;
}

void takeIn(Thread &thread, uintptr_t address) {
  if (!thread.block->launch->options.check) return;
  SyncVariable *variable = syncFor(thread, address).find(address);
  if (!variable) return;
  uint32_t seen;
  {
    std::lock_guard guard(variable->lock);
    seen = variable->log.size();
  }
  learn(thread.acquired, variable, seen);
}

void handOut(Thread &thread, uintptr_t address) {
  if (thread.fence) syncFor(thread, address).release(address, *thread.fence);
}

void threadEnded(Thread &thread) {
  Block &block = *thread.block;
  Warp &warp = *thread.myWarp;
  LaunchState &launch = *block.launch;
  auto &byThread = block.worker->totals.blocks.byThread;
  for (uint32_t i = 0; i < launch.kernel.blockCount; ++i) {
    uint32_t count = thread.blockCounts[i];
    if (!count) continue;
    byThread[i] += count;
    warp.blockMax[i] = std::max(warp.blockMax[i], count);
  }
  thread.rounds.close();
  if (thread.rounds.bare + thread.rounds.covered > warp.rounds.bare + warp.rounds.covered) warp.rounds = thread.rounds;
  warp.live &= ~(1u << thread.lane);
  warp.ready &= ~(1u << thread.lane);
  --block.liveThreads;
  noteChange(thread);
  thread.peers.reset();
  thread.acquired.reset();
  thread.fence.reset();
  thread.copies = {};
  thread.copyGroups = {};
  thread.copyStarts = {};
  for (Barrier &barrier : block.barriers)
    if (!barrier.waiting.empty() && complete(block, barrier)) {
      auto packed = reinterpret_cast<uintptr_t>(barrier.waiting.front()->payload);
      pass(block, barrier, packed >> 1, packed & 1);
    }
  lanesLeft(warp);
}

} // namespace klineage::emulated

using namespace klineage::emulated;

extern "C" {

void kl_barrier(kl_thread *self, uint32_t id, uint32_t count, uint32_t site, uint64_t) { barrier(self, id, count, 0, false, 0, site); }

uint32_t kl_barrier_reduce(kl_thread *self, uint32_t id, uint32_t count, uint32_t op, uint32_t predicate, uint32_t site, uint64_t) {
  return barrier(self, id, count, op, true, predicate, site);
}

void kl_barrier_arrive(kl_thread *self, uint32_t id, uint32_t count, uint32_t site, uint64_t) {
  Thread &thread = threadOf(self);
  Block &block = *thread.block;
  Barrier &barrier = arriveAt(thread, id, count, site);
  Barrier::Arrival arrival{thread.linear, 0, thread.warpBase, thread.peers, thread.acquired};
  thread.clock = ++block.now;
  arrival.self = thread.clock;
  barrier.arrivals.push_back(std::move(arrival));
  ++barrier.votes;
  if (complete(block, barrier)) pass(block, barrier, 0, false);
}

void kl_syncwarp(kl_thread *self, uint32_t mask, uint32_t site, uint64_t key) {
  meet(threadOf(self), Wait::SyncWarp, mask, site, key, nullptr, passLanes);
}

void kl_fence(kl_thread *self, uint32_t orderScope, uint32_t, uint64_t) {
  Thread &thread = threadOf(self);
  LaunchState &launch = *thread.block->launch;
  if (launch.options.check) {
    thread.fence = std::make_unique<Release>(snapshot(thread));
    thread.fence->blockScope = orderScope >> 8 == KL_SCOPE_BLOCK;
  }
  if (launch.options.count) ++thread.block->worker->tally.counts[Count::fences];
}

} // extern "C"
