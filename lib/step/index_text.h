// Text of index expressions at a place: what is in scope there, and how a polynomial reads in C++.
#pragma once
#include "model/kernel_model.h"

namespace klineage {

/// A piece of C++ with the precedence of its outermost operator, so that it is parenthesized only where it must be.
struct Piece {
  enum Precedence { Primary, Unary, Product, Sum, Shift, Relation, Equality, BitAnd, BitXor, BitOr, And, Or, Conditional, Any };
  std::string text;
  Precedence precedence = Primary;
  std::string within(Precedence outer) const { return precedence > outer ? "(" + text + ")" : text; }
};
Piece::Precedence precedenceOf(const clang::Expr *expr);
Piece::Precedence precedenceOf(clang::BinaryOperatorKind op);

/// What names mean at one statement of a kernel.
class PlaceInKernel {
public:
  PlaceInKernel(const KernelModel &kernel, const clang::Stmt *place);

  /// Gives a quantity that the model does not know (a loop that is about to be written) its text.
  void spell(const AtomRef &atom, std::string text) { spelled[atom->key] = std::move(text); }

  const KernelModel &model() const { return kernel; }
  const clang::Stmt *statement() const { return place; }
  bool sees(const clang::ValueDecl *decl) const;         ///< Declared before the place, in a scope around it.
  bool seesAllOf(const clang::Stmt *expr) const;         ///< Every local that the expression names.
  /// The polynomial as C++: a visible local of the same value where there is one, parameters factored out. None when a
  /// quantity has no spelling here.
  std::optional<Piece> print(const IndexExpr &value) const;

private:
  const KernelModel &kernel;
  const clang::Stmt *place;
  std::map<std::string, std::string> spelled;
  std::set<const clang::VarDecl *> visible;
  std::vector<std::pair<const clang::VarDecl *, IndexExpr>> vocabulary; ///< Visible integer locals that never change.
  std::optional<Piece> printAtom(const Atom &atom, bool asSigned = false) const;
  std::optional<Piece> printFlat(const IndexExpr &value) const;
};

/// A quantity that exists only in the text that is being written.
AtomRef writtenQuantity(const std::string &text);

/// A name that nothing in the kernel's function has yet.
std::string freshName(const KernelModel &kernel, const std::string &wish);

/// The local variables that a statement names (declared inside a function, parameters excluded).
std::vector<const clang::VarDecl *> localsNamedIn(const clang::Stmt *stmt);

/// The parameters that a statement names.
std::vector<const clang::VarDecl *> parametersNamedIn(const clang::Stmt *stmt);

/// The expressions of a statement that stand in no other expression.
std::vector<const clang::Expr *> outermostExpressions(const clang::Stmt *stmt);

/// An integer, not a truth value.
bool isInteger(clang::QualType type);

/// The single initializer of a local that is never assigned again, or null.
const clang::Expr *onlyValueOf(const KernelModel &kernel, const clang::VarDecl *decl);

/// Every assignment (also ++, compound, address taken) to a local within a statement.
std::vector<const clang::Expr *> assignmentsTo(const clang::VarDecl *decl, const clang::Stmt *within);

/// The statement that declares a local, or null.
const clang::DeclStmt *declarationOf(const KernelModel &kernel, const clang::VarDecl *decl);

} // namespace klineage
