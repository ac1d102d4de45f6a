// WorkerRun: starting a klineage-cuda-worker, isolated, and collecting its answers; what its death means; and what it says of a GPU.
#pragma once
#include "device/cuda/job.h"
#include "support/result.h"
#include <filesystem>

namespace klineage::cuda {

/// What `klineage-cuda-worker --describe` says.
struct DeviceFacts {
  std::string name, driver, busId;
  unsigned sm = 0;
  double l2Bytes = 0, memoryBytes = 0;
  std::string cupti; ///< Where libcupti is; found by the parent, empty when nowhere.
  /// For -gencode: from 9.0 on, the instructions of one architecture alone are wanted too.
  std::string architecture() const { return std::to_string(sm) + (sm >= 90 ? "a" : ""); }
};

/// User errors: no driver, no such GPU, no nvcc; with the remedy.
Result<DeviceFacts> describeDevice(unsigned index);

/// Of the worker beside this program: its hash.
const std::string &programRevision();

/// The first that exists: $KLINEAGE_CUPTI, the toolkit's extras/CUPTI/lib64, its lib64 and lib; empty when none does.
std::string findCupti();

struct WorkerRun {
  unsigned index = 0;
  DeviceFacts facts;
  std::filesystem::path readable; ///< A folder beside the job's scratch.
};

/// One answer a task, always: tasks that a worker died in are answered with crash or hang, and the rest go to a fresh worker.
std::vector<Answer> performJob(Job &job, const WorkerRun &run);

/// Removes the answers of an earlier job from a scratch folder.
void clearAnswers(const std::filesystem::path &scratch);

} // namespace klineage::cuda
