// How a wide access is written, and how its elements are written one by one.
#pragma once
#include "step/site_building.h"

namespace klineage {

/// A lvalue of a vector type (float4, int2, ...) that views scalars through a cast pointer.
struct VectorView {
  const clang::Expr *whole = nullptr;
  std::string vectorType, scalarType; ///< "float4", "float"
  unsigned width = 1;
  std::string base;  ///< Text of the scalar pointer or array that elements are counted from.
  std::string first; ///< Text of the first element's index, "" for zero.
  std::string element(unsigned lane) const;
};

/// The view behind a lvalue, following locals that are assigned once. A refusal names what is not understood; a buffer that is itself
/// declared as vectors is one.
Result<VectorView> viewOf(const Unit &unit, const clang::Expr *lvalue);

/// x, y, z, w.
const char *component(unsigned lane);
/// Lanes of a CUDA vector type of 32-bit scalars; 0 for every other type.
unsigned lanesOf(clang::QualType type);
/// Of a wide access whose lanes are not its elements, what it is: "a float4 moves 8 elements of __half".
std::string whyNoLanes(const Access &access);
/// "float4" for float and 4.
std::string vectorTypeOf(clang::QualType scalar, unsigned width);

/// The place of a statement with its semicolon.
Result<Unit::Place> statementPlace(const Unit &unit, const clang::Stmt *stmt);
/// Its text there.
std::string statementText(const Unit &unit, const clang::Stmt *stmt);

/// Removals of local declarations that are used only inside the statements given (or in each other). Those are about to go.
Edits removeDeadLocals(const Unit &unit, const clang::FunctionDecl *function, const std::vector<const clang::Stmt *> &going);

/// Why the other side of a branch with a wide access is no scalar twin of it; empty when it is one as far as can be told.
std::string whyNoTwin(const KernelModel &kernel, const clang::IfStmt &branch);

/// It stands in a list of statements, or `alone` as the body of a branch or loop (several in its place need braces); not so the increment of a loop.
bool isListed(const KernelModel &kernel, const clang::Stmt *statement, bool *alone = nullptr);

/// A branch with a wide access gives way to its scalar twin, the other side.
Result<Edits> keepTwin(const Unit &unit, const clang::FunctionDecl *function, const clang::IfStmt &branch);

/// Statements of the compound that directly holds `stmt` (through attributes), and its position there; empty when no compound does.
struct Siblings {
  std::vector<const clang::Stmt *> all;
  size_t at = 0;
};
Siblings siblingsOf(const KernelModel &kernel, const clang::Stmt *stmt);

/// All DeclRefExprs to a declaration under a statement.
std::vector<const clang::DeclRefExpr *> usesOf(const clang::Stmt *root, const clang::ValueDecl *decl);

/// `name`, or `name2`, ... : a word that the kernel file does not hold.
std::string unusedName(const SourceSet &sources, const std::string &name);

} // namespace klineage
