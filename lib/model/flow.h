// StagingFlow: for each read of a staging buffer, the element of the source that the copy which it sees had put there.
//
//   As[ty][tx] = A[row * n + k0 + tx];  __syncthreads();  sum += As[ty][k] * ...      the read sees  A[row * n + k0 + k]
//
// The index of the write is solved for the writing thread's own quantities (its thread index and the loops around the write that are
// not around the read): every dimension is a mixed-radix number over them, also when a flattened thread index is split by / and %,
// padded, written several elements at a time, or swizzled by an exclusive or. Barriers order writes before reads; a write that comes
// later in the body of a common loop is seen in the next iteration (double buffering), the first iteration then sees the write
// before the loop.
#pragma once
#include "model/kernel_model.h"

namespace klineage {

/// One write that a read may see.
struct StagedCopy {
  const Access *write = nullptr;
  const Access *source = nullptr;
  enum When { SameIteration, PreviousIteration, BeforeLoop } when = SameIteration; ///< Relative to the innermost loop around both.
};

/// What a read sees, in the reader's own terms (its threadIdx, its loops).
struct SeenSource {
  const clang::ValueDecl *buffer = nullptr; ///< The source buffer.
  IndexExpr index;                          ///< Element of it, counted as Access::index of the source.
  std::vector<Comparison> guards;           ///< The source is loaded only where all hold ...
  const clang::Expr *otherwise = nullptr;   ///< ... and else this is stored (zero fill); null: nothing is stored, or it is always loaded.
  bool unliftedGuard = false;               ///< A guard of the copy is no integer comparison: `guards` is not all.
  std::vector<StagedCopy> copies;           ///< All writes that contribute: lanes of a vector, the one before a loop and the one inside.
  bool proved = false;                      ///< Putting the solution into the write's index gives the read's index back.
};

class StagingFlow {
public:
  StagingFlow(const KernelModel &kernel, const clang::ValueDecl *buffer);

  /// The source of element `lane` of the read (0 for a scalar read). Refusals, by their first word: not_a_copy (a value is computed on
  /// the way), several_sources, unsolved (the write's index is not a mixed-radix number of the writer's own quantities), no_write,
  /// no_barrier, opaque_index.
  Result<SeenSource> seenBy(const Access &read, unsigned lane = 0) const;

  std::vector<const Access *> reads() const;
  std::vector<const Access *> writes() const;

private:
  struct Write;
  const KernelModel &kernel;
  const clang::ValueDecl *buffer;
  std::vector<std::shared_ptr<Write>> groups;
  std::optional<Error> problem;
  Result<SeenSource> through(const Write &write, const Access &read, unsigned lane, StagedCopy::When when, const Loop *first) const;
};

/// `left < right` as C++ text, with what is subtracted moved to the other side.
std::optional<std::string> spelled(const KernelModel &kernel, const Comparison &comparison, const std::map<std::string, std::string> &names = {});

} // namespace klineage
