// Known: inequalities that hold at a place, and whether another follows from them. Used to drop guards that are implied.
#pragma once
#include "model/kernel_model.h"

namespace klineage {

/// One part of a conjunction. `positive` is the difference that is at least 1 when it holds; none when it is no comparison of integers.
struct Conjunct {
  const clang::Expr *expr = nullptr;
  bool negated = false;
  std::optional<IndexExpr> positive;
};

/// `a && b` has two, also `!(a || b)`; a disjunction is one conjunct without a difference. `calls` lead to where the condition stands.
std::vector<Conjunct> conjunctsOf(const KernelModel &kernel, const clang::Expr *condition, bool negated = false,
                                  const std::vector<const clang::CallExpr *> &calls = {});

class Known {
public:
  Known() = default;
  /// What holds where an access is made: its guards and the bounds of its loops.
  Known(const KernelModel &kernel, const std::vector<Guard> &guards, const std::vector<const Loop *> &loops);

  void assume(IndexExpr positive) { facts.push_back(std::move(positive)); }
  void assume(const KernelModel &kernel, const Guard &guard);
  bool implies(const IndexExpr &positive) const;

private:
  std::vector<IndexExpr> facts;
};

} // namespace klineage
