// Accesses: where an address lies, whether it may be touched, who touched it before, and how it counts.
#include "device/emulated/runtime/worker.h"
#include <bit>

namespace klineage::emulated {
namespace {


const char *verb(Act act) {
  switch (act) {
  case Act::Read: return "reads";
  case Act::Write: return "writes";
  case Act::VolatileRead: return "reads (volatile)";
  case Act::VolatileWrite: return "writes (volatile)";
  case Act::AtomicRead: return "reads atomically";
  case Act::AtomicStore:
  case Act::AtomicChange: return "changes atomically";
  }
  return "touches";
}

[[noreturn]] void outOfBounds(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, bool write) {
  LaunchState &launch = *thread.block->launch;
  std::string text = at(launch, site) + ": " + threadName(*thread.block, thread.linear) + (write ? " writes " : " reads ") +
                     std::to_string(bytes) + " bytes ";
  if (address < sharedHigh && address >= sharedLow) {
    auto offset = int64_t(address) - int64_t(reinterpret_cast<uintptr_t>(thread.block->shared));
    text += "at byte " + std::to_string(offset) + " of the block's " + std::to_string(thread.block->sharedBytes) +
            " bytes of shared memory";
    if (const kl_site *known = launch.site(site); known && known->sharedEnd)
      text += ", of which its variable has bytes " + std::to_string(known->sharedBegin) + " to " + std::to_string(known->sharedEnd - 1);
  } else if (address < 65536) {
    text += "at the null pointer plus " + std::to_string(address);
  } else if (const Allocation *near = launch.memory.nearest(address)) {
    auto offset = int64_t(address - near->base);
    text += "at byte " + std::to_string(offset) + " of " + near->label + ", which has " + std::to_string(near->bytes) + " bytes";
  } else {
    text += "outside every allocation";
  }
  raise(thread, Reason::OutOfBounds, std::move(text));
}

[[noreturn]] void misaligned(Thread &thread, uintptr_t address, uintptr_t from, const std::string &label, uint32_t bytes, uint32_t site,
                             bool write) {
  raise(thread, Reason::Misaligned,
        at(*thread.block->launch, site) + ": " + threadName(*thread.block, thread.linear) + (write ? " writes " : " reads ") +
            std::to_string(bytes) + " bytes at byte " + std::to_string(int64_t(address - from)) + " of " + label +
            ", an address that is not a multiple of " + std::to_string(bytes));
}

bool onStack(const Thread &thread, uintptr_t address) {
  auto low = reinterpret_cast<uintptr_t>(thread.stack.low);
  return address - low < StackPool::stackBytes;
}

} // namespace

namespace {

[[gnu::noinline]] Allocation &resolveAnew(Thread &thread, Allocation *&last, uintptr_t address, uint32_t bytes, uint32_t site, bool write) {
  Allocation *found = thread.block->launch->memory.find(address);
  if (!found || found->bytes - (address - found->base) < bytes) outOfBounds(thread, address, bytes, site, write);
  if (address & (bytes - 1)) misaligned(thread, address, found->base, found->label, bytes, site, write);
  if (write && found->constant)
    raise(thread, Reason::OutOfBounds,
          at(*thread.block->launch, site) + ": " + threadName(*thread.block, thread.linear) + " writes to constant memory (" +
              found->label + ")");
  last = found;
  return *found;
}

[[gnu::always_inline]] inline Allocation &resolveHere(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, bool write) {
  Allocation *&last = thread.lastAllocation[std::min(site, thread.siteCount)];
  if (Allocation *known = last) [[likely]] {
    uintptr_t offset = address - known->base;
    if (offset < known->bytes && known->bytes - offset >= bytes && !(address & (bytes - 1)) && !(write && known->constant)) return *known;
  }
  return resolveAnew(thread, last, address, bytes, site, write);
}

[[gnu::always_inline]] inline void checkSharedHere(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, bool write) {
  Block &block = *thread.block;
  size_t offset = address - reinterpret_cast<uintptr_t>(block.shared);
  if (offset > block.sharedBytes || block.sharedBytes - offset < bytes) outOfBounds(thread, address, bytes, site, write);
  if (site < thread.siteCount) [[likely]]
    if (const kl_site &own = thread.sites[site]; own.sharedEnd && (offset < own.sharedBegin || offset + bytes > own.sharedEnd))
      outOfBounds(thread, address, bytes, site, write);
  if (address & (bytes - 1))
    misaligned(thread, address, reinterpret_cast<uintptr_t>(block.shared), "the block's shared memory", bytes, site, write);
}

[[gnu::always_inline]] inline void recordHere(Thread &thread, RequestKind kind, uint32_t site, uint64_t key, uint64_t address,
                                              uint32_t bytes, Allocation *allocation) {
  Warp &warp = *thread.myWarp;
  Worker &worker = *thread.block->worker;
  while (!warp.log.add(thread.lane, warp.live, kind, site, key, address, bytes, allocation, worker.tally, thread.block->l1)) {
    uint64_t before = warp.joins;
    suspend(thread);
    if (warp.joins == before) warp.log.flushHalf(warp.live, worker.tally, thread.block->l1);
  }
  ++warp.joins;
}

[[gnu::always_inline]] inline void accessHere(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, uint64_t key, Act act,
                                              RequestKind global, RequestKind shared) {
  bool write = isWrite(act);
  if (address - sharedLow < sharedHigh - sharedLow) {
    checkSharedHere(thread, address, bytes, site, write);
    if (thread.check) touchShared(thread, address - reinterpret_cast<uintptr_t>(thread.block->shared), bytes, site, act);
    if (thread.count) {
      if (write) thread.rounds.close();
      else ++thread.sharedReads, ++thread.rounds.between;
      recordHere(thread, shared, site, key, address, bytes, nullptr);
    }
  } else if (onStack(thread, address)) {
    if (address & (bytes - 1))
      misaligned(thread, address, reinterpret_cast<uintptr_t>(thread.stack.low), "the thread's local memory", bytes, site, write);
    if (thread.count) recordHere(thread, write ? RequestKind::LocalStore : RequestKind::LocalLoad, site, key, address, bytes, nullptr);
    return;
  } else {
    Allocation &allocation = resolveHere(thread, address, bytes, site, write);
    if (thread.check) touchGlobal(thread, allocation, address, bytes, site, act);
    if (thread.count) {
      if (write) thread.rounds.close();
      else thread.rounds.load(key);
      recordHere(thread, allocation.constant ? RequestKind::ConstantLoad : global, site, key, address, bytes, &allocation);
    }
  }
  if (act == Act::VolatileRead) takeIn(thread, address);
  else if (act == Act::VolatileWrite) handOut(thread, address);
}

bool isVolatile(const Thread &thread, uint32_t site) { return site < thread.siteCount && (thread.sites[site].flags & KL_VOLATILE); }

} // namespace

Allocation &resolve(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, bool write) {
  return resolveHere(thread, address, bytes, site, write);
}

void checkShared(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, bool write) {
  checkSharedHere(thread, address, bytes, site, write);
}

void record(Thread &thread, RequestKind kind, uint32_t site, uint64_t key, uint64_t address, uint32_t bytes, Allocation *allocation) {
  recordHere(thread, kind, site, key, address, bytes, allocation);
}

void access(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site, uint64_t key, Act act, RequestKind global,
            RequestKind shared) {
  accessHere(thread, address, bytes, site, key, act, global, shared);
}

std::string raceText(Thread &thread, const std::string &where, uint32_t bytes, uint32_t site, Act act, const std::string &other,
                     const char *otherVerb, const std::string &otherPlace, bool sameWarp, bool sameBlock) {
  LaunchState &launch = *thread.block->launch;
  std::string text = at(launch, site) + ": " + threadName(*thread.block, thread.linear) + " " + verb(act) + " " + std::to_string(bytes) +
                     " bytes at " + where + ", which " + other + " " + otherVerb + otherPlace;
  if (sameWarp)
    return text + "; lanes of one warp are not ordered without __syncwarp() between (lockstep, shuffles and votes order nothing)";
  if (sameBlock) return text + "; no barrier orders the two";
  return text + "; nothing orders the two blocks (a fence and an atomic, or the end of the launch, would)";
}

} // namespace klineage::emulated

