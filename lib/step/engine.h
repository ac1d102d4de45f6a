// The engine: asks steps for sites, checks conditions, applies edits. It alone decides what is changed.
#pragma once
#include "step/registry.h"

namespace klineage {

/// A version with everything that was derived from it, kept alive together.
class LoadedVersion {
public:
  /// With an entry, only the kernels that this launcher launches belong to the version: of others no run says whether a change is right.
  static Result<std::unique_ptr<LoadedVersion>> load(const SourceSet &sources, const Environment &environment,
                                                     const FrontEndOptions &options = {}, const std::string &entry = {});
  const std::string &entry() const { return launcher; }
  const SourceSet &sources() const { return unit->sources(); }
  const std::string &hash() const { return key; }
  Version view() const { return {*unit, kernels, environment}; }

private:
  std::unique_ptr<Unit> unit;
  std::vector<KernelModel> kernels;
  Environment environment;
  std::string key, launcher;
};

/// An optimization present at a locus.
struct Feature {
  std::string step;
  Locus locus;
  Parameters parameters;
};

struct ConditionAnswer {
  ConditionDecl decl;
  Answer answer;
  bool asked = true; ///< The site binds every name in it. A site to be taken out leaves open what only adding asks for.
};

/// One site found by one step, its conditions evaluated on this code.
struct Candidate {
  std::string step;
  Site site;
  std::vector<ConditionAnswer> conditions;
  bool sound() const;                   ///< Every soundness condition holds.
  std::string firstUnsound() const;     ///< Name of the first soundness condition that does not hold, or empty.
};

struct Survey {
  std::vector<Candidate> candidates;
  std::vector<std::pair<std::string, Decline>> declines; ///< With the step's id.
};

/// Sites of one direction over all steps (or one). Sites whose soundness condition is violated or unknown are kept and marked.
Survey survey(const LoadedVersion &version, Direction direction, std::string_view onlyStep = {});

/// The conditions of a candidate asked again in another environment, the code being the same.
std::vector<ConditionAnswer> conditionsUnder(const Candidate &candidate, const Environment &environment);

/// Detecting is asking for sites of simplify.
std::vector<Feature> features(const LoadedVersion &version);

/// Applies one direction at one site: edits, overlap check, format, parse. The conditions must hold unless `waive`.
/// Where a step has several sites on one locus the candidate says which.
struct Applied {
  SourceSet sources;   ///< Formatted.
  SourceSet edited;    ///< As the edits left it, before formatting: loci are followed through it.
  Edits edits;
  std::unique_ptr<LoadedVersion> version;
};
Result<Applied> apply(const LoadedVersion &version, Direction direction, const Candidate &candidate,
                      const Parameters &parameters, bool waive = false);

/// Documented complexity measure: statements + loops + buffers + barriers + intrinsic calls (docs/decisions/complexity.md).
int complexity(const LoadedVersion &version);

/// How the features changed in one application. Loci are followed through the edits: a place outside them moves with the text; a place inside
/// a replaced stretch may reappear anywhere in its replacement. `uncovered` became visible only now.
struct FeatureChange {
  std::vector<Feature> gone, uncovered, kept;
};
FeatureChange compareFeatures(const LoadedVersion &before, const Applied &after);

/// True when the application of `simplify` at the candidate took away exactly that feature. Otherwise the text says what else moved.
struct OneFeatureCheck {
  bool exactlyOne = false;
  std::string why;
  std::vector<Feature> uncovered;
};
OneFeatureCheck checkOneFeature(const LoadedVersion &before, const Candidate &candidate, const Applied &after);

/// One line for people: "vector_load at buffer a (kernel.cu:12), width 4".
std::string describe(const std::string &step, const Locus &locus, const Parameters &parameters, const SourceSet &sources);

} // namespace klineage
