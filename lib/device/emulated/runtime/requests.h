// Requests: the accesses of a warp's lanes, put together as the hardware would see them.
//
// Fibers run one after the other, a quantum each, so the lanes of one request come far apart in time. The first lane to come appends a
// request to its warp's log; the others nearly always find their next access at the position behind their last one, and a small hash finds
// it otherwise. A request in which every live lane has taken part is counted at once and leaves the log; what control flow keeps apart is
// counted at the next barrier of the block or at the end. The log is bounded: a lane that would overfill it waits until the others
// have come nearer. When none can, the half that lanes joined longest ago is counted as it is: a loop that some lanes have left stays behind,
// while the place where they wait for the others keeps being joined. split_requests says how often a live lane was still missing.
#pragma once
#include "device/emulated/runtime/counts.h"
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace klineage::emulated {

class DeviceMemory;
struct Allocation;

enum class RequestKind : uint8_t {
  GlobalLoad, GlobalStore, GlobalAtomic, SharedLoad, SharedStore, SharedAtomic, ConstantLoad, LocalLoad, LocalStore, AsyncCopy, AsyncStore,
  MatrixLoad, Branch
};

struct Request {
  uint64_t key = 0;
  uint32_t site = 0;
  uint32_t mask = 0; ///< Lanes that took part.
  uint32_t lastJoin = 0; ///< When a lane last joined, in joins of the log.
  uint16_t bytes = 0;
  RequestKind kind = RequestKind::Branch;
  bool open = false;
  Allocation *allocation = nullptr; ///< Of the first lane.
  uint64_t address[32];
};

/// The sectors that a block's share of the L1 holds: load hits are counted against it. Four ways, oldest out first.
class L1Model {
public:
  void reset(size_t bytes);
  bool touch(uint64_t sector); ///< True on a hit.

private:
  std::vector<uint64_t> tags; ///< sector << 16 | generation, so that a new block needs no clearing.
  std::vector<uint8_t> next;
  uint64_t generation = 0;
  size_t sets = 0;
};

/// Where finished requests are counted.
struct Tally {
  Counts counts;
  bool sharedTable = false; ///< Several workers write the sector bitmaps.
  std::unordered_map<uint64_t, uint64_t> atomicsAt; ///< Lanes of global atomics by address.
};

class RequestLog {
public:
  static constexpr uint32_t capacity = 512;
  void start(uint32_t lanes);

  /// Adds a lane's access. False when the log is full of requests that other lanes may still join; then nothing was added.
  bool add(unsigned lane, uint32_t live, RequestKind kind, uint32_t site, uint64_t key, uint64_t address, uint32_t bytes,
           Allocation *allocation, Tally &tally, L1Model &l1) {
    uint32_t at = cursor[lane];
    if (at - head < tail - head) {
      Request &request = slot(at);
      if (request.open && request.site == site && request.key == key && request.kind == kind && !(request.mask >> lane & 1)) {
        cursor[lane] = at + 1;
        join(request, lane, live, address, tally, l1);
        return true;
      }
    }
    return addElsewhere(lane, live, kind, site, key, address, bytes, allocation, tally, l1);
  }
  /// Counts what is left, complete or not.
  void flush(Tally &tally, L1Model &l1);
  /// Counts what is complete, and the half that was joined longest ago; closes up the rest.
  void flushHalf(uint32_t live, Tally &tally, L1Model &l1);
  bool idle() const { return head == tail; }

private:
  Request &slot(uint32_t at) { return ring[(at - origin) & (capacity - 1)]; }
  void join(Request &request, unsigned lane, uint32_t live, uint64_t address, Tally &tally, L1Model &l1) {
    request.address[lane] = address;
    request.lastJoin = ++joins;
    request.mask |= 1u << lane;
    if (live & ~request.mask) return;
    finish(request, tally, l1);
    while (head != tail && !slot(head).open) ++head;
    if (head == tail) origin = tail;
  }
  bool addElsewhere(unsigned lane, uint32_t live, RequestKind kind, uint32_t site, uint64_t key, uint64_t address, uint32_t bytes,
                    Allocation *allocation, Tally &tally, L1Model &l1);
  uint32_t lookUp(uint64_t hash, unsigned lane, RequestKind kind, uint32_t site, uint64_t key);
  void enter(uint64_t hash, uint32_t at);
  void finish(Request &request, Tally &tally, L1Model &l1);

  static constexpr uint32_t buckets = 2048, ways = 8, none = ~0u;
  std::unique_ptr<Request[]> ring;
  std::unique_ptr<uint32_t[]> index; ///< Positions by hash; stale ones are seen by what lies there.
  bool crowded = false;              ///< A position found no place in the index: search the ring too.
  uint32_t head = 0, tail = 0, origin = 0, joins = 0;
  uint32_t cursor[32] = {};
};

/// Counts one finished request.
void countRequest(const Request &request, Tally &tally, L1Model &l1);
/// Wavefronts of a shared memory request, and how many there would be without conflicts.
struct Wavefronts {
  unsigned needed = 0, ideal = 0;
};
Wavefronts sharedWavefronts(const uint64_t *addresses, uint32_t mask, unsigned bytes);

} // namespace klineage::emulated