using namespace klineage::emulated;

extern "C" {

void kl_load(kl_thread *self, const void *address, uint32_t bytes, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  spendQuantum(thread);
  auto where = reinterpret_cast<uintptr_t>(address);
  if (isVolatile(thread, site)) [[unlikely]]
    access(thread, where, bytes, site, key, Act::VolatileRead, RequestKind::GlobalLoad, RequestKind::SharedLoad);
  else accessHere(thread, where, bytes, site, key, Act::Read, RequestKind::GlobalLoad, RequestKind::SharedLoad);
}

void kl_store(kl_thread *self, void *address, uint32_t bytes, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  spendQuantum(thread);
  auto where = reinterpret_cast<uintptr_t>(address);
  if (isVolatile(thread, site)) [[unlikely]]
    access(thread, where, bytes, site, key, Act::VolatileWrite, RequestKind::GlobalStore, RequestKind::SharedStore);
  else accessHere(thread, where, bytes, site, key, Act::Write, RequestKind::GlobalStore, RequestKind::SharedStore);
  noteChange(thread);
}

} // extern "C"

namespace {
/// The widest aligned piece at a place, as a compiler would copy it.
uint32_t piece(uintptr_t a, uintptr_t b, uint64_t left) {
  uint32_t bytes = 16;
  while (bytes > 1 && (((a | b) & (bytes - 1)) || bytes > left)) bytes /= 2;
  return bytes;
}

/// The pieces of one copy are requests of their own.
uint64_t partOf(uint64_t key, uint64_t part) { return (key ^ part) * 0x9E3779B97F4A7C15u + part; }

void copy(Thread &thread, void *to, const void *from, uint64_t bytes, uint32_t site, uint64_t key) {
  auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  uint64_t part = 0;
  auto one = [&](uint64_t done, uint32_t width) {
    unsigned char data[16];
    uint64_t partKey = partOf(key, part++);
    spendQuantum(thread);
    access(thread, source + done, width, site, partKey, Act::Read, RequestKind::GlobalLoad, RequestKind::SharedLoad);
    std::memcpy(data, reinterpret_cast<const void *>(source + done), width);
    access(thread, target + done, width, site, partKey, Act::Write, RequestKind::GlobalStore, RequestKind::SharedStore);
    std::memcpy(reinterpret_cast<void *>(target + done), data, width);
  };
  if (target > source && target - source < bytes) { // overlapping: backwards
    for (uint64_t left = bytes; left > 0;) {
      uint32_t width = 16;
      while (width > 1 && (((target + left - width) | (source + left - width)) & (width - 1) || width > left)) width /= 2;
      left -= width;
      one(left, width);
    }
  } else {
    for (uint64_t done = 0; done < bytes;) {
      uint32_t width = piece(target + done, source + done, bytes - done);
      one(done, width);
      done += width;
    }
  }
  noteChange(thread);
}
} // namespace

