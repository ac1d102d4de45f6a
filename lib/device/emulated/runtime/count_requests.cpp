// How one finished request counts: sectors, lines, wavefronts, conflicts.
#include "device/emulated/runtime/memory.h"
#include "device/emulated/runtime/requests.h"
#include <algorithm>
#include <bit>

namespace klineage::emulated {
namespace {
constexpr size_t l1Ways = 4;

/// A set of at most 32 numbers. Rising and repeated ones, as coalesced lanes give, cost a comparison.
class FewNumbers {
public:
  bool insert(uint64_t value) {
    if (count && value == values[count - 1]) return false;
    if (!count || value > largest) {
      largest = value;
    } else {
      for (unsigned i = 0; i < count; ++i)
        if (values[i] == value) return false;
    }
    values[count++] = value;
    return true;
  }
  unsigned size() const { return count; }
  uint64_t operator[](unsigned i) const { return values[i]; }

private:
  uint64_t values[64];
  uint64_t largest = 0;
  unsigned count = 0;
};

template <typename Fn> void eachLane(uint32_t mask, Fn &&fn) {
  for (; mask; mask &= mask - 1) fn(std::countr_zero(mask));
}

FewNumbers sectorsOf(const Request &request) {
  FewNumbers sectors;
  eachLane(request.mask, [&](int lane) { sectors.insert(request.address[lane] >> 5); });
  return sectors;
}

unsigned linesOf(const FewNumbers &sectors) {
  FewNumbers lines;
  for (unsigned i = 0; i < sectors.size(); ++i) lines.insert(sectors[i] >> 2);
  return lines.size();
}

void mark(std::atomic<uint64_t> *bitmap, const Allocation &allocation, uint64_t sector, bool sharedTable) {
  uint64_t index = sector - (allocation.sectorBase() >> 5);
  if (index > allocation.bytes / 32 + 1) return;
  auto &word = bitmap[index / 64];
  uint64_t bit = uint64_t(1) << index % 64, now = word.load(std::memory_order_relaxed);
  if (now & bit) return;
  if (sharedTable) word.fetch_or(bit, std::memory_order_relaxed);
  else word.store(now | bit, std::memory_order_relaxed);
}

void markAll(const Request &request, const FewNumbers &sectors, bool write, const Tally &tally) {
  const Allocation *allocation = request.allocation;
  if (!allocation || !allocation->sectorsRead) return;
  for (unsigned i = 0; i < sectors.size(); ++i)
    mark(write ? allocation->sectorsWritten : allocation->sectorsRead, *allocation, sectors[i], tally.sharedTable);
}

/// Lanes on the most wanted address, less one: how often the hardware must repeat an atomic.
unsigned conflictsOf(const Request &request) {
  unsigned worst = 0;
  uint32_t left = request.mask;
  while (left) {
    uint64_t address = request.address[std::countr_zero(left)];
    uint32_t same = 0;
    eachLane(left, [&](int lane) { same |= uint32_t(request.address[lane] == address) << lane; });
    worst = std::max(worst, unsigned(std::popcount(same)));
    left &= ~same;
  }
  return worst ? worst - 1 : 0;
}

unsigned distinctAddresses(const Request &request) {
  FewNumbers addresses;
  eachLane(request.mask, [&](int lane) { addresses.insert(request.address[lane] >> 2); });
  return addresses.size();
}
} // namespace

void L1Model::reset(size_t bytes) {
  size_t wanted = std::bit_floor(std::max<size_t>(bytes / 32 / l1Ways, 16));
  if (wanted != sets || generation >= 0xFFFF) {
    sets = wanted;
    tags.assign(sets * l1Ways, 0);
    next.assign(sets, 0);
    generation = 0;
  }
  ++generation;
}

bool L1Model::touch(uint64_t sector) {
  uint64_t tag = sector << 16 | generation;
  size_t set = (sector ^ sector >> 11) & (sets - 1);
  uint64_t *way = &tags[set * l1Ways];
  for (size_t i = 0; i < l1Ways; ++i)
    if (way[i] == tag) return true;
  way[next[set]++ % l1Ways] = tag;
  return false;
}

Wavefronts sharedWavefronts(const uint64_t *addresses, uint32_t mask, unsigned bytes) {
  // 32 banks of 4 bytes; lanes of 8 bytes go by half warps, of 16 bytes by quarter warps; one word of a bank serves all who want it.
  unsigned lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  unsigned words = std::max(1u, bytes / 4);
  Wavefronts total;
  for (unsigned first = 0; first < 32; first += lanes) {
    uint32_t group = lanes == 32 ? mask : mask >> first & ((1u << lanes) - 1);
    if (!group) continue;
    // The word each bank served first; only a second one in the same bank makes the long way necessary.
    uint64_t firstWord[32];
    uint32_t used = 0, clash = 0;
    for (uint32_t left = group; left; left &= left - 1) {
      uint64_t word = addresses[first + std::countr_zero(left)] >> 2;
      for (unsigned w = 0; w < words; ++w) {
        unsigned bank = (word + w) & 31;
        if (!(used >> bank & 1)) used |= 1u << bank, firstWord[bank] = word + w;
        else if (firstWord[bank] != word + w) clash |= 1u << bank;
      }
    }
    unsigned needed = 1;
    for (; clash; clash &= clash - 1) {
      unsigned bank = std::countr_zero(clash);
      FewNumbers inBank;
      for (uint32_t left = group; left; left &= left - 1) {
        uint64_t word = addresses[first + std::countr_zero(left)] >> 2;
        for (unsigned w = 0; w < words; ++w)
          if (((word + w) & 31) == bank) inBank.insert(word + w);
      }
      needed = std::max(needed, inBank.size());
    }
    total.needed += needed;
    total.ideal += 1;
  }
  return total;
}

void countRequest(const Request &request, Tally &tally, L1Model &l1) {
  Counts &counts = tally.counts;
  uint64_t bytes = uint64_t(std::popcount(request.mask)) * request.bytes;
  switch (request.kind) {
  case RequestKind::GlobalLoad: {
    FewNumbers sectors = sectorsOf(request);
    ++counts[Count::global_load_requests];
    counts[Count::global_load_sectors] += sectors.size();
    counts[Count::global_load_bytes] += bytes;
    counts[Count::global_load_lines] += linesOf(sectors);
    // The L1 sees sectors counted from their buffer's start: where the host happened to map it must not decide what collides.
    uint64_t base = request.allocation ? request.allocation->sectorBase() >> 5 : 0, buffer = request.allocation ? request.allocation->number << 28 : 0;
    for (unsigned i = 0; i < sectors.size(); ++i) counts[Count::global_load_l1_hit_sectors] += l1.touch(buffer + sectors[i] - base);
    markAll(request, sectors, false, tally);
    break;
  }
  case RequestKind::GlobalStore: {
    FewNumbers sectors = sectorsOf(request);
    ++counts[Count::global_store_requests];
    counts[Count::global_store_sectors] += sectors.size();
    counts[Count::global_store_bytes] += bytes;
    counts[Count::global_store_lines] += linesOf(sectors);
    markAll(request, sectors, true, tally);
    break;
  }
  case RequestKind::GlobalAtomic: {
    FewNumbers sectors = sectorsOf(request);
    ++counts[Count::global_atomic_requests];
    counts[Count::global_atomic_sectors] += sectors.size();
    counts[Count::global_atomic_lanes] += std::popcount(request.mask);
    counts[Count::global_atomic_conflicts] += conflictsOf(request);
    eachLane(request.mask, [&](int lane) { ++tally.atomicsAt[request.address[lane]]; });
    markAll(request, sectors, true, tally);
    break;
  }
  case RequestKind::SharedLoad:
  case RequestKind::SharedStore:
  case RequestKind::AsyncStore: {
    Wavefronts wavefronts = sharedWavefronts(request.address, request.mask, request.bytes);
    bool load = request.kind == RequestKind::SharedLoad;
    ++counts[load ? Count::shared_load_requests : Count::shared_store_requests];
    counts[load ? Count::shared_load_wavefronts : Count::shared_store_wavefronts] += wavefronts.needed;
    counts[load ? Count::shared_load_conflicts : Count::shared_store_conflicts] += wavefronts.needed - wavefronts.ideal;
    counts[load ? Count::shared_load_bytes : Count::shared_store_bytes] += bytes;
    break;
  }
  case RequestKind::SharedAtomic:
    ++counts[Count::shared_atomic_requests];
    counts[Count::shared_atomic_lanes] += std::popcount(request.mask);
    counts[Count::shared_atomic_conflicts] += conflictsOf(request);
    break;
  case RequestKind::ConstantLoad:
    ++counts[Count::constant_load_requests];
    counts[Count::constant_load_replays] += distinctAddresses(request) - 1; // one address a cycle
    break;
  case RequestKind::LocalLoad:
  case RequestKind::LocalStore:
    ++counts[request.kind == RequestKind::LocalLoad ? Count::local_load_requests : Count::local_store_requests];
    counts[Count::local_bytes] += bytes;
    break;
  case RequestKind::AsyncCopy: {
    FewNumbers sectors = sectorsOf(request);
    ++counts[Count::async_copy_requests];
    counts[Count::async_copy_sectors] += sectors.size();
    counts[Count::async_copy_bytes] += bytes;
    markAll(request, sectors, false, tally);
    break;
  }
  case RequestKind::MatrixLoad: {
    // Eight rows of 16 bytes a matrix; each matrix is one phase when its rows fall into different banks.
    ++counts[Count::matrix_load_requests];
    counts[Count::matrix_load_wavefronts] += sharedWavefronts(request.address, request.mask, 16).needed;
    break;
  }
  case RequestKind::Branch: {
    ++counts[Count::branches];
    uint64_t way = request.address[std::countr_zero(request.mask)];
    bool divergent = false;
    eachLane(request.mask, [&](int lane) { divergent |= request.address[lane] != way; });
    counts[Count::divergent_branches] += divergent;
    break;
  }
  }
}

} // namespace klineage::emulated
