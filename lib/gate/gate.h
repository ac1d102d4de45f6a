// The gate: compile, correctness, profile; one verdict. Candidates of every origin pass the same one.
#pragma once
#include "device/device.h"

namespace klineage {

enum class Outcome { Accepted, Refused, Undecided };
const char *name(Outcome outcome);

/// Simplify: the profile needs only valid samples, and the effect is recorded. Materialize: slower and within noise are refusals.
enum class Policy { Simplify, Materialize };

struct ProfilePoint {
  std::string instance;
  double baselineSeconds = 0, candidateSeconds = 0;
  Counters baselineCounters, candidateCounters;
  bool measured = false;              ///< Otherwise modelled.
  double ratio = 0, low = 0, high = 0; ///< Measured: baseline over candidate from blocks of A-B-B-A, with its 95 % interval. Zero when modelled.
  double smallestDifference = 0;      ///< Measured: below it nothing is called a difference, from the baseline against itself.
  unsigned blocks = 0;
  std::string countersUnavailable;    ///< Why there are no counters, with the remedy.
  double speedup() const { return ratio > 0 ? ratio : candidateSeconds > 0 ? baselineSeconds / candidateSeconds : 0; }
};

/// One call of the candidate on one check instance, judged.
struct InstanceResult {
  std::string instance;
  uint64_t seed = 0;
  bool repeat = false;                ///< The same question asked a second time, to be compared bitwise.
  Reason reason = Reason::None;
  std::string detail;
  double worstError = 0, normError = 0;
};

struct Verdict {
  Outcome outcome = Outcome::Undecided;
  Reason reason = Reason::None;
  std::string detail;                 ///< Which instance, which element, which line.
  std::string instance;               ///< Where it failed, or empty.
  std::vector<ProfilePoint> profile;
  std::vector<ProfilePoint> modelled; ///< Of a measured device: what the verifier models for the same pair, on its own instance; kept beside, never mixed.
  std::string modelledBy;             ///< Its device.
  double worstError = 0;              ///< Largest per-element error over the tolerance's scale.
  bool nondeterministic = false;      ///< Repeated runs, or runs in another order of threads, differ bitwise (each within the bounds).
  std::vector<InstanceResult> instances;
  std::map<std::string, double> resources; ///< registers, spill_bytes, shared_bytes, when they were had.
  std::string oracle;                 ///< "reference" or "self".
  std::vector<std::string> notes;     ///< What a reader should know: a damaged record that was ignored, a weaker isolation.
  bool fromCache = false;             ///< Correctness was answered by a kept record.
  std::string runKey;                 ///< Names the kept record: sources, workload, device, gate revision.
  double seconds = 0;                 ///< Wall clock of this call.
  bool accepted() const { return outcome == Outcome::Accepted; }
};

struct GateOptions {
  Policy policy = Policy::Simplify;
  unsigned seeds = 2;                 ///< Fresh inputs a check instance.
  bool profile = true;
  bool useCache = true;
  std::string instance;               ///< The profile instance to time; empty: the first of the device.
};

class Gate {
public:
  /// `record` is the folder in which every run is kept and which answers repeated questions.
  Gate(Device &device, std::filesystem::path record);
  ~Gate();

  /// A GPU shows few races. With a verifier (the emulated device) a version is accepted on a measured device only when the verifier accepts its
  /// correctness too; where the verifier cannot run it the answer is undecided. The verifier must outlive the gate.
  void setVerifier(Device &verifier);

  /// The candidate against the workload's reference, and its time against the baseline's (when one is given).
  Verdict judge(const Workload &workload, const SourceSet &candidate, const SourceSet *baseline, const GateOptions &options = {});

  static constexpr int revision = 2;  ///< Raised when a verdict could change.
  static constexpr double smallestModelledDifference = 0.01; ///< Of modelled times; measured ones have their own noise (docs/gate.md).

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The verdict as JSON (docs/schema/verdict.schema.json), ending in a line break.
std::string toJson(const Verdict &verdict);

/// Whether a reason leaves the question open instead of answering it with no.
bool isUndecided(Reason reason);

/// The sources of a kernel folder as loaded from disk. User errors name the file that cannot be read.
Result<SourceSet> loadSources(const Workload &workload);

} // namespace klineage