extern "C" {

void kl_memcpy(kl_thread *self, void *to, const void *from, uint64_t bytes, uint32_t site, uint64_t key) {
  copy(threadOf(self), to, from, bytes, site, key);
}

void kl_memmove(kl_thread *self, void *to, const void *from, uint64_t bytes, uint32_t site, uint64_t key) {
  copy(threadOf(self), to, from, bytes, site, key);
}

void kl_memset(kl_thread *self, void *to, uint32_t byte, uint64_t bytes, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  auto target = reinterpret_cast<uintptr_t>(to);
  uint64_t part = 0;
  for (uint64_t done = 0; done < bytes;) {
    uint32_t width = piece(target + done, target + done, bytes - done);
    spendQuantum(thread);
    access(thread, target + done, width, site, partOf(key, part++), Act::Write, RequestKind::GlobalStore,
           RequestKind::SharedStore);
    std::memset(reinterpret_cast<void *>(target + done), int(byte), width);
    done += width;
  }
  noteChange(thread);
}

uint32_t kl_is_space(kl_thread *self, const void *pointer, uint32_t space) {
  Thread &thread = threadOf(self);
  auto address = reinterpret_cast<uintptr_t>(pointer);
  bool inShared = address - sharedLow < sharedHigh - sharedLow, local = onStack(thread, address);
  switch (space) {
  case KL_SHARED: return inShared;
  case KL_LOCAL: return local;
  case KL_GLOBAL:
  case KL_CONSTANT: {
    if (inShared || local) return 0;
    Allocation *found = thread.block->launch->memory.find(address);
    bool constant = found && found->constant;
    return space == KL_CONSTANT ? constant : !constant;
  }
  default: return 0;
  }
}

} // extern "C"
