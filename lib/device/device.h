// Device: what the gate runs candidates on. Two exist: emulated (embedded, modelled times) and cuda (measured times).
#pragma once
#include "device/paired.h"
#include "source/source_set.h"
#include "workload/workload.h"
#include <memory>
#include <string_view>

namespace klineage {

/// The closed list of reasons (docs/gate.md). `None` goes with accepted.
enum class Reason {
  None,
  // compile
  CompileError, ResourcesExceeded, Timeout,
  // correct
  WrongValue, OutOfBounds, Race, UninitializedRead, Misaligned, BarrierDivergence, InputModified, UnwrittenOutput,
  LaunchError, Hang, Crash, Nondeterministic, NoDeviceKernel, Delegated, Tampered, ForbiddenSideEffect,
  // profile
  Slower, WithinNoise, NoSamples, Throttled, CountersUnavailable,
  // what the device cannot run; always undecided, never accepted
  Unsupported,
  // nothing to judge by; always undecided
  UnfitCase,   ///< An instance that a control (zeros, ones, a copy of an input, the last output) passes, or no instance at all.
  NoReference, ///< The reference does not compile, crashes, or is itself at fault.
  Internal     ///< klineage or its device broke a promise; a record is kept.
};
const char *name(Reason reason);           ///< snake_case, as printed and stored.
std::optional<Reason> reasonNamed(std::string_view name);

/// Counters by documented name (docs/counters.md): global_load_requests, global_load_sectors, shared_load_wavefronts,
/// shared_bank_conflicts, instructions_fp32, divergent_branches, barriers, atomics, ...
using Counters = std::map<std::string, double>;

/// Every output byte holds this pattern (by address parity within the buffer) before each run: a NaN in every floating type, and an
/// unlikely integer.
inline constexpr unsigned char poison[2] = {0xF5, 0xFF};

/// One call of the launcher on one instance.
struct RunOutcome {
  Reason reason = Reason::None;
  std::string detail;                    ///< With file:line where the device knows it.
  std::vector<std::string> outputs;      ///< One a launcher argument; empty for scalars. Inputs come back too, to be compared.
  Counters counters;
  std::vector<double> seconds;           ///< Samples: measured, or one modelled value.
  uint64_t outputDigest = 0;             ///< For comparing repeated runs bitwise.
};

struct RunRequest {
  const Workload *workload = nullptr;
  const Instance *instance = nullptr;
  uint64_t seed = 1;
  bool profile = false;                  ///< Count and time; otherwise check (at least two opposite thread orders).
  unsigned maxBlocks = 0;                ///< Profile only: emulate a stated sample of this many blocks; 0 is all.
};

/// What the compile stage keeps.
struct Build {
  std::string key;                       ///< Hash of sources, options, compiler.
  Reason reason = Reason::None;
  std::string detail;                    ///< Diagnostics.
  std::map<std::string, double> resources; ///< registers, spill_bytes, shared_bytes (static), from ptxas, when it was run.
  std::map<std::string, double> sass;    ///< Mnemonics of the machine code, counted, where a disassembler is.
};

/// Two versions timed in turns on one instance, in one process (docs/device/cuda.md).
struct PairOutcome {
  Reason reason = Reason::None;
  std::string detail;
  std::vector<TimingBlock> self;         ///< The baseline against a copy of itself. Empty when it was not asked for.
  std::vector<std::vector<TimingBlock>> pairs; ///< The baseline (A) against the candidate (B): one, or as many as were asked for.
  std::string stoppedBy;                 ///< Of the last timing: narrow, rounds, time.
  Counters baselineCounters, candidateCounters; ///< With the clocks among them (clock_*), and inner_repeats, kernels_a_call, gap_seconds.
  std::string countersUnavailable;       ///< Why there are none, with the remedy; times stand all the same.
  /// After timing, new values were written to the same addresses and both versions asked again: what each wrote, one entry a launcher argument,
  /// empty where nothing is to be compared. Of large buffers a sample of slices. Both are empty when the bits were the same.
  std::vector<std::string> baselineFresh, candidateFresh;
  std::vector<std::string> notes;
};

struct PairRequest {
  const Workload *workload = nullptr;
  const Instance *instance = nullptr;
  uint64_t seed = 1;
  bool self = true;                      ///< Time the baseline against itself first.
  bool baselineCounters = true, candidateCounters = true;
  unsigned repeats = 1;                  ///< Candidate timings one after another: of equal builds, to count false differences.
};

class Device {
public:
  virtual ~Device() = default;
  virtual std::string id() const = 0;              ///< "emulated" or "cuda:0 NVIDIA H200 driver 580.159".
  virtual bool measured() const = 0;               ///< False: times are modelled.
  virtual std::string revision() const { return {}; } ///< Of what finds the counts and faults: kept verdicts are asked again when it moves.
  virtual Build build(const SourceSet &sources, const Workload &workload) = 0;
  /// Runs all requests on a built version in one isolated worker process. A worker that dies gives Crash or Hang for the request it died in,
  /// and the rest are run by a fresh worker. Requests run in order; the version's device globals keep their values from one to the
  /// next, and buffers of one instance come back at the same addresses with new data, so that a cached result shows.
  /// Two calls for a version that was built may run at once.
  virtual std::vector<RunOutcome> run(const SourceSet &sources, const std::vector<RunRequest> &requests) = 0;
  /// The architecture that code is compiled for, 90 for sm_90.
  virtual unsigned architecture() const { return 90; }
  /// Measured devices only; a modelled time is one value, and needs no turns.
  virtual PairOutcome timePair(const SourceSet &baseline, const SourceSet &candidate, const PairRequest &request);
};

std::unique_ptr<Device> makeEmulatedDevice(unsigned sm = 90);

/// A GPU. User errors: no driver, no such GPU, no nvcc; each with its remedy.
Result<std::unique_ptr<Device>> makeCudaDevice(unsigned index = 0);

/// Where libcupti is, which times and counters come from; empty when nowhere.
std::string cuptiLibrary();

/// A device by its name on the command line: "emulated", "cuda" or "cuda:N". `sm` is for the emulated one; a GPU has its own.
Result<std::unique_ptr<Device>> deviceNamed(const std::string &name, unsigned sm = 90);

} // namespace klineage
