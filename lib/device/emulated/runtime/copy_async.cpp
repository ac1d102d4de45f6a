// cp.async: the data is taken when the copy is issued and lands when its thread waits. Until then the target counts as not written, so
// that a read before the wait is found; other threads may read it only behind a barrier after that wait.
#include "device/emulated/runtime/worker.h"

namespace klineage::emulated {
namespace {

void land(Thread &thread, std::vector<AsyncCopy> &copies) {
  Block &block = *thread.block;
  bool check = block.launch->options.check;
  for (AsyncCopy &copy : copies) {
    std::memcpy(reinterpret_cast<void *>(copy.to), copy.data, copy.bytes);
    if (check) touchShared(thread, copy.to - reinterpret_cast<uintptr_t>(block.shared), copy.bytes, copy.site, Act::Write);
  }
  if (!copies.empty()) noteChange(thread);
}

void commit(Thread &thread) {
  thread.copyGroups.push_back(std::move(thread.copies));
  thread.copies.clear();
  thread.copyStarts.push_back(thread.sharedReads);
}

void waitFor(Thread &thread, size_t pending) {
  while (thread.copyGroups.size() > pending) {
    land(thread, thread.copyGroups.front());
    if (!thread.copyGroups.front().empty()) thread.rounds.add(thread.sharedReads - thread.copyStarts.front());
    thread.copyStarts.erase(thread.copyStarts.begin());
    thread.copyGroups.erase(thread.copyGroups.begin());
  }
}

} // namespace

bool copyInFlight(const Block &block, size_t offset, uint32_t bytes) {
  uintptr_t from = reinterpret_cast<uintptr_t>(block.shared) + offset;
  auto covers = [&](const std::vector<AsyncCopy> &copies) {
    for (const AsyncCopy &copy : copies)
      if (copy.to < from + bytes && from < copy.to + copy.bytes) return true;
    return false;
  };
  for (uint32_t i = 0; i < block.threadCount; ++i) {
    const Thread &thread = block.threads[i];
    if (covers(thread.copies)) return true;
    for (auto &group : thread.copyGroups)
      if (covers(group)) return true;
  }
  return false;
}

} // namespace klineage::emulated

using namespace klineage::emulated;
using klineage::Reason;

extern "C" {

void kl_cp_async(kl_thread *self, void *to, const void *from, uint32_t bytes, uint32_t srcBytes, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  Block &block = *thread.block;
  const MachineOptions &options = block.launch->options;
  spendQuantum(thread);
  auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  AsyncCopy copy;
  copy.to = target;
  copy.bytes = bytes;
  copy.site = site;
  std::memset(copy.data, 0, sizeof copy.data);
  if (srcBytes > bytes) srcBytes = bytes;
  if (target - sharedLow >= sharedHigh - sharedLow)
    raise(thread, Reason::OutOfBounds,
          at(*block.launch, site) + ": " + threadName(block, thread.linear) + " copies asynchronously to an address outside shared memory");
  checkShared(thread, target, bytes, site, true);
  if (options.check) {
    size_t offset = target - reinterpret_cast<uintptr_t>(block.shared);
    touchShared(thread, offset, bytes, site, Act::Write);
    block.shadow.clearInitialized(offset, bytes);
  }
  if (options.count) record(thread, RequestKind::AsyncStore, site, key, target, bytes, nullptr);
  if (srcBytes) {
    uint32_t width = srcBytes;
    while (width & (width - 1)) width &= width - 1; // a partial source is no power of two: check its pieces
    for (uint32_t done = 0; done < srcBytes;) {
      while (width > srcBytes - done) width /= 2;
      Allocation &allocation = resolve(thread, source + done, width, site, false);
      if (options.check) touchGlobal(thread, allocation, source + done, width, site, Act::Read);
      if (options.count && done == 0) record(thread, RequestKind::AsyncCopy, site, key, source, bytes, &allocation);
      done += width;
    }
    std::memcpy(copy.data, from, srcBytes);
  }
  thread.copies.push_back(copy);
}

void kl_cp_async_commit(kl_thread *self, uint32_t, uint64_t) { commit(threadOf(self)); }

void kl_cp_async_wait(kl_thread *self, uint32_t pending, uint32_t, uint64_t) { waitFor(threadOf(self), pending); }

void kl_cp_async_wait_all(kl_thread *self, uint32_t, uint64_t) {
  Thread &thread = threadOf(self);
  commit(thread);
  waitFor(thread, 0);
}

} // extern "C"
