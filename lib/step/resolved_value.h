// ResolvedValue: what a value is, followed through locals, components of vectors, branches and the helpers that returned it.
//
//   float4 v = make_float4(0, 0, 0, 0);  if (row < rows) { p = src + row * cols; if (c < cols) v.x = p[c]; }  return v;
//
// The component x is p[c] where row < rows and c < cols hold, else 0: a list of alternatives, each in the activation where it stands.
#pragma once
#include "model/kernel_model.h"

namespace klineage {

/// The calls that lead from the kernel to where an expression stands, outermost first; empty in the kernel itself.
using Activation = std::vector<const clang::CallExpr *>;

struct LocatedExpr {
  const clang::Expr *expr = nullptr; ///< Null: the zero that an empty initializer gives.
  Activation calls;
  bool operator==(const LocatedExpr &) const = default;
};

/// The value where all conditions hold and those of the alternatives before it do not.
struct Alternative {
  struct Condition {
    LocatedExpr expr;
    bool negated = false;
    bool operator==(const Condition &) const = default;
  };
  std::vector<Condition> when;
  LocatedExpr value;
};
using ResolvedValue = std::vector<Alternative>;

/// The alternatives, the last one without conditions. Refusals say what is not followed: a value that a loop carries, a variable whose
/// address is kept, a return inside a loop, a call whose body is not known.
Result<ResolvedValue> resolvedValue(const KernelModel &kernel, const clang::Expr *value);

/// The argument that a call gives a parameter of the function it enters; null when there is none.
const clang::Expr *argumentFor(const Activation &calls, const clang::ParmVarDecl *parameter);

} // namespace klineage
