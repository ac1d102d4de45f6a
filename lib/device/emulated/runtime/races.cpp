// Races: the events kept in the shadow cells against what the acting thread knows (order.h).
//
// Atomics do not race with atomics, nor volatile accesses with atomics or, of different warps, a volatile read with a volatile write (that
// is how flags are polled). Everything else that touches one granule, once writing, must be ordered: also equal values, which CUDA
// makes no exception for. Where a cell has room for less than happened, it errs towards silence, never towards a false race.
#include "device/emulated/runtime/worker.h"
#include <bit>

namespace klineage::emulated {

std::string raceText(Thread &thread, const std::string &where, uint32_t bytes, uint32_t site, Act act, const std::string &other,
                     const char *otherVerb, const std::string &otherPlace, bool sameWarp, bool sameBlock);

namespace {


/// Whether an earlier event of the same block is ordered before what the thread does now.
inline bool ordered(const Thread &thread, uint32_t other, uint32_t clock) {
  if (clock < thread.base || other == thread.linear) return true;
  if ((other ^ thread.linear) < 32 && other / 32 == thread.linear / 32 && clock < thread.warpBase) return true;
  if (thread.peers && clock < (*thread.peers)[other]) return true;
  const Block &block = *thread.block;
  return thread.acquired && clock >= block.lifeStart &&
         knows(*thread.acquired, block.life, other, clock - block.lifeStart, false);
}

/// Whether two accesses that are not ordered are a race, given that at least one writes.
bool clash(Act act, bool otherStrong, bool otherAtomic, bool otherWrites, bool sameWarp) {
  if (!isStrong(act) || !otherStrong) return true;
  if (isAtomic(act) || otherAtomic) return false;
  return sameWarp || (isWrite(act) && otherWrites);
}

[[noreturn]] void sharedRace(Thread &thread, size_t offset, uint32_t bytes, uint32_t site, Act act, uint32_t other, const char *otherVerb,
                             uint32_t otherSite) {
  Block &block = *thread.block;
  std::string place = otherSite == Event::siteLimit ? "" : " at " + at(*block.launch, otherSite);
  raise(thread, Reason::Race,
        raceText(thread, "byte " + std::to_string(offset) + " of shared memory", bytes, site, act, threadName(block, other), otherVerb,
                 place, other / 32 == thread.linear / 32, true));
}

void checkReaders(Thread &thread, SharedCell &cell, size_t index, size_t offset, uint32_t bytes, uint32_t site, Act act) {
  Block &block = *thread.block;
  uint64_t read = cell.read;
  uint32_t clock = Event::clock(read);
  bool strong = read & Event::strong;
  if (!(read & Event::special)) {
    uint32_t other = Event::thread(read);
    if (!ordered(thread, other, clock) && clash(act, strong, false, false, other / 32 == thread.linear / 32))
      sharedRace(thread, offset, bytes, site, act, other, "read", Event::site(read));
    return;
  }
  for (unsigned w = 0; w < block.warpCount; ++w) {
    uint64_t entry = block.shadow.reader(w, index);
    uint32_t latest = entry >> 32;
    if (latest < thread.base) continue;
    if (!clash(act, strong, false, false, w == thread.warp)) continue;
    if (w == thread.warp && latest < thread.warpBase) continue;
    for (uint32_t lanes = uint32_t(entry); lanes; lanes &= lanes - 1) {
      uint32_t other = w * 32 + std::countr_zero(lanes);
      if (ordered(thread, other, latest)) continue;
      bool named = Event::thread(read) == other; // the summary knows the site of the last reader only
      sharedRace(thread, offset, bytes, site, act, other, "read", named ? Event::site(read) : Event::siteLimit);
    }
  }
}

void noteReader(Thread &thread, SharedCell &cell, size_t index, uint32_t site, Act act) {
  Block &block = *thread.block;
  uint64_t flags = isStrong(act) ? Event::strong : 0;
  uint64_t mine = Event::pack(thread.clock, site, thread.linear, flags);
  uint64_t read = cell.read;
  if (read == mine) return;
  uint32_t clock = Event::clock(read), other = Event::thread(read);
  auto enter = [&](uint32_t who, uint32_t when) {
    uint64_t &entry = block.shadow.reader(who / 32, index);
    uint32_t latest = entry >> 32, lanes = uint32_t(entry);
    bool old = latest < block.threads[who].base || (who / 32 == thread.warp && latest < thread.warpBase);
    if (old) entry = uint64_t(when) << 32 | 1u << (who & 31);
    else entry = uint64_t(std::max(latest, when)) << 32 | lanes | 1u << (who & 31);
  };
  if (!(read & Event::special)) {
    if (!read || ordered(thread, other, clock)) { // it knows of the only reader: it stands for both
      cell.read = mine;
      return;
    }
    enter(other, clock);
  } else if (clock < thread.base) {
    cell.read = mine;
    return;
  }
  enter(thread.linear, thread.clock);
  cell.read = Event::pack(std::max(clock, thread.clock), site, thread.linear, Event::special | (flags & read));
}

} // namespace

void touchShared(Thread &thread, size_t offset, uint32_t bytes, uint32_t site, Act act) {
  Block &block = *thread.block;
  bool write = isWrite(act);
  if (!write || act == Act::AtomicChange) {
    if (!block.shadow.allInitialized(offset, bytes) && copyInFlight(block, offset, bytes))
      raise(thread, Reason::Race,
            at(*block.launch, site) + ": " + threadName(block, thread.linear) + " reads byte " + std::to_string(offset) +
                " of shared memory, which a cp.async that nobody has waited for writes");
    if (!block.shadow.allInitialized(offset, bytes))
      raise(thread, Reason::UninitializedRead,
            at(*block.launch, site) + ": " + threadName(block, thread.linear) + " reads " + std::to_string(bytes) + " bytes at byte " +
                std::to_string(offset) + " of shared memory that nobody has written");
  }
  if (write) block.shadow.setInitialized(offset, bytes);
  unsigned shift = block.shadow.granuleShift();
  for (size_t index = offset >> shift, end = (offset + bytes) >> shift; index < end; ++index) {
    SharedCell &cell = block.shadow.cell(index);
    uint64_t last = cell.write;
    if (Event::clock(last) >= thread.base) {
      uint32_t other = Event::thread(last);
      if (!ordered(thread, other, Event::clock(last)) &&
          clash(act, last & Event::strong, last & Event::special, true, other / 32 == thread.linear / 32))
        sharedRace(thread, offset, bytes, site, act, other, last & Event::special ? "changed atomically" : "wrote", Event::site(last));
    }
    if (!write) {
      noteReader(thread, cell, index, site, act);
      continue;
    }
    if (Event::clock(cell.read) >= thread.base) checkReaders(thread, cell, index, offset, bytes, site, act);
    cell.read = 0;
    cell.write = Event::pack(thread.clock, site, thread.linear,
                             (isStrong(act) ? Event::strong : 0) | (isAtomic(act) ? Event::special : 0));
  }
}

} // namespace klineage::emulated
