// Inside this room only: what the AST says about a statement, asked by several operators.
#pragma once
#include "mutate/operator.h"

namespace klineage::mutate {

/// Without parentheses and conversions that nobody wrote.
const clang::Expr *bare(const clang::Expr *expr);

/// The name of the function that is called, or empty.
llvm::StringRef calleeName(const clang::Stmt *stmt);

bool isBlockBarrier(const clang::Stmt *stmt);
bool isWarpBarrier(const clang::Stmt *stmt);

/// Stands as a statement of its own, so that it can be left out.
bool isWholeStatement(const Body &body, const clang::Stmt *stmt);

/// Reads or writes memory that other threads see: a shared variable, or an element that is reached through a pointer.
bool touchesSharedState(const clang::Stmt *stmt);

bool isShared(const clang::Decl *decl);

/// The variable that an expression names as a whole, or null.
const clang::VarDecl *variableOf(const clang::Expr *expr);
/// The variable whose element or whole is named: `acc` of `acc[i][j]`.
const clang::VarDecl *rootOf(const clang::Expr *expr);

std::optional<double> constantOf(const Body &body, const clang::Expr *expr);

/// Where an operator's token stands.
clang::SourceRange tokenOf(const clang::BinaryOperator *op);

/// `<` for `<=` and the like; none for operators that compare nothing.
std::optional<const char *> widened(clang::BinaryOperatorKind kind);

/// Local variables that are summed into or folded otherwise, with the folds: `v += e`, `v = max(v, e)`, `v[i] += e`.
struct Fold {
  const clang::VarDecl *variable;
  const clang::Expr *target;    ///< The left side.
  const clang::BinaryOperator *op;
  bool isSum;                   ///< By + or -; otherwise by a function or another operator.
};
std::vector<Fold> foldsOf(const Body &body);

} // namespace klineage::mutate
