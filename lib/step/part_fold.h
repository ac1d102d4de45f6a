// Kernels that fold a range of indices into totals, one a part: thread `part` of `parts` takes first + part, first + part + parts, ...
//
// The parts are a partition of the range whatever their number is: for one part it is the whole range. So a second launch that folds the
// totals again may be taken out by launching one part, and put in by launching many.
#pragma once
#include "step/block_a_row.h"
#include "step/guarded_row.h"

namespace klineage {

struct PartFold {
  const KernelModel *kernel = nullptr;
  std::optional<GuardedRow> parts;                ///< Absent: one thread takes the whole range.
  std::vector<const clang::VarDecl *> indices;    ///< Integer locals whose values come from the part's index or the number of parts, with the index itself.
  const clang::VarDecl *total = nullptr;
  Combine combine = Combine::Sum;
  std::vector<const Loop *> loops;
  std::vector<int64_t> strides;                   ///< Of each loop: the distance of neighbouring parts, in its counter's units.
  const clang::BinaryOperator *store = nullptr;   ///< `totals[part] = total`, or `totals[0] = total`.
  const Access *written = nullptr;

  const clang::ParmVarDecl *count() const { return parts ? kernel->function->getParamDecl(parts->count) : nullptr; }
  /// The buffer whose elements the one loop folds unchanged and in order from element 0, and the kernel parameter that bounds them.
  struct Plain {
    const clang::ParmVarDecl *buffer = nullptr, *length = nullptr;
  };
  std::optional<Plain> plain() const;
};

struct PartFoldFinding {
  std::optional<PartFold> found;
  std::string why; ///< When it folds something and is none: what is in the way. Else empty.
};
PartFoldFinding findPartFold(const KernelModel &kernel);

/// What a launch gives for a pointer parameter: the launcher's parameter that it derives from, or the launcher's local that it is (memory
/// taken from the stream, say); null when it is neither.
const clang::ValueDecl *bufferGiven(const Launch &launch, unsigned parameter);

/// A launch that leaves totals, and the later launch of the same launcher that folds them to one.
struct TwoPhases {
  PartFold first, second;
  const Launch *firstLaunch = nullptr, *secondLaunch = nullptr;
  const clang::ValueDecl *scratch = nullptr; ///< Host: the buffer between them, which nothing else of the launcher touches.
};

/// The second phase of a launch of a fold in parts, or why there is none.
struct TwoPhasesFinding {
  std::optional<TwoPhases> found;
  std::string why;
};
TwoPhasesFinding findSecondPhase(const Version &version, const PartFold &first, const Launch &launch);

} // namespace klineage
