// Reductions across the threads of a block or warp: where they are, what they combine, and how the simple forms are written.
//
// A region is a run of neighbouring statements after which a value stands that is the combination of one input of every thread of a
// group. Regions are found by what the statements compute (lockstep.h), so shuffles, trees and serial sums look alike.
#pragma once
#include "step/lockstep.h"
#include "step/step.h"

namespace klineage {

enum class Combine { Sum, Product, Maximum, Minimum, ScaledSum };
const char *name(Combine combine);

/// The launch of a kernel as far as the threads of one block go. Not known: 256 threads stand for it, and code must use blockDim.
struct BlockShape {
  std::array<int64_t, 3> extent{256, 1, 1};
  bool known = false;
  bool axes[2] = {false, false}; ///< Not known, and perhaps more than one thread along y, z.
  int64_t size() const { return extent[0] * extent[1] * extent[2]; }
};
BlockShape blockShapeOf(const KernelModel &kernel);

/// Where a total stands: a variable (or a field of it), one element of a shared array, or what a helper returns.
struct TotalPlace {
  const clang::ValueDecl *decl = nullptr; ///< Null: the returned value.
  int field = -1;
  std::optional<int64_t> element;         ///< Of the shared array (0 for a shared scalar).
  int64_t cell = -1;                      ///< Of an array of the thread's own, in innermost elements.
  bool operator==(const TotalPlace &) const = default;
};

struct Total {
  TotalPlace place;
  SampleInput input;         ///< Its values are left out.
  Combine combine = Combine::Sum;
  int64_t group = 0;         ///< Neighbouring threads in linear order that are combined.
  bool everyThread = false;  ///< False: only the first thread of each group has it.
  /// ScaledSum: sum of input * base^(maximumOf - its group's maximum); the two halves of an online softmax.
  SampleInput maximumOf;
  bool baseTwo = false;
};

struct ReductionRegion {
  const KernelModel *kernel = nullptr;
  const clang::FunctionDecl *function = nullptr; ///< The kernel, or the helper that holds the region.
  const clang::CompoundStmt *body = nullptr;     ///< The list that the statements stand in.
  std::vector<const clang::Stmt *> statements;
  std::vector<Total> totals;                     ///< Every value that lives on after the region.
  std::vector<const clang::Stmt *> kept;         ///< Declarations of thread indices inside it that later code uses.
  Exchange exchange;
  unsigned shuffles = 0;
  int64_t group = 0;                             ///< Of all totals.
  bool wholeBlock = false;
  bool ownedByHelper = false;                    ///< It only calls a helper that holds the same reduction.
  std::set<const clang::FunctionDecl *> calls;   ///< Helpers that exchange, called from it.
};

/// A statement that shuffles and is part of no region, and why it is none.
struct Unexplained {
  const clang::Stmt *statement = nullptr;
  std::string why;
};

/// Every region of a kernel and of the helpers that it calls; in a helper whose every call stands in a larger region none is listed.
std::vector<ReductionRegion> findReductions(const Version &version, const KernelModel &kernel, std::vector<Unexplained> *rest = nullptr);

/// What a helper returns, when that is a reduction of one of its parameters over the whole block or a warp.
struct HelperReduction {
  unsigned parameter = 0;
  Total total;
};
std::optional<HelperReduction> reductionOf(const clang::FunctionDecl *function, const KernelModel &kernel, const BlockShape &shape);

/// "a += b", "a = fmaxf(a, b)" for the type.
std::string combineStatement(Combine combine, const std::string &into, const std::string &other, clang::QualType type);
/// The value that changes nothing, in the type.
std::string identityOf(Combine combine, clang::QualType type);

/// Values of each thread that are combined over one group, in one go.
struct CombineForm {
  struct Value {
    std::string variable, slots; ///< The value, in and out; a fresh name for the shared array.
    clang::QualType type;
    Combine combine = Combine::Sum;
  };
  std::vector<Value> values;
  BlockShape shape;
  int64_t group = 0;           ///< The block's size, or a power of two up to 32.
};
std::string throughShared(const CombineForm &form);
std::string throughShuffles(const CombineForm &form);

} // namespace klineage
