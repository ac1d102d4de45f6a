// Query: which skills and steps fit a piece of code, or some words, and why.
#pragma once
#include "lineage_db/corpus.h"
#include "retrieve/rank.h"
#include "retrieve/sites.h"

namespace klineage {

struct Question {
  std::string words;                   ///< May be empty when there is code.
  std::string code;                    ///< The piece, compiling or not.
  const StepSites *sites = nullptr;    ///< When the piece parses: what the steps said.
  SkillFilter filter;                  ///< Which skills may be used.
  size_t limit = 5;                    ///< Steps in the answer.
};

/// One step with what speaks for it. Its parts stay apart, so that the reader can weigh them otherwise.
struct Found {
  std::string step, summary, stage;
  double score = 0;                    ///< What the order is made from; see answer().
  std::string applies;                 ///< "yes", "conditions" (a site, but a soundness condition does not hold), "present", "no", "not_asked".
  std::vector<SiteView> sites;         ///< Of materialize, sound ones first.
  std::vector<SiteView> present;
  double shape = 0;                    ///< 0 to 1.
  bool looksExpert = false;            ///< The piece looks like code that has the step already.
  std::string nearest;                 ///< The pair that it looks like: a skill, or an example of the catalogue.
  std::vector<std::string> because;    ///< The most telling tokens.
  double words = 0;                    ///< BM25, 1 for the best hit.
  std::optional<double> gainModelled, gainMeasured; ///< Geometric means over its skills here.
  std::vector<Skill> skills;           ///< Best first: status, then gain.
};

/// Ranked by: it applies here, its conditions hold, the shape is near, the words fit, it paid. `corpus` may be null: then the catalogue alone
/// answers. A question without any word or structure is a user error, never an empty answer.
Result<std::vector<Found>> answer(const Corpus *corpus, const Question &question);

/// The ranker over the catalogue's examples and the corpus's skills.
Result<ShapeRanker> shapeRanker(const Corpus *corpus, const SkillFilter &filter = {});

} // namespace klineage
