// SharedShadow: who wrote and who read each granule of one block's shared memory, for races and uninitialized reads.
//
// A cell holds the last write and a summary of the reads since; when more than one thread read, the reads are kept for each warp too (the
// lanes, and their latest clock), so that a write can be checked against every reader exactly. Clocks go on from block to block in
// the same slot, so nothing but the map of initialized bytes is cleared between blocks.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace klineage::emulated {

/// One event of a cell: clock 32 | site 20 | thread 10 | flags 2. Zero: none (clocks begin at 1).
struct Event {
  static constexpr uint64_t strong = 1;  ///< Atomic or volatile.
  static constexpr uint64_t special = 2; ///< In a write: atomic. In a read summary: more than one thread.
  static constexpr uint32_t siteLimit = (1u << 20) - 1;
  static uint64_t pack(uint32_t clock, uint32_t site, uint32_t thread, uint64_t flags) {
    return uint64_t(clock) << 32 | uint64_t(site < siteLimit ? site : siteLimit) << 12 | uint64_t(thread) << 2 | flags;
  }
  static uint32_t clock(uint64_t event) { return event >> 32; }
  static uint32_t site(uint64_t event) { return event >> 12 & siteLimit; }
  static uint32_t thread(uint64_t event) { return event >> 2 & 1023; }
};

struct SharedCell {
  uint64_t write = 0, read = 0;
};

class SharedShadow {
public:
  /// Sizes the tables; granule is 1 << shift bytes.
  void configure(size_t bytes, unsigned warps, unsigned granuleShift) {
    shift = granuleShift;
    size_t wanted = (bytes >> shift) + 16;
    if (wanted != cellCount || warps != warpCount) {
      cellCount = wanted;
      warpCount = warps;
      cells.assign(cellCount, {});
      readers.assign(cellCount * warps, 0);
    }
    initialized.assign(bytes / 8 + 8, 0);
  }
  /// After clocks started anew.
  void forget() {
    cells.assign(cellCount, {});
    readers.assign(readers.size(), 0);
  }
  SharedCell &cell(size_t index) { return cells[index]; }
  /// Readers of a cell from one warp: latest clock 32 | lanes 32.
  uint64_t &reader(unsigned warp, size_t index) { return readers[warp * cellCount + index]; }
  unsigned warps() const { return warpCount; }
  unsigned granuleShift() const { return shift; }

  bool allInitialized(size_t offset, unsigned bytes) const {
    uint32_t bits;
    std::memcpy(&bits, &initialized[offset >> 3], 4);
    uint32_t wanted = bytes >= 32 ? ~0u : (1u << bytes) - 1;
    return (bits >> (offset & 7) & wanted) == wanted;
  }
  void setInitialized(size_t offset, unsigned bytes) {
    uint32_t bits;
    std::memcpy(&bits, &initialized[offset >> 3], 4);
    bits |= ((1u << bytes) - 1) << (offset & 7);
    std::memcpy(&initialized[offset >> 3], &bits, 4);
  }

  void clearInitialized(size_t offset, unsigned bytes) {
    uint32_t bits;
    std::memcpy(&bits, &initialized[offset >> 3], 4);
    bits &= ~(((1u << bytes) - 1) << (offset & 7));
    std::memcpy(&initialized[offset >> 3], &bits, 4);
  }

private:
  std::vector<SharedCell> cells;
  std::vector<uint64_t> readers;
  std::vector<uint8_t> initialized;
  size_t cellCount = 0;
  unsigned warpCount = 0, shift = 2;
};

} // namespace klineage::emulated
