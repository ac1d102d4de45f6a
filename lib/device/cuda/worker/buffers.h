// Buffers: the arguments of one task in the device's memory, each between two guard zones, at the alignment that the workload names and no
// better where it names less than 256 bytes.
#pragma once
#include "device/cuda/job.h"
#include "device/cuda/worker/driver.h"
#include <memory>

namespace klineage::cuda {

class Buffers {
public:
  explicit Buffers(const Driver &driver) : driver(driver) {}
  ~Buffers();
  Buffers(const Buffers &) = delete;
  Buffers &operator=(const Buffers &) = delete;

  /// Keeps the addresses when the sizes are those of before, so that the calls of one instance find new values at old places.
  /// Each step gives CUDA_SUCCESS, or the error with `what` saying where.
  CUresult place(const std::vector<TaskArgument> &arguments);
  /// Inputs from their files (the fresh ones when asked), everything else poisoned, guards renewed.
  CUresult fill(bool fresh);
  /// Only inout buffers, from a copy that stays on the device: before each timed call.
  CUresult restore();
  bool hasInOut() const { return inOut; }
  /// Outputs and scratch poisoned, without touching inputs.
  CUresult poisonResults();

  CUresult read(size_t argument, uint64_t offset, uint64_t bytes, char *to) const;
  /// The name of an argument whose guard zone was written, or empty.
  CUresult damagedGuard(std::string &argument) const;

  /// For klineage_call: pointers to each argument's value.
  void *const *addresses() const { return values.data(); }
  std::string what; ///< Where an error came from.

private:
  struct Place {
    CUdeviceptr memory = 0, base = 0, saved = 0;
  };
  CUresult poison(const TaskArgument &argument, const Place &place);
  CUresult write(const TaskArgument &argument, const Place &place, const std::string &file);
  void release();

  const Driver &driver;
  std::vector<TaskArgument> arguments;
  std::vector<Place> places;
  std::vector<std::string> scalars;
  std::vector<void *> values;
  bool inOut = false;
};

} // namespace klineage::cuda
