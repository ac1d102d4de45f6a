// A kernel whose threads each take one row: `row = blockIdx.x * blockDim.x + threadIdx.x`, bounded by a parameter of the kernel.
#pragma once
#include "step/step.h"

namespace klineage {

struct GuardedRow {
  const clang::DeclStmt *declaration = nullptr; ///< Of the row's index; no other place of the kernel names a thread or block index.
  const clang::VarDecl *row = nullptr;          ///< Never written again.
  IndexExpr value;                              ///< Of the row's index.
  const clang::IfStmt *guard = nullptr;         ///< `if (row >= count) return;`, or the `if (row < count)` around the rest; null: there is none.
  unsigned count = 0;                           ///< The kernel parameter that bounds it.
  std::vector<const clang::Stmt *> statements;  ///< What a thread inside the bound runs, without declaration and guard.
};

/// Nothing when the kernel has no such index, or names thread or block indices in other places too.
std::optional<GuardedRow> guardedRowOf(const KernelModel &kernel);

/// Blocks of one thread each: every launch says so, and the kernel asks for no index but its block's. What such a thread runs, or nothing.
std::optional<std::vector<const clang::Stmt *>> loneThreadOf(const KernelModel &kernel);

/// The variable that an expression names alone, or null.
const clang::VarDecl *variableNamedBy(const clang::Expr *expr);

/// What a statement or expression assigns directly, or null.
const clang::Expr *assignedBy(const clang::Stmt *stmt);

} // namespace klineage
