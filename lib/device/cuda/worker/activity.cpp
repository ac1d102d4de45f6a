#include "device/cuda/worker/activity.h"
#include <algorithm>
#include <cstdlib>
#include <cupti.h>
#include <dlfcn.h>
#include <mutex>

namespace klineage::cuda {
namespace {

constexpr size_t bufferBytes = 1u << 20;

/// CUPTI's callbacks carry no pointer of ours, so what they fill is one for the process.
struct Shared {
  std::mutex lock;
  std::vector<Activity::Interval> intervals;
  decltype(&::cuptiActivityGetNextRecord) next = nullptr;
  decltype(&::cuptiActivityFlushAll) flush = nullptr;
  decltype(&::cuptiActivityDisable) disable = nullptr;
} shared;

void CUPTIAPI giveBuffer(uint8_t **buffer, size_t *size, size_t *most) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(8, bufferBytes));
  *size = bufferBytes;
  *most = 0;
}

void CUPTIAPI takeBuffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
  CUpti_Activity *record = nullptr;
  std::lock_guard<std::mutex> hold(shared.lock);
  while (valid && shared.next(buffer, valid, &record) == CUPTI_SUCCESS) {
    // The three kinds begin alike in all versions of their records since CUDA 11; start and end are read through the newest.
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      auto *kernel = reinterpret_cast<CUpti_ActivityKernel10 *>(record);
      shared.intervals.push_back({kernel->start, kernel->end, true});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      auto *copy = reinterpret_cast<CUpti_ActivityMemcpy6 *>(record);
      shared.intervals.push_back({copy->start, copy->end, false});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      auto *fill = reinterpret_cast<CUpti_ActivityMemset4 *>(record);
      shared.intervals.push_back({fill->start, fill->end, false});
      break;
    }
    default: break;
    }
  }
  std::free(buffer);
}

} // namespace

std::string Activity::open(const std::string &cupti) {
  if (cupti.empty()) return "there is no CUPTI";
  void *library = ::dlopen(cupti.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) return std::string("CUPTI cannot be loaded: ") + ::dlerror();
  auto enable = reinterpret_cast<decltype(&::cuptiActivityEnable)>(::dlsym(library, "cuptiActivityEnable"));
  auto callbacks = reinterpret_cast<decltype(&::cuptiActivityRegisterCallbacks)>(::dlsym(library, "cuptiActivityRegisterCallbacks"));
  shared.next = reinterpret_cast<decltype(shared.next)>(::dlsym(library, "cuptiActivityGetNextRecord"));
  shared.flush = reinterpret_cast<decltype(shared.flush)>(::dlsym(library, "cuptiActivityFlushAll"));
  shared.disable = reinterpret_cast<decltype(shared.disable)>(::dlsym(library, "cuptiActivityDisable"));
  if (!enable || !callbacks || !shared.next || !shared.flush || !shared.disable) return "this CUPTI lacks the activity interface";
  if (auto result = callbacks(giveBuffer, takeBuffer); result != CUPTI_SUCCESS) return "cuptiActivityRegisterCallbacks answered " + std::to_string(result);
  for (auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    if (auto result = enable(kind); result != CUPTI_SUCCESS) return "cuptiActivityEnable answered " + std::to_string(result);
  opened = true;
  return {};
}

CallRecord Activity::take() {
  if (!opened) return {};
  shared.flush(0);
  std::lock_guard<std::mutex> hold(shared.lock);
  return recordOf(std::exchange(shared.intervals, {}));
}

void Activity::close() {
  if (!opened) return;
  shared.flush(1);
  for (auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) shared.disable(kind);
  opened = false;
}

CallRecord recordOf(std::vector<Activity::Interval> intervals) {
  CallRecord call;
  if (intervals.empty()) return call;
  std::sort(intervals.begin(), intervals.end(), [](const auto &a, const auto &b) { return a.start < b.start; });
  uint64_t busy = 0, reached = intervals.front().start;
  for (const auto &interval : intervals) {
    (interval.kernel ? call.kernels : call.copies) += 1;
    if (interval.end <= reached) continue;
    busy += interval.end - std::max(interval.start, reached);
    reached = interval.end;
  }
  call.busySeconds = double(busy) * 1e-9;
  call.gapSeconds = double(reached - intervals.front().start - busy) * 1e-9;
  return call;
}

} // namespace klineage::cuda
