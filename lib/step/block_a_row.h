// A kernel with one thread a row, and the same kernel with one block a row: the way forward of cooperative_row.
#pragma once
#include "step/reduction_edit.h"

namespace klineage {

/// One thread a row: its loops over the row, the totals that they gather, the stores that one thread of a block must do.
struct ThreadRow {
  const KernelModel *kernel = nullptr;
  const clang::DeclStmt *row = nullptr;          ///< `row = blockIdx.x * blockDim.x + threadIdx.x`; null: the thread is a block of its own, and the grid stays.
  unsigned count = 0;                            ///< The kernel parameter that bounds it.
  std::vector<const Loop *> loops;               ///< Those that become strided.
  std::map<const Loop *, int64_t> parts;         ///< Those that step over the row's whole range of parts, with the distance of neighbours (part_fold.h).
  struct Gathered {
    const clang::VarDecl *variable = nullptr;
    Combine combine = Combine::Sum;
    const clang::Stmt *after = nullptr;          ///< The combination follows this statement.
  };
  std::vector<Gathered> gathered;
  std::vector<const clang::Stmt *> singleStores; ///< Stores outside the loops.
  int carriedBuffers = 0;                        ///< Buffers that one iteration writes and another one touches.
};

struct ThreadRowFinding {
  std::optional<ThreadRow> found;
  std::optional<Decline> decline;
};
ThreadRowFinding findThreadRow(const Version &version, const KernelModel &kernel);

/// A block of `threads` a row: device and launch together.
Result<Edits> toBlock(const Version &version, const ThreadRow &rows, int64_t threads);

/// How the statement gathers into the variable: `v += e`, `v = max(e, v)`, `if (e > v) v = e`; nothing when every use of it there is not such.
std::optional<Combine> gathers(const clang::Stmt *stmt, const clang::VarDecl *variable);

} // namespace klineage
