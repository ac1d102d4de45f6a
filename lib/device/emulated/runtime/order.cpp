#include "device/emulated/runtime/order.h"
#include <algorithm>
#include <unordered_set>

namespace klineage::emulated {

SyncVariable *SyncVariables::find(uintptr_t address) {
  std::lock_guard guard(lock);
  auto found = table.find(address);
  return found == table.end() ? nullptr : found->second.get();
}

void SyncVariables::release(uintptr_t address, const Release &what) {
  SyncVariable *variable;
  {
    std::lock_guard guard(lock);
    auto &slot = table[address];
    if (!slot) slot = std::make_unique<SyncVariable>();
    variable = slot.get();
  }
  std::lock_guard guard(variable->lock);
  if (!variable->log.empty()) { // a fence that is followed by many writes to one address says nothing new
    const Release &last = variable->log.back();
    if (last.block == what.block && last.thread == what.thread && last.self == what.self) return;
  }
  variable->byBlock[what.block].push_back(variable->log.size());
  variable->log.push_back(what);
}

void SyncVariables::clear() {
  std::lock_guard guard(lock);
  table.clear();
}

void learn(std::shared_ptr<const Acquisitions> &acquired, SyncVariable *variable, uint32_t seen) {
  if (acquired)
    for (const Acquisition &old : *acquired)
      if (old.variable == variable && old.seen >= seen) return;
  auto next = acquired ? std::make_shared<Acquisitions>(*acquired) : std::make_shared<Acquisitions>();
  auto same = std::find_if(next->begin(), next->end(), [&](const Acquisition &a) { return a.variable == variable; });
  if (same == next->end()) next->push_back({variable, seen});
  else same->seen = seen;
  acquired = std::move(next);
}

void learn(std::shared_ptr<const Acquisitions> &acquired, const std::shared_ptr<const Acquisitions> &more) {
  if (!more || more == acquired) return;
  if (!acquired) {
    acquired = more;
    return;
  }
  for (const Acquisition &one : *more) learn(acquired, one.variable, one.seen);
}

bool knows(const Acquisitions &acquired, uint32_t block, uint32_t thread, uint32_t clock, bool foreign) {
  std::vector<std::shared_ptr<const Acquisitions>> kept; // keeps what the stack points at alive
  std::vector<Acquisition> open(acquired.begin(), acquired.end());
  std::unordered_map<SyncVariable *, uint32_t> visited;
  while (!open.empty()) {
    Acquisition at = open.back();
    open.pop_back();
    uint32_t &done = visited[at.variable];
    if (done >= at.seen) continue;
    std::lock_guard guard(at.variable->lock);
    auto found = at.variable->byBlock.find(block);
    if (found != at.variable->byBlock.end())
      for (uint32_t position : found->second)
        if (position < at.seen && !(foreign && at.variable->log[position].blockScope) &&
            at.variable->log[position].covers(block, thread, clock))
          return true;
    for (uint32_t i = done; i < at.seen; ++i)
      if (const auto &earlier = at.variable->log[i].acquired; earlier && (kept.empty() || kept.back() != earlier)) {
        kept.push_back(earlier);
        open.insert(open.end(), earlier->begin(), earlier->end());
      }
    done = at.seen;
  }
  return false;
}

} // namespace klineage::emulated
