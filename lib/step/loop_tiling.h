// Loop tiling: a reduction loop cut into tiles with uniform control around it, so that barriers may stand inside.
#pragma once
#include "step/index_text.h"
#include "step/step.h"

namespace klineage {

/// One direction in which the threads of a block are numbered: threadIdx.y, or threadIdx.x / 16 where the kernel divides.
struct ThreadAxis {
  AtomRef atom;
  int64_t extent = 0;
  std::string text;
  std::vector<AtomRef> others;                 ///< The other axes made of the same index.
  bool decides(const IndexExpr &value) const;  ///< The value differs along this axis.
};

/// The axes with more than one thread, the fastest first. Empty when the block's shape is not a constant.
std::vector<ThreadAxis> threadAxes(const KernelModel &kernel);

/// The loop with its pragma.
const clang::Stmt *wholeLoop(const KernelModel &kernel, const Loop &loop);

/// Why a loop cannot be cut into tiles; none when it can.
std::optional<Decline> cannotTile(const KernelModel &kernel, const Loop &loop);

/// `for (k < n) body` becomes `for (k0 < n; k0 += tile) for (k < tile) body`, reached by every thread of the block: early returns and
/// branches around it become guards of its reads and of what follows it. `tileVariable` is told the new loop's name.
Result<Edits> tileLoop(const KernelModel &kernel, const Loop &loop, int64_t tile, const std::vector<ThreadAxis> &axes, std::string &tileVariable);

/// The literal that is zero in a type.
std::string zeroOf(clang::QualType type);

} // namespace klineage
