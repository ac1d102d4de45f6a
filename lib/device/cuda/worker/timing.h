// Timing: one pair task, under the protocol of docs/device/cuda.md.
#pragma once
#include "device/cuda/worker/activity.h"
#include "device/cuda/worker/buffers.h"
#include "device/cuda/worker/launcher.h"

namespace klineage::cuda {

/// What a timed task works with.
struct Bench {
  const Driver &driver;
  Activity &activity;
  Nvml &nvml;
  Watchdog &watchdog;
  Buffers &buffers;
  CUdevice device;
  std::function<void *const *()> arguments; ///< Of klineage_call, with the stream behind.
};

/// Fills the answer: timings, clocks, notes. The failure is of the side named in its detail.
Failure timePair(Bench &bench, const Task &task, const std::vector<Launcher> &launchers, Answer &answer);

} // namespace klineage::cuda
