// Shapes: what a kernel's accesses say about its launcher's arguments, and how it could be launched.
#pragma once
#include "init/signature.h"
#include "model/kernel_model.h"

namespace klineage {

/// What is seen of one launcher argument.
struct ArgumentUse {
  bool read = false, written = false;
  bool product = false;             ///< The shape is a product of sizes.
  bool size = false;                ///< A scalar that bounds, strides or shapes something.
  std::vector<std::string> shape;   ///< Expressions over the launcher's scalars, outermost first; empty when nothing bounds the accesses.
};

/// A launch for a kernel that came without one.
struct LaunchPlan {
  std::string grid[3], block[3];    ///< C++ expressions; empty from the first unused dimension on.
  std::vector<std::string> added;   ///< Integer parameters that only the grid needs: nothing in the kernel bounds its blocks.
};

struct Observed {
  std::map<std::string, ArgumentUse> arguments; ///< By the launcher's parameter name, added ones too.
  LaunchPlan plan;                              ///< Filled when the signature has no launcher.
};

/// An upper bound of every access's index, from loops, guards and the launch, gives the extents. Wrong is possible, so all of it is a guess.
Observed observe(const Unit &unit, const Signature &signature);

} // namespace klineage
