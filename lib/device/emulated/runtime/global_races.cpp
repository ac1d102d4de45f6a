// Races in global memory, within a block and between blocks.
//
// A cell is two words, the last write and the reads since, packed as: life 20 | thread 10 | clock 16 | site 14 | who 2 | strong 1 | atomic 1.
// "who" says whether the word stands for one thread, several lanes of a warp, several warps of a block, or several blocks. A life is the
// number of a block; a block whose clock outgrows 16 bits takes a new one at its next barrier.
#include "device/emulated/runtime/worker.h"
#include <bit>

namespace klineage::emulated {

std::string raceText(Thread &thread, const std::string &where, uint32_t bytes, uint32_t site, Act act, const std::string &other,
                     const char *otherVerb, const std::string &otherPlace, bool sameWarp, bool sameBlock);

namespace {

enum Who : uint32_t { OneThread, OneWarp, OneBlock, ManyBlocks };
constexpr uint32_t clockLimit = 0xFFFF, siteLimit = 0x3FFF;

struct Cell {
  uint32_t life, thread, clock, site;
  Who who;
  bool strong, atomic;
  static Cell unpack(uint64_t word) {
    return {uint32_t(word >> 44), uint32_t(word >> 34 & 1023), uint32_t(word >> 18 & clockLimit), uint32_t(word >> 4 & siteLimit),
            Who(word >> 2 & 3), bool(word >> 1 & 1), bool(word & 1)};
  }
  uint64_t pack() const {
    return uint64_t(life) << 44 | uint64_t(thread) << 34 | uint64_t(clock) << 18 | uint64_t(site) << 4 | uint64_t(who) << 2 |
           uint64_t(strong) << 1 | uint64_t(atomic);
  }
};

uint32_t clockIn(const Block &block, uint32_t clock) { return std::min(clock - block.lifeStart, clockLimit); }


/// Whether what the cell says is ordered before the thread, as far as the cell can tell.
bool ordered(const Thread &thread, const Cell &cell) {
  const Block &block = *thread.block;
  if (cell.life == block.life && cell.who != ManyBlocks) {
    if (cell.clock == clockLimit) return true; // unknown: silence
    uint32_t clock = cell.clock + block.lifeStart;
    if (clock < thread.base) return true;
    if (cell.who == OneThread && cell.thread == thread.linear) return true;
    bool sameWarp = cell.thread / 32 == thread.warp;
    if (cell.who != OneBlock && sameWarp && clock < thread.warpBase) return true;
    if (cell.who == OneBlock) return thread.peers || thread.acquired; // cannot tell which warps: silence where there is more than barriers
    if (thread.peers) {
      if (cell.who == OneWarp) {
        bool all = true;
        uint32_t first = cell.thread / 32 * 32;
        for (uint32_t i = first; i < std::min(first + 32, block.threadCount); ++i)
          all &= i == thread.linear || clock < (*thread.peers)[i];
        if (all) return true;
        return true; // some lanes may be known: cannot tell which of them it was
      }
      if (clock < (*thread.peers)[cell.thread]) return true;
    }
    return thread.acquired && knows(*thread.acquired, block.life, cell.thread, cell.clock, false);
  }
  LaunchState &launch = *block.launch;
  if (cell.who != ManyBlocks) {
    uint32_t owner = launch.ownerOf(cell.life);
    if (owner == block.order) return true; // an earlier life of this block: a barrier lies between
    if (!launch.crossBlock) return true;
    if (!thread.acquired) return false;
    if (cell.who == OneBlock || cell.clock == clockLimit) return true;
    return knows(*thread.acquired, cell.life, cell.thread, cell.clock, true);
  }
  return !launch.crossBlock || thread.acquired;
}

bool clash(Act act, const Cell &cell, bool cellWrites, bool sameWarp) {
  if (!isStrong(act) || !cell.strong) return true;
  if (isAtomic(act) || cell.atomic) return false;
  return sameWarp || (isWrite(act) && cellWrites);
}

[[noreturn]] void race(Thread &thread, const Allocation &allocation, uintptr_t address, uint32_t bytes, uint32_t site, Act act,
                       const Cell &cell, bool cellWrites) {
  Block &block = *thread.block;
  LaunchState &launch = *block.launch;
  bool sameBlock = cell.who != ManyBlocks && cell.life == block.life;
  bool sameWarp = sameBlock && cell.who != OneBlock && cell.thread / 32 == thread.warp;
  std::string other = sameBlock ? threadName(block, cell.thread)
                      : cell.who == ManyBlocks ? std::string("several blocks")
                                               : "a thread of " + blockName(launch, launch.ownerOf(cell.life));
  std::string place = cell.site == siteLimit ? "" : " at " + at(launch, cell.site);
  raise(thread, Reason::Race,
        raceText(thread, "byte " + std::to_string(address - allocation.base) + " of " + allocation.label, bytes, site, act, other,
                 !cellWrites ? "read" : cell.atomic ? "changed atomically" : "wrote", place, sameWarp, sameBlock));
}

Cell mine(const Thread &thread, uint32_t site, Act act) {
  return {thread.block->life, thread.linear, clockIn(*thread.block, thread.clock), std::min(site, siteLimit), OneThread, isStrong(act),
          isAtomic(act)};
}

/// One word for both the old events and the new one, which are not ordered.
Cell merge(const Cell &old, Cell fresh) {
  if (old.who == ManyBlocks || old.life != fresh.life) fresh.who = ManyBlocks;
  else if (old.who == OneBlock || old.thread / 32 != fresh.thread / 32) fresh.who = OneBlock;
  else if (old.who == OneWarp || old.thread != fresh.thread) fresh.who = OneWarp;
  fresh.clock = std::max(old.clock, fresh.clock);
  fresh.strong &= old.strong;
  fresh.atomic &= old.atomic;
  return fresh;
}

} // namespace

void touchGlobal(Thread &thread, Allocation &allocation, uintptr_t address, uint32_t bytes, uint32_t site, Act act) {
  if (!allocation.cells || allocation.constant) return;
  LaunchState &launch = *thread.block->launch;
  unsigned shift = launch.granuleShift;
  size_t offset = address - allocation.cellBase();
  bool write = isWrite(act);
  bool many = launch.workers > 1;
  Cell self = mine(thread, site, act);
  uint64_t selfWord = self.pack();
  for (size_t index = offset >> shift, end = (offset + bytes) >> shift; index < end; ++index) {
    GlobalCell &cell = allocation.cells[index];
    uint64_t lastWord = cell.write.load(std::memory_order_relaxed);
    bool atomicMerge = false;
    if (lastWord) {
      Cell last = Cell::unpack(lastWord);
      if (!ordered(thread, last)) {
        bool sameWarp = last.life == self.life && last.who <= OneWarp && last.thread / 32 == thread.warp;
        if (clash(act, last, true, sameWarp)) race(thread, allocation, address, bytes, site, act, last, true);
        atomicMerge = true;
      }
    }
    uint64_t readWord = cell.read.load(std::memory_order_relaxed);
    if (!write) {
      if (readWord == selfWord) continue;
      uint64_t next = selfWord;
      if (readWord) {
        if ((readWord >> 2 & 3) == ManyBlocks) continue; // nothing more to say
        Cell old = Cell::unpack(readWord);
        if (!ordered(thread, old)) {
          if (!old.strong && self.strong) continue; // the plain reader is the one that matters
          if (old.strong && !self.strong) next = selfWord;
          else next = merge(old, self).pack();
        }
      }
      if (next == readWord) continue;
      if (many) cell.read.compare_exchange_strong(readWord, next, std::memory_order_relaxed);
      else cell.read.store(next, std::memory_order_relaxed);
      continue;
    }
    if (readWord) {
      Cell read = Cell::unpack(readWord);
      if (!ordered(thread, read)) {
        bool sameWarp = read.life == self.life && read.who <= OneWarp && read.thread / 32 == thread.warp;
        if (clash(act, read, false, sameWarp)) race(thread, allocation, address, bytes, site, act, read, false);
      } else {
        cell.read.store(0, std::memory_order_relaxed);
      }
    }
    // Two unordered atomics: the cell stands for both, so that a later plain access is held against either.
    cell.write.store(atomicMerge ? merge(Cell::unpack(lastWord), self).pack() : selfWord, std::memory_order_relaxed);
  }
}

} // namespace klineage::emulated
