// Writing a reduction in another form in place of its region, and taking away what nothing uses any more.
#pragma once
#include "step/reduction.h"

namespace klineage {

/// Text that combines form.variable over the group. Null: every total stays the thread's own value.
using CombineWriter = std::string (*)(const CombineForm &form);

/// What a region becomes: text in place of its statements, and text for the reads of totals that stood in shared memory.
struct RegionText {
  Unit::Place place;
  std::string text;
  std::map<const clang::Expr *, std::string> reads;
};
Result<RegionText> writeRegion(const Unit &unit, const ReductionRegion &region, const BlockShape &shape, CombineWriter writer);

/// Replaces the region's statements: each total starts as its input and is then combined by `writer`. Reads of a total that stood in
/// shared memory become reads of a variable. Declarations and helpers that only the region used are removed.
/// A refusal names what cannot be written: a total whose type has no plain arithmetic, a shared element read outside the list.
Result<Edits> rewriteRegion(const Version &version, const ReductionRegion &region, const BlockShape &shape, CombineWriter writer);

/// Removes what the edits leave without a use: local declarations of the functions that they touch, and helpers.
/// A declaration is removed when all its references lie in replaced or removed text and its initializer has no effect.
Status removeUnused(const Version &version, const clang::FunctionDecl *function, Edits &edits,
                    const std::set<const clang::FunctionDecl *> &helpers);

/// The type of a total, and how source code names its input.
clang::QualType typeOf(const Total &total);
std::string textOf(const Unit &unit, const SampleInput &input);

} // namespace klineage
