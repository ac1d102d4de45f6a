// ShapeRanker: which step's code looks most like a given piece. It knows each step by pairs of plain and expert code alone, so a new step
// needs no word here.
#pragma once
#include "lineage_db/shape.h"
#include <string>
#include <vector>

namespace klineage {

class ShapeRanker {
public:
  /// One pair of a step. Either side may be empty. `label` names it in the answer (a skill's key, or a file of the catalogue).
  void add(const std::string &step, const std::string &label, const Shape &plain, const Shape &expert);

  struct Match {
    std::string step;
    double score = 0;        ///< 0 to 1. Comparable within one answer.
    bool expert = false;     ///< The piece looks like the form that already has the step; else like the form that lacks it.
    std::string label;       ///< The pair that it is nearest to.
    std::vector<std::pair<std::string, double>> because; ///< The tokens that said so, most telling first.
  };
  /// One match a step, best first; steps that share nothing with the piece are left out.
  std::vector<Match> rank(const Shape &piece) const;

private:
  struct Side {
    std::string step, label;
    bool expert = false;
    Shape all, own;          ///< `own`: what the other side has not, or has less of.
  };
  std::vector<Side> sides;
};

} // namespace klineage
