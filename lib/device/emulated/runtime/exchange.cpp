// Warp operations: lanes meet, the last to come does the work for all. None of them orders memory, except __syncwarp.
#include "device/emulated/runtime/worker.h"
#include <algorithm>
#include <bit>

namespace klineage::emulated {
namespace {

template <typename Fn> void eachLane(Warp &warp, uint32_t lanes, Fn &&fn) {
  for (; lanes; lanes &= lanes - 1) fn(warp.lane(std::countr_zero(lanes)));
}

void finishMeeting(Warp &warp, size_t position, Thread *last) {
  Meeting meeting = warp.meetings[position];
  warp.meetings.erase(warp.meetings.begin() + position);
  meeting.act(warp, meeting.arrived);
  eachLane(warp, meeting.arrived, [&](Thread &lane) {
    if (&lane != last) makeReady(lane);
    else lane.wait = Wait::None;
  });
}

} // namespace

void meet(Thread &thread, Wait kind, uint32_t mask, uint32_t site, uint64_t key, void *payload, void (*act)(Warp &, uint32_t)) {
  Warp &warp = *thread.myWarp;
  Block &block = *thread.block;
  if (!(mask >> thread.lane & 1))
    raise(thread, Reason::BarrierDivergence,
          at(*block.launch, site) + ": " + threadName(block, thread.linear) + " is not in the mask (" + lanesName(mask) +
              ") of the warp operation that it executes");
  thread.wait = kind;
  thread.waitSite = site;
  thread.waitMask = mask;
  thread.waitKey = key;
  thread.payload = payload;
  size_t position = 0;
  for (; position < warp.meetings.size(); ++position) {
    Meeting &meeting = warp.meetings[position];
    if (meeting.site != site || meeting.key != key) continue;
    if (meeting.mask == mask) break;
    if (meeting.mask & mask)
      raise(thread, Reason::BarrierDivergence,
            at(*block.launch, site) + ": " + threadName(block, thread.linear) + " gives " + lanesName(mask) +
                " as mask, but others there give " + lanesName(meeting.mask));
  }
  if (position == warp.meetings.size()) warp.meetings.push_back({key, site, mask, 0, act});
  Meeting &meeting = warp.meetings[position];
  meeting.arrived |= 1u << thread.lane;
  if (!(meeting.mask & warp.live & ~meeting.arrived)) {
    finishMeeting(warp, position, &thread);
    return;
  }
  blockUntilReady(thread);
}

void lanesLeft(Warp &warp) {
  for (size_t i = 0; i < warp.meetings.size();) {
    Meeting &meeting = warp.meetings[i];
    if (meeting.mask & warp.live & ~meeting.arrived) ++i;
    else finishMeeting(warp, i, nullptr), i = 0;
  }
}

namespace {

/// What a lane reads that takes no part: the value is undefined on a GPU, and this one is a NaN and no small index.
constexpr uint32_t undefinedValue = 0xFFFFDEAD;

struct Shuffle {
  uint32_t mode, value, lane, clamp;
};

void doShuffle(Warp &warp, uint32_t lanes) {
  eachLane(warp, lanes, [&](Thread &thread) {
    auto &mine = *static_cast<Shuffle *>(thread.payload);
    uint32_t segment = mine.clamp >> 8 & 31, clamp = mine.clamp & 31, by = mine.lane & 31, lane = thread.lane;
    uint32_t highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    int source = int(lane);
    bool inRange = false;
    switch (mine.mode) {
    case KL_SHUFFLE_UP: source = int(lane) - int(by), inRange = source >= int(highest); break;
    case KL_SHUFFLE_DOWN: source = int(lane + by), inRange = source <= int(highest); break;
    case KL_SHUFFLE_BFLY: source = int(lane ^ by), inRange = source <= int(highest); break;
    default: source = int(lowest | (by & ~segment)), inRange = source <= int(highest); break;
    }
    if (!inRange) source = int(lane);
    uint32_t value = lanes >> source & 1 ? static_cast<Shuffle *>(warp.lane(source).payload)->value : undefinedValue;
    thread.result = value | uint64_t(inRange) << 32;
  });
}

struct Vote {
  uint32_t mode, predicate;
};

void doVote(Warp &warp, uint32_t lanes) {
  uint32_t ballot = 0;
  eachLane(warp, lanes, [&](Thread &thread) { ballot |= uint32_t(static_cast<Vote *>(thread.payload)->predicate != 0) << thread.lane; });
  eachLane(warp, lanes, [&](Thread &thread) {
    switch (static_cast<Vote *>(thread.payload)->mode) {
    case KL_VOTE_ALL: thread.result = ballot == lanes; break;
    case KL_VOTE_ANY: thread.result = ballot != 0; break;
    case KL_VOTE_UNI: thread.result = ballot == lanes || ballot == 0; break;
    default: thread.result = ballot; break;
    }
  });
}

struct Match {
  uint32_t all;
  uint64_t value;
};

void doMatch(Warp &warp, uint32_t lanes) {
  eachLane(warp, lanes, [&](Thread &thread) {
    auto &mine = *static_cast<Match *>(thread.payload);
    uint32_t same = 0;
    eachLane(warp, lanes, [&](Thread &other) {
      same |= uint32_t(static_cast<Match *>(other.payload)->value == mine.value) << other.lane;
    });
    if (!mine.all) thread.result = same;
    else thread.result = same == lanes ? lanes | uint64_t(1) << 32 : 0;
  });
}

struct Redux {
  uint32_t op, value;
};

void doRedux(Warp &warp, uint32_t lanes) {
  uint32_t total = 0, op = static_cast<Redux *>(warp.lane(std::countr_zero(lanes)).payload)->op;
  bool first = true;
  eachLane(warp, lanes, [&](Thread &thread) {
    uint32_t value = static_cast<Redux *>(thread.payload)->value;
    if (first) {
      total = value;
      first = false;
      return;
    }
    switch (op) {
    case KL_ADD: total += value; break;
    case KL_AND: total &= value; break;
    case KL_OR: total |= value; break;
    case KL_XOR: total ^= value; break;
    case KL_MIN_S: total = uint32_t(std::min(int32_t(total), int32_t(value))); break;
    case KL_MAX_S: total = uint32_t(std::max(int32_t(total), int32_t(value))); break;
    case KL_MIN_U: total = std::min(total, value); break;
    default: total = std::max(total, value); break;
    }
  });
  eachLane(warp, lanes, [&](Thread &thread) { thread.result = total; });
}

uint64_t exchange(kl_thread *self, uint32_t mask, uint32_t site, uint64_t key, void *payload, void (*act)(Warp &, uint32_t)) {
  Thread &thread = threadOf(self);
  if (thread.block->launch->options.count && thread.lane == unsigned(std::countr_zero(mask & thread.myWarp->live)))
    ++thread.block->worker->tally.counts[Count::warp_exchanges];
  meet(thread, Wait::Exchange, mask, site, key, payload, act);
  return thread.result;
}

} // namespace
} // namespace klineage::emulated

