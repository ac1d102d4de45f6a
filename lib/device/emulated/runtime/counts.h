// Counts: what one launch did, as a profiler would count it. The names are documented in docs/device/counters.md.
#pragma once
#include "device/device.h"
#include <array>
#include <cstdint>

namespace klineage::emulated {

// clang-format off
#define KLINEAGE_COUNTERS(X) \
  X(global_load_requests) X(global_load_sectors) X(global_load_bytes) X(global_load_lines) X(global_load_l1_hit_sectors) \
  X(global_store_requests) X(global_store_sectors) X(global_store_bytes) X(global_store_lines) \
  X(global_atomic_requests) X(global_atomic_sectors) X(global_atomic_lanes) X(global_atomic_conflicts) \
  X(shared_load_requests) X(shared_load_wavefronts) X(shared_load_conflicts) X(shared_load_bytes) \
  X(shared_store_requests) X(shared_store_wavefronts) X(shared_store_conflicts) X(shared_store_bytes) \
  X(shared_atomic_requests) X(shared_atomic_lanes) X(shared_atomic_conflicts) \
  X(constant_load_requests) X(constant_load_replays) \
  X(local_load_requests) X(local_store_requests) X(local_bytes) \
  X(async_copy_requests) X(async_copy_sectors) X(async_copy_bytes) X(matrix_load_requests) X(matrix_load_wavefronts) \
  X(branches) X(divergent_branches) X(barriers) X(barrier_arrivals) X(warp_syncs) X(warp_exchanges) X(fences) \
  X(tensor_operations) X(tensor_flops) X(split_requests) X(blocks) X(warps) X(threads)
// clang-format on

enum class Count : unsigned {
#define X(name) name,
  KLINEAGE_COUNTERS(X)
#undef X
      Size
};
const char *name(Count count);

/// One worker's share; the sum over workers does not depend on how many there were.
struct Counts {
  std::array<uint64_t, size_t(Count::Size)> value{};
  uint64_t &operator[](Count count) { return value[size_t(count)]; }
  uint64_t operator[](Count count) const { return value[size_t(count)]; }
  void add(const Counts &other) {
    for (size_t i = 0; i < value.size(); ++i) value[i] += other.value[i];
  }
};

/// What the basic blocks of a kernel add up to; positions as in kl_kernel::blocks.
struct BlockTotals {
  std::vector<uint64_t> byWarp;   ///< Executions, a warp counting once for all of its lanes.
  std::vector<uint64_t> byThread;
  void add(const BlockTotals &other);
};

} // namespace klineage::emulated
