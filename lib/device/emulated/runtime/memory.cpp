#include "device/emulated/runtime/memory.h"
#include <bit>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace klineage::emulated {
namespace {
constexpr size_t page = 4096;
constexpr size_t guardBytes = 4096;          ///< Pattern on each side of a buffer, beside the rounding up to pages.
constexpr size_t gapBytes = size_t(1) << 33; ///< Unmapped on each side.
constexpr unsigned char guardByte = 0xB5;

size_t roundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

void *mapLazily(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void *where = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (where == MAP_FAILED) throw std::bad_alloc();
  return where;
}

void drop(void *where, size_t bytes) {
  if (where) munmap(where, bytes);
}

bool holdsPattern(const unsigned char *from, const unsigned char *to) {
  for (; from != to; ++from)
    if (*from != guardByte) return false;
  return true;
}

void unmap(Allocation &allocation) {
  if (allocation.owned) drop(allocation.mapping, allocation.mappingBytes);
  drop(allocation.cells, allocation.cellsBytes);
  drop(allocation.sectorsRead, allocation.sectorsBytes);
  drop(allocation.sectorsWritten, allocation.sectorsBytes);
}
} // namespace

DeviceMemory::~DeviceMemory() {
  for (auto &[base, allocation] : byBase) {
    unmap(*allocation);
    delete allocation;
  }
}

void *DeviceMemory::allocate(size_t bytes, size_t alignment, size_t offset, std::string label) {
  if (alignment == 0) alignment = 256;
  size_t body = roundUp(guardBytes + alignment + offset + bytes + guardBytes, page);
  auto *allocation = new Allocation;
  allocation->number = ++made;
  allocation->mappingBytes = body + 2 * gapBytes;
  allocation->mapping = mapLazily(allocation->mappingBytes, PROT_NONE);
  allocation->owned = true;
  auto low = reinterpret_cast<uintptr_t>(allocation->mapping) + gapBytes;
  mprotect(reinterpret_cast<void *>(low), body, PROT_READ | PROT_WRITE);
  allocation->base = roundUp(low + guardBytes, alignment) + offset;
  allocation->bytes = bytes;
  allocation->label = std::move(label);
  std::memset(reinterpret_cast<void *>(low), guardByte, allocation->base - low);
  uintptr_t end = allocation->base + bytes;
  std::memset(reinterpret_cast<void *>(end), guardByte, low + body - end);
  byBase[allocation->base] = allocation;
  return reinterpret_cast<void *>(allocation->base);
}

bool DeviceMemory::release(void *address) {
  auto found = byBase.find(reinterpret_cast<uintptr_t>(address));
  if (found == byBase.end() || !found->second->owned) return false;
  unmap(*found->second);
  delete found->second;
  byBase.erase(found);
  return true;
}

void DeviceMemory::addGlobal(void *address, size_t bytes, std::string label, bool constant) {
  auto base = reinterpret_cast<uintptr_t>(address);
  if (bytes == 0 || byBase.count(base)) return;
  auto *allocation = new Allocation;
  allocation->number = ++made;
  allocation->base = base;
  allocation->bytes = bytes;
  allocation->label = std::move(label);
  allocation->constant = constant;
  byBase[base] = allocation;
}

Allocation *DeviceMemory::find(uintptr_t address) const {
  auto after = byBase.upper_bound(address);
  if (after == byBase.begin()) return nullptr;
  Allocation *allocation = std::prev(after)->second;
  return address - allocation->base < allocation->bytes ? allocation : nullptr;
}

const Allocation *DeviceMemory::nearest(uintptr_t address) const {
  const Allocation *best = nullptr;
  uintptr_t distance = ~uintptr_t(0);
  for (auto &[base, allocation] : byBase) {
    uintptr_t away = address < base ? base - address : address - base < allocation->bytes ? 0 : address - base - allocation->bytes;
    if (away < distance) distance = away, best = allocation;
  }
  return best;
}

std::vector<std::string> DeviceMemory::damagedGuards() const {
  std::vector<std::string> damaged;
  for (auto &[base, allocation] : byBase) {
    if (!allocation->owned) continue;
    auto *low = static_cast<const unsigned char *>(allocation->mapping) + gapBytes;
    auto *high = static_cast<const unsigned char *>(allocation->mapping) + allocation->mappingBytes - gapBytes;
    auto *first = reinterpret_cast<const unsigned char *>(allocation->base);
    if (!holdsPattern(low, first)) damaged.push_back(allocation->label + " (before its start)");
    if (!holdsPattern(first + allocation->bytes, high)) damaged.push_back(allocation->label + " (behind its end)");
  }
  return damaged;
}

void DeviceMemory::prepare(bool races, unsigned granuleShift, bool sectors) {
  for (auto &[base, allocation] : byBase) {
    if (allocation->cells && (!races || granuleShift != shadowShift)) {
      drop(allocation->cells, allocation->cellsBytes);
      allocation->cells = nullptr;
    }
    if (races && allocation->cells) madvise(allocation->cells, allocation->cellsBytes, MADV_DONTNEED);
    if (races && !allocation->cells) {
      allocation->cellsBytes = roundUp((((allocation->bytes + 16) >> granuleShift) + 8) * sizeof(GlobalCell), page);
      allocation->cells = static_cast<GlobalCell *>(mapLazily(allocation->cellsBytes));
    }
    if (!sectors) continue;
    allocation->sectorsBytes = roundUp((allocation->bytes / 32 + 2) / 8 + 8, page);
    for (auto **bitmap : {&allocation->sectorsRead, &allocation->sectorsWritten}) {
      if (*bitmap) madvise(*bitmap, allocation->sectorsBytes, MADV_DONTNEED);
      else *bitmap = static_cast<std::atomic<uint64_t> *>(mapLazily(allocation->sectorsBytes));
    }
  }
  shadowShift = granuleShift;
}

namespace {
/// Counts set bits, but looks only at pages of the bitmap that were ever touched: a buffer of terabytes has a bitmap of gigabytes.
template <typename Word> uint64_t countBits(const Allocation &allocation, Word word) {
  uint64_t count = 0;
  size_t pages = allocation.sectorsBytes / page;
  std::vector<unsigned char> first(pages), second(pages);
  bool known = mincore(allocation.sectorsRead, allocation.sectorsBytes, first.data()) == 0 &&
               mincore(allocation.sectorsWritten, allocation.sectorsBytes, second.data()) == 0;
  for (size_t p = 0; p < pages; ++p) {
    if (known && !((first[p] | second[p]) & 1)) continue;
    for (size_t i = p * page / 8; i < (p + 1) * page / 8; ++i) count += std::popcount(word(i));
  }
  return count;
}
} // namespace

uint64_t DeviceMemory::distinctSectors(bool written) const {
  uint64_t count = 0;
  for (auto &[base, a] : byBase)
    if (a->sectorsRead)
      count += countBits(*a, [&](size_t i) { return (written ? a->sectorsWritten : a->sectorsRead)[i].load(std::memory_order_relaxed); });
  return count;
}

uint64_t DeviceMemory::distinctSectorsOfEither() const {
  uint64_t count = 0;
  for (auto &[base, a] : byBase)
    if (a->sectorsRead)
      count += countBits(*a, [&](size_t i) {
        return a->sectorsRead[i].load(std::memory_order_relaxed) | a->sectorsWritten[i].load(std::memory_order_relaxed);
      });
  return count;
}

} // namespace klineage::emulated
