// Lanes of a coarsened thread as text: which values differ between them, and how a statement for one output reads for all.
#pragma once
#include "step/coarsening_forward.h"

namespace klineage {

/// Along which axes a value differs between the outputs of one thread.
struct LaneSet {
  bool x = false, y = false;
  bool any() const { return x || y; }
  bool within(const LaneSet &other) const { return (!x || other.x) && (!y || other.y); }
  bool operator==(const LaneSet &) const = default;
  LaneSet &operator|=(const LaneSet &other) { x |= other.x, y |= other.y; return *this; }
  static LaneSet all() { return {true, true}; }
};

/// Follows the coordinates through the locals that they decide.
class LaneDependence {
public:
  explicit LaneDependence(const SingleOutput &single);
  LaneSet of(const clang::Stmt *stmt) const;
  LaneSet of(const clang::VarDecl *local) const;

private:
  std::map<const clang::VarDecl *, LaneSet> locals;
};

/// Rewrites statements for rows x columns outputs a thread.
class LaneText {
public:
  LaneText(const Version &version, const SingleOutput &single, int64_t rows, int64_t columns);

  std::string counter(unsigned axis) const { return axis ? rowCounter : columnCounter; }
  std::string guard(LaneSet lanes) const;                        ///< The guards that speak of those axes only, for one lane.
  Result<std::string> plain(const clang::Stmt *stmt);            ///< For one lane; locals keep their names.
  Result<std::string> spread(const clang::Stmt *stmt);           ///< For all lanes: locals are arrays, statements stand in loops over lanes.
  Result<Edits> finish(const std::string &text) const;           ///< The text in place of the statements, coordinates and launches to match.

private:
  const Unit &unit;
  const KernelModel &kernel;
  const SingleOutput &single;
  LaneDependence depends;
  int64_t rows, columns;
  std::string rowCounter, columnCounter;
  std::set<std::string> names;
  std::set<const clang::VarDecl *> arrays;

  LaneSet counted(LaneSet lanes) const { return {lanes.x && columns > 1, lanes.y && rows > 1}; }
  std::string fresh(const std::string &wish);
  std::string step(const OutputCoordinate &coordinate, int64_t times) const;
  std::string subscripts(LaneSet lanes) const;
  std::string extents(LaneSet lanes) const;
  std::string loops(LaneSet lanes, const std::string &statement) const;
  std::string conjunct(const Conjunct &part) const;
  std::map<const clang::Stmt *, std::string> replaced(const clang::Stmt *stmt) const;
  std::string text(const clang::Stmt *stmt, const std::map<const clang::Stmt *, std::string> &more = {}) const;
  bool loads(const clang::Stmt *stmt) const;
  std::string fragments(const clang::Stmt *stmt, LaneSet lanes, std::map<const clang::Stmt *, std::string> &into);
  Result<std::string> declaration(const clang::DeclStmt *decls);
  std::string zero(clang::QualType type) const;
};

} // namespace klineage
