// Tidying: what a rewrite leaves behind is taken away, so that the simpler kernel reads as if it had been written so.
// Each rewrite answers with the edits of one round; none when there is nothing to do.
#pragma once
#include "step/draft.h"
#include "step/known.h"

namespace klineage {

/// Locals that nobody reads, and loops and branches with nothing in them.
Edits dropDeadCode(const KernelModel &kernel);
/// Block barriers that separate no two conflicting accesses any more.
Edits dropUselessBarriers(const KernelModel &kernel);
/// Conditions of `?:` and `if` that follow from the guards and loop bounds around them.
Edits dropImpliedGuards(const KernelModel &kernel);
/// `for (t = 0; t < n; t += T) for (k = 0; k < T; ++k)` over t + k becomes one loop. `skip`: outer variables to leave alone.
Edits fuseTileLoops(const KernelModel &kernel, const std::set<std::string> &skip);
/// The names of outer loops that fuseTileLoops would take.
std::set<std::string> fusibleLoops(const KernelModel &kernel);
/// A last guarded store whose guard comes first: threads that store nothing leave at once. Only without barriers.
Edits returnEarly(const KernelModel &kernel);

/// All of them until nothing changes, on the kernel that stands where `original` stood.
Status tidy(Draft &draft, const KernelModel &original);

/// Takes out a statement with its semicolon and the whole-line comment above it. None (a refusal's text) when it has no place.
Result<Edit> removal(const Unit &unit, const clang::Stmt *stmt);
/// Takes one variable out of its declaration.
Result<Edit> removal(const KernelModel &kernel, const clang::VarDecl *decl);
/// No assignment, no call that may change or wait for anything.
bool isPure(const clang::Stmt *stmt);
/// The condition that holds when none of the conjuncts of `condition` may fail: `a >= b || c >= d` for `a < b && c < d`.
std::string negatedText(const KernelModel &kernel, const clang::Expr *condition);

} // namespace klineage
