// Remap: says at a reader's place what a writer computed. The engine behind taking out staging buffers: where the reader's
// subscripts equal the writer's, every quantity that the writer derived from its own iterators can be told from the subscripts.
#pragma once
#include "step/index_text.h"
#include "step/resolved_value.h"

namespace klineage {

/// One subscript of a staging buffer on both sides.
struct Meeting {
  IndexExpr written; ///< Over the writer's iterators.
  IndexExpr read;    ///< Over the reader's.
  Piece text;        ///< The reader's, as C++ at the reader's place.
};

class Remap {
public:
  /// `own` are the writer's iterators: quantities that mean something else, or nothing, at the reader's place.
  Remap(const KernelModel &kernel, const PlaceInKernel &reader, std::vector<Meeting> meetings, std::vector<AtomRef> own);

  bool dependsOnWriter(const IndexExpr &value) const;
  bool dependsOnWriter(const clang::Expr *expr) const;

  /// The reader's view of a value of the writer; none when the subscripts do not decide it.
  std::optional<IndexExpr> map(const IndexExpr &value) const;

  /// The same for an expression, as C++: its own structure and names are kept where the reader's place allows.
  std::optional<Piece> print(const clang::Expr *expr) const;

  const PlaceInKernel &reader() const { return place; }
  const std::vector<Meeting> &meetings() const { return meets; }
  const std::vector<AtomRef> &writersOwn() const { return own; }

  /// Asked for reads that the writer makes of its own staging arrays (a register array between global and shared memory).
  std::function<std::optional<Piece>(const clang::Expr *, const Remap &)> throughArray;

  /// Locals whose declarations are rewritten with the expression: their names stay.
  std::set<const clang::VarDecl *> kept;

  /// What is printed stands in a helper that these calls lead to: its parameters are what it was given, its locals are followed.
  Activation calls;

  /// The writer is another thread: locals that change are its own, and mean nothing to the reader.
  bool otherThread = false;

  /// Quantities that have one value here (a loop's variable in one of its iterations), by Atom::key. They are put in before anything is
  /// told, so that text which holds them is never copied.
  std::map<std::string, IndexExpr> fixed;

  /// Whether a local has the same value at both places; those that never change have.
  std::function<bool(const clang::VarDecl *)> stable;

private:
  const KernelModel &kernel;
  const PlaceInKernel &place;
  IndexExpr lift(const clang::Expr *expr) const; ///< In the helper's activation, and with what is fixed put in.
  bool holdsFixed(const clang::Expr *expr) const;
  bool isWide(const clang::Expr *access) const;
  Remap inCaller() const;
  bool isStable(const clang::VarDecl *decl) const;
  bool readsTheSame(const clang::Expr *expr) const; ///< Its names are visible to the reader and worth the same there.
  std::vector<Meeting> meets;
  std::vector<AtomRef> own;

  std::optional<IndexExpr> solve(IndexExpr value) const;
  std::optional<Piece> printInteger(const clang::Expr *expr) const;
  std::optional<Piece> printSum(const clang::BinaryOperator *sum) const;
  std::optional<Piece> printAccess(const clang::Expr *expr) const;
  std::optional<Piece> printInHelper(const clang::DeclRefExpr *ref) const;
  std::optional<Piece> offsetInto(const clang::ValueDecl *buffer, const clang::Expr *pointer) const;
  std::optional<Piece> printVariable(const clang::DeclRefExpr *ref) const;
  std::optional<Piece> printVariableOnce(const clang::DeclRefExpr *ref) const;
  mutable std::set<const clang::ValueDecl *> beingPrinted;
  std::optional<Piece> printParts(const clang::Expr *expr) const;
  std::optional<Piece> printWhole(const IndexExpr &value) const;
};

} // namespace klineage
