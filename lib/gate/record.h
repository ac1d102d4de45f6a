// Record: what is kept of every run. The folder:
//
//   runs/<key>.json      klineage.run/1: one version on one workload and device, all check instances, whatever the outcome
//   profiles/<key>.json  klineage.profile/1: one version timed on one profile instance
//   pairs/<key>.json     klineage.pair/1: two versions timed in turns, with every block
//   verdicts/<key>.json  klineage.verdict/1: what a question (candidate, baseline, policy) was answered
//   sources/<sha256>     texts, by content
//
// Each file carries "checksum", the SHA-256 of its own text without that member. A file that does not parse, has another checksum, or
// tells of another key is damaged: it is moved aside to <key>.damaged and named, and the question is asked again. A database was
// not taken here: runs are written by many processes, read by few, and must survive a kill at any moment, which a rename gives.
#pragma once
#include "gate/gate.h"

namespace klineage {

/// Correctness of one version.
struct RunRecord {
  std::string key, version, workload, device, compiler, isolation, oracle;
  int revision = Gate::revision;
  Build build;
  std::vector<InstanceResult> instances;
  Outcome outcome = Outcome::Undecided;
  Reason reason = Reason::None;
  std::string detail, instance;
  double worstError = 0, seconds = 0;
  bool nondeterministic = false;
  SourceSet sources;          ///< Written as hashes; the texts go to sources/. Not read back.
};

/// Times and counters of one version.
struct ProfileRecord {
  std::string key, version, workload, device, instance;
  Reason reason = Reason::None;
  std::string detail;
  bool measured = false;
  std::vector<double> seconds;
  Counters counters;
};

/// Two versions timed in turns on a measured device: raw samples of all blocks.
struct PairRecord {
  std::string key, baseline, candidate, workload, device, instance;
  Reason reason = Reason::None;
  std::string detail, stoppedBy, countersUnavailable;
  std::vector<TimingBlock> self, blocks; ///< The baseline against its copy (empty: known from an earlier pair); against the candidate.
  double smallestDifference = 0;
  Counters baselineCounters, candidateCounters;
  std::vector<std::string> notes;
};

class RecordFolder {
public:
  explicit RecordFolder(std::filesystem::path folder) : folder(std::move(folder)) {}

  /// Nothing when there is none, or a damaged one, which is then told in `notes`.
  std::optional<RunRecord> run(const std::string &key, std::vector<std::string> &notes) const;
  std::optional<ProfileRecord> profile(const std::string &key, std::vector<std::string> &notes) const;

  std::optional<PairRecord> pair(const std::string &key, std::vector<std::string> &notes) const;

  Status keep(const PairRecord &record) const;
  Status keep(const RunRecord &record) const;
  Status keep(const ProfileRecord &record) const;
  Status keepVerdict(const std::string &key, const Verdict &verdict) const;

private:
  std::filesystem::path folder;
};

} // namespace klineage
