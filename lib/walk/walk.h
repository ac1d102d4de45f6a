// The walk: from an expert's kernel backward, one feature at a time, keeping what the gate accepts.
#pragma once
#include "gate/gate.h"
#include "lineage_db/corpus.h"
#include "step/engine.h"

namespace klineage {

struct WalkOptions {
  int stepLimit = 64;       ///< Accepted removals.
  int refusalLimit = 96;    ///< Refused or undecided tries, over the whole walk.
  bool rederive = true;     ///< Try each accepted removal forward again.
  bool probe = true;        ///< Break each soundness condition and see what the gate answers.
  unsigned sm = 90;
  std::function<void(const std::string &)> progress; ///< One line an event; may be empty.
  std::function<bool()> stop;                        ///< Asked between tries; true ends the walk, which can be resumed.
};

/// A feature that no accepted removal took out, and why.
struct LeftFeature {
  Feature feature;
  std::string reason, detail;
};

struct WalkReport {
  std::string kernel, status;      ///< complete, step_limit, refusal_limit, stopped
  int accepted = 0, refused = 0, undecided = 0, reproduced = 0, inert = 0, skills = 0;
  bool resumed = false;
  std::vector<LeftFeature> left;
  SourceSet plain;                 ///< The version where the walk stands.
  double seconds = 0;
};

/// Whether the gate accepts an expert against its own reference; a user error that says why not.
Status expertPasses(const Workload &workload, const SourceSet &expert, Gate &gate);

/// Walks one kernel. Every try is committed to the corpus before the next begins, so a killed walk goes on where it was; a finished one
/// answers at once. An expert that the gate does not accept against its own reference is a user error.
Result<WalkReport> walk(const Workload &workload, const SourceSet &expert, Gate &gate, Corpus &corpus, const std::string &device,
                        const WalkOptions &options = {});

} // namespace klineage
