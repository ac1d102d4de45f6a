// What the steps themselves say of a piece of code that parses: where they act, what they find present, why they do not.
#pragma once
#include "support/result.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace klineage {

struct SourceSet;
struct Environment;

struct ConditionView {
  std::string name, text, kind; ///< kind: "soundness" or "profit".
  std::string truth, why;       ///< "holds", "violated", "unknown", and the sentence with the numbers.
};

/// One place, in words.
struct SiteView {
  std::string step;
  std::string locus;            ///< "buffer As", "loop k".
  std::string where;            ///< "file:line".
  unsigned line = 0, lastLine = 0;
  std::map<std::string, long long> parameters;
  std::vector<ConditionView> conditions;
  std::string unsound;          ///< First soundness condition that does not hold; empty: sound.
};

/// A place that looks like a site and is none.
struct DeclineView {
  std::string step, reason, where, text;
};

struct StepSites {
  std::vector<SiteView> canAdd;   ///< Sites of materialize.
  std::vector<SiteView> present;  ///< Sites of simplify: the features that the code has.
  std::vector<DeclineView> declinesToAdd, declinesToRemove;
};

/// Parses the sources and asks every step (or one), both ways. `line`: only what stands on that line of the main file.
/// Code that does not parse is a user error with the front end's words.
Result<StepSites> findSites(const SourceSet &sources, const Environment &environment, unsigned sm = 90, const std::string &onlyStep = {},
                            std::optional<unsigned> line = {});

} // namespace klineage
