#include "device/emulated/runtime/requests.h"
#include <algorithm>

namespace klineage::emulated {
namespace {
uint64_t mix(RequestKind kind, uint32_t site, uint64_t key) {
  uint64_t hash = (key ^ (uint64_t(site) << 8 | uint64_t(kind)) * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
  return hash ^ hash >> 32;
}
} // namespace

void RequestLog::start(uint32_t lanes) {
  if (!ring) {
    ring = std::make_unique<Request[]>(capacity);
    index = std::make_unique<uint32_t[]>(buckets);
  }
  for (uint32_t i = 0; i < buckets; ++i) index[i] = none;
  head = tail = origin = 0;
  crowded = false;
  for (uint32_t &at : cursor) at = 0;
}

uint32_t RequestLog::lookUp(uint64_t hash, unsigned lane, RequestKind kind, uint32_t site, uint64_t key) {
  auto fits = [&](uint32_t at) {
    if (at - head >= tail - head) return false;
    const Request &request = slot(at);
    return request.open && request.site == site && request.key == key && request.kind == kind && !(request.mask >> lane & 1);
  };
  for (uint32_t way = 0; way < ways; ++way) {
    uint32_t at = index[(hash + way) & (buckets - 1)];
    if (at != none && fits(at)) return at;
  }
  if (crowded)
    for (uint32_t at = head; at != tail; ++at)
      if (fits(at)) return at;
  return none;
}

void RequestLog::enter(uint64_t hash, uint32_t at) {
  for (uint32_t way = 0; way < ways; ++way) {
    uint32_t &place = index[(hash + way) & (buckets - 1)];
    if (place == none || place - head >= tail - head || !slot(place).open) {
      place = at;
      return;
    }
  }
  crowded = true;
}

bool RequestLog::addElsewhere(unsigned lane, uint32_t live, RequestKind kind, uint32_t site, uint64_t key, uint64_t address,
                              uint32_t bytes, Allocation *allocation, Tally &tally, L1Model &l1) {
  uint64_t hash = mix(kind, site, key);
  if (head != tail) {
    uint32_t at = lookUp(hash, lane, kind, site, key);
    if (at != none) {
      cursor[lane] = at + 1;
      join(slot(at), lane, live, address, tally, l1);
      return true;
    }
    if (tail - head == capacity) return false;
  } else {
    crowded = false;
  }
  uint32_t at = tail++;
  Request &request = slot(at);
  request.key = key;
  request.site = site;
  request.mask = 0;
  request.bytes = bytes;
  request.kind = kind;
  request.open = true;
  request.allocation = allocation;
  enter(hash, at);
  cursor[lane] = at + 1;
  join(request, lane, live, address, tally, l1);
  return true;
}

void RequestLog::finish(Request &request, Tally &tally, L1Model &l1) {
  request.open = false;
  countRequest(request, tally, l1);
}

void RequestLog::flush(Tally &tally, L1Model &l1) {
  for (; head != tail; ++head)
    if (slot(head).open) finish(slot(head), tally, l1);
  origin = tail;
}

void RequestLog::flushHalf(uint32_t live, Tally &tally, L1Model &l1) {
  std::vector<uint32_t> ages;
  for (uint32_t at = head; at != tail; ++at) {
    Request &request = slot(at);
    if (!request.open) continue;
    if (live & ~request.mask) ages.push_back(joins - request.lastJoin);
    else finish(request, tally, l1);
  }
  if (ages.size() >= capacity / 2) {
    auto middle = ages.begin() + ages.size() / 2;
    std::nth_element(ages.begin(), middle, ages.end());
    for (uint32_t at = head; at != tail; ++at) {
      Request &request = slot(at);
      if (!request.open || joins - request.lastJoin < *middle) continue;
      finish(request, tally, l1);
      ++tally.counts[Count::split_requests];
    }
  }
  // What is left moves together. Cursors that pointed at it find it by the index.
  std::vector<Request> left;
  for (uint32_t at = head; at != tail; ++at)
    if (slot(at).open) left.push_back(slot(at));
  head = origin = tail;
  for (Request &request : left) {
    uint32_t at = tail++;
    slot(at) = request;
    enter(mix(request.kind, request.site, request.key), at);
  }
}

} // namespace klineage::emulated
