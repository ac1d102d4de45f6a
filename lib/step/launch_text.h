// The grid and the block of a launch as text in the host code, and edits that change them.
#pragma once
#include "step/step.h"

namespace klineage {

/// One side of the launch configuration: its three extents as host text, "1" for those that are not written.
struct LaunchShape {
  std::array<std::string, 3> extent{"1", "1", "1"};
  unsigned written = 1;       ///< How many are.
  Unit::Place place;          ///< Of the extents: the arguments of a variable's declaration, or the argument of the launch.
  bool declaration = false;   ///< `dim3 grid(a, b)` before the launch.
};

/// A refusal when the shape is neither a number, a dim3, nor a variable that only this launch uses.
Result<LaunchShape> launchShape(const Unit &unit, const Launch &launch, const clang::Expr *shape);

/// The same place with other extents.
Edit withExtents(const LaunchShape &shape, const std::array<std::string, 3> &extent);

/// In parentheses when it is not one word or call.
std::string factorText(const std::string &text);

} // namespace klineage
