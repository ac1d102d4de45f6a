// Table: the answers of the gate to what was planted, counted.
#pragma once
#include "planted/trial.h"

namespace klineage {

struct PlantedRow {
  unsigned planted = 0, refused = 0, otherReason = 0, sameCode = 0, byHand = 0, beyond = 0, falseAccepts = 0, undecided = 0;
  unsigned usualAsked = 0, usualAccepted = 0;     ///< Of those that are wrong: equivalent ones are left out.
  std::map<std::string, unsigned> reasons;        ///< Of refusals and open answers.
};

struct PlantedTable {
  std::map<std::string, PlantedRow> operations;   ///< Of mutants.
  PlantedRow mutants, cheats, wrong;              ///< Sums; `wrong` is both.
  unsigned variants = 0, variantsAccepted = 0;
  std::vector<Tried> falseAccepts, falseRefusals, otherReasons, undecided;

  /// Nothing wrong was accepted, nothing right refused, and every answer was reached.
  bool isClean() const { return falseAccepts.empty() && falseRefusals.empty() && undecided.empty(); }
};
PlantedTable count(const std::vector<Tried> &all);

/// For a terminal and for docs/results/gate.md: a Markdown table and what went wrong, by name.
std::string toText(const PlantedTable &table);
/// klineage.planted/1, ending in a line break (docs/schema/planted.schema.json).
std::string toJson(const PlantedTable &table, const std::vector<Tried> &all);

} // namespace klineage
