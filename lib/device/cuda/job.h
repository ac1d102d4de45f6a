// Job: what the parent asks of a klineage-cuda-worker and what comes back.
//
// One JSON object on the worker's standard input; buffers are files, because they are large and binary. The answer to task i is
// result_<i>.json in the scratch folder, written beside and renamed when whole, with buffers in out_<i>_<argument>.bin (for a pair: a_ and b_ before it).
// `phase` holds the number of the task in hand, so that the parent can name what a dead worker died of. Header only: the worker links
// nothing of the project but this and paired.h.
#pragma once
#include "device/paired.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace klineage::cuda {

struct TaskArgument {
  std::string name;
  bool isScalar = false;
  bool isResult = false;    ///< Output or inout: sent back by a pair.
  std::string blob;         ///< File; empty: poisoned before each checked run.
  std::string fresh;        ///< Pair only: the values that are written after timing.
  uint64_t bytes = 0;
  uint32_t alignment = 256, offsetBytes = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TaskArgument, name, isScalar, isResult, blob, fresh, bytes, alignment, offsetBytes)

struct Task {
  std::string kind;                   ///< "check": one call, everything comes back. "pair": timing. "count": counters.
  std::vector<unsigned> libraries;    ///< check, count: one. pair: the baseline, a copy of it, the candidate.
  std::vector<TaskArgument> arguments;
  double secondsAtMost = 20;          ///< Of one call; then the worker says hang and ends.
  double timingSeconds = 3;           ///< pair: at most, for each of the two timings.
  unsigned repeats = 1;               ///< pair: so many candidate timings, one after another (equal builds, to count false differences).
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Task, kind, libraries, arguments, secondsAtMost, timingSeconds, repeats)

struct Job {
  std::string scratch;
  int device = 0;
  std::string cupti;                  ///< Path of libcupti, or empty: neither times nor counters.
  std::vector<std::string> libraries;
  std::vector<std::string> metrics;   ///< For count.
  int turn = -1;                      ///< An inherited descriptor: locked (flock) while the GPU must do nothing else, shared while it checks. -1: none.
  unsigned firstTask = 0;             ///< Earlier ones have their answers.
  std::vector<Task> tasks;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Job, scratch, device, cupti, libraries, metrics, turn, firstTask, tasks)

/// One sweep of timing, with what NVML said meanwhile.
struct Timing {
  std::vector<std::vector<double>> blocks; ///< a1, b1, b2, a2 in seconds.
  std::string stoppedBy;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Timing, blocks, stoppedBy)

struct Answer {
  std::string reason = "none";        ///< A name of Reason.
  std::string detail;
  std::map<std::string, double> counters;
  std::string countersUnavailable;    ///< Why there are no counters, with the remedy.
  Timing self;
  std::vector<Timing> pairs;
  std::map<std::string, double> clocks; ///< sm_mhz_min, sm_mhz_max, memory_mhz_min, throttled_samples, samples, throttle_reasons, temperature, watts.
  unsigned innerRepeats = 1;          ///< Calls a sample, each with its own cold cache.
  double kernelsACall = 0;            ///< Device activities of one call.
  double gapSeconds = 0;              ///< Time between them, which is not counted.
  bool freshEqual = false;            ///< Both versions gave the same bits on fresh values; then no buffers come back.
  bool contextLost = false;           ///< The rest needs a fresh worker.
  std::vector<std::string> notes;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Answer, reason, detail, counters, countersUnavailable, self, pairs, clocks, innerRepeats, kernelsACall, gapSeconds, freshEqual,
                                   contextLost, notes)

inline std::string resultFile(unsigned task) { return "result_" + std::to_string(task) + ".json"; }
inline std::string outputFile(unsigned task, unsigned argument, const char *side = "") {
  return std::string(side) + "out_" + std::to_string(task) + "_" + std::to_string(argument) + ".bin";
}

inline std::vector<TimingBlock> blocksOf(const Timing &timing) {
  std::vector<TimingBlock> blocks;
  for (const auto &row : timing.blocks)
    if (row.size() == 4) blocks.push_back({row[0], row[1], row[2], row[3]});
  return blocks;
}

/// A pair sends back at most this much of a buffer, in slices spread evenly over it (sliceOf).
inline constexpr uint64_t freshBytesAtMost = 32u << 20;
inline constexpr uint64_t sliceBytes = 1u << 16;
/// Where slice i of the sample of a buffer begins; the sample of a small buffer is all of it.
inline uint64_t slicesOf(uint64_t bytes) { return bytes <= freshBytesAtMost ? 1 : freshBytesAtMost / sliceBytes; }
inline uint64_t sliceBegin(uint64_t bytes, uint64_t slice) {
  uint64_t slices = slicesOf(bytes);
  return slices == 1 ? 0 : (bytes - sliceBytes) / (slices - 1) * slice / 256 * 256;
}
inline uint64_t sliceLength(uint64_t bytes) { return slicesOf(bytes) == 1 ? bytes : sliceBytes; }

} // namespace klineage::cuda