using namespace klineage::emulated;

extern "C" {

uint64_t kl_shuffle(kl_thread *self, uint32_t mask, uint32_t mode, uint32_t value, uint32_t lane, uint32_t clamp, uint32_t site,
                    uint64_t key) {
  Shuffle mine{mode, value, lane, clamp};
  return exchange(self, mask, site, key, &mine, doShuffle);
}

uint32_t kl_vote(kl_thread *self, uint32_t mask, uint32_t mode, uint32_t predicate, uint32_t site, uint64_t key) {
  Vote mine{mode, predicate};
  return uint32_t(exchange(self, mask, site, key, &mine, doVote));
}

uint64_t kl_match(kl_thread *self, uint32_t mask, uint32_t all, uint64_t value, uint32_t bytes, uint32_t site, uint64_t key) {
  Match mine{all, bytes >= 8 ? value : value & 0xFFFFFFFFu};
  return exchange(self, mask, site, key, &mine, doMatch);
}

uint32_t kl_redux(kl_thread *self, uint32_t mask, uint32_t op, uint32_t value, uint32_t site, uint64_t key) {
  Redux mine{op, value};
  return uint32_t(exchange(self, mask, site, key, &mine, doRedux));
}

uint32_t kl_activemask(kl_thread *self, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  Warp &warp = *thread.myWarp;
  thread.wait = Wait::Census;
  thread.waitSite = site;
  thread.waitKey = key;
  thread.waitMask = 1u << thread.lane;
  bool all = true;
  eachLane(warp, warp.live, [&](Thread &other) {
    all &= other.wait == Wait::Census && other.waitSite == site && other.waitKey == key;
  });
  if (!all) {
    blockUntilReady(thread);
    return uint32_t(thread.result);
  }
  eachLane(warp, warp.live, [&](Thread &other) {
    other.result = warp.live;
    if (&other != &thread) makeReady(other);
  });
  thread.wait = Wait::None;
  return warp.live;
}

uint32_t kl_elect(kl_thread *self, uint32_t mask, uint32_t, uint64_t) {
  Thread &thread = threadOf(self);
  return thread.lane == unsigned(std::countr_zero(mask & thread.myWarp->exists));
}

} // extern "C"
