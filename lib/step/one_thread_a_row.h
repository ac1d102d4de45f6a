// A block that works on one row, and the same kernel with one thread a row: the way back of cooperative_row.
//
// The idea: a kernel whose block strides over a row by its own size is right for every block size, so also for a block of one thread.
// Then each thread index is 0, each stride 1, each combination over the block the thread's own value, and barriers and shared scalars
// are nothing. What was a block becomes a thread of an ordinary launch; or it stays a block, of one thread, where the grid has several dimensions or
// where the kernel cannot be given the number of rows.
#pragma once
#include "step/reduction_edit.h"

namespace klineage {

struct RowBlock {
  const KernelModel *kernel = nullptr;
  BlockShape shape;
  bool warps = false;                                     ///< A warp a row, not a block: the row in the block is threadIdx.y,
  bool flat = false;                                      ///< or, in a block of one dimension, threadIdx.x / 32.
  bool alone = false;                                     ///< The thread of a row becomes a block of its own: the grid stays.
  std::vector<ReductionRegion> regions;                   ///< In the kernel itself.
  std::map<const clang::CallExpr *, unsigned> helperCalls; ///< Calls that answer the total of that argument.
  std::set<const clang::FunctionDecl *> helpers;
  std::vector<const clang::DeclStmt *> sharedScalars;
};

/// The kernel as rows by blocks or warps; or why it looks so and is not; or nothing.
struct RowBlockFinding {
  std::optional<RowBlock> found;
  std::optional<Decline> decline;
};
RowBlockFinding findRowBlock(const Version &version, const KernelModel &kernel);

/// One thread a row: device and launch together.
Result<Edits> toOneThread(const Version &version, const RowBlock &rows);

/// "threadIdx", axis 0 for `threadIdx.x`; an empty name for anything else.
std::pair<std::string, unsigned> threadBuiltin(const clang::Expr *expr);
bool mentionsBuiltin(const clang::Stmt *stmt, std::string_view name);

/// A barrier of a block, warp or group, alone.
bool isBarrier(const clang::Stmt *stmt);

/// The kernel parameter that every launch gives the x extent of its grid, or null.
const clang::ParmVarDecl *rowCount(const KernelModel &kernel);

/// The x extent of a launch's grid as host text, in parentheses when it is not simple.
std::string gridText(const Unit &unit, const Launch &launch);

} // namespace klineage
