// DeviceMemory: every allocation that a kernel may touch, so that each access can be checked against the one it falls into.
//
// A buffer is mapped lazily, with a guard zone that holds a pattern on both sides and a wide unmapped gap around, so that an index beyond
// 2^31 touches few pages and a stray address names the nearest buffer. Shadow memory for races and the bitmaps of touched sectors hang on
// the allocation and are lazy too.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace klineage::emulated {

/// What happened last to one granule of global memory; see shadow.h for the packing.
struct GlobalCell {
  std::atomic<uint64_t> write{0}, read{0};
};

struct Allocation {
  uintptr_t base = 0;
  size_t bytes = 0;
  std::string label;
  bool constant = false;     ///< Stores are faults.
  bool owned = false;        ///< Mapped here (a buffer), not a module's global.
  void *mapping = nullptr;
  size_t mappingBytes = 0;
  GlobalCell *cells = nullptr; ///< One for each granule of `1 << granuleShift` bytes, counted from the aligned start; lazy.
  size_t cellsBytes = 0;
  std::atomic<uint64_t> *sectorsRead = nullptr, *sectorsWritten = nullptr; ///< One bit for each 32-byte sector from base & ~31.
  size_t sectorsBytes = 0;
  uintptr_t sectorBase() const { return base & ~uintptr_t(31); }
  uint64_t number = 0; ///< In the order of allocation. Models name places by it, so that no count depends on where the host put a buffer.
  uintptr_t cellBase() const { return base & ~uintptr_t(15); }
};

class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory();

  void *allocate(size_t bytes, size_t alignment, size_t offset, std::string label);
  bool release(void *address);
  void addGlobal(void *address, size_t bytes, std::string label, bool constant);

  Allocation *find(uintptr_t address) const;
  /// The allocation whose border is nearest; null when there is none.
  const Allocation *nearest(uintptr_t address) const;
  std::vector<std::string> damagedGuards() const;

  /// Fresh shadow for a launch; `granule` is 1, 2 or 4 bytes. `races` and `sectors` say what is wanted.
  void prepare(bool races, unsigned granuleShift, bool sectors);
  uint64_t distinctSectors(bool written) const;
  uint64_t distinctSectorsOfEither() const;

private:
  std::map<uintptr_t, Allocation *> byBase;
  uint64_t made = 0; ///< Allocations so far.
  unsigned shadowShift = 2;
};

} // namespace klineage::emulated
