// BlockTile: the rectangle of a global array that a block reads in one turn of a loop over tiles when each thread takes several
// elements of it (register blocking): brought into shared memory by all threads together.
//
//   for (i < 4) acc[i] += a[(top + 4 * ty + i) * k + k0 + kk] * ...      the block reads rows top .. top + 63, columns k0 .. k0 + 15
#pragma once
#include "step/loop_tiling.h"

namespace klineage {

struct BlockTile {
  struct Read {
    const Access *access = nullptr;
    IndexExpr slow, fast;              ///< What the thread and its loops add, in rows and within a row.
  };
  std::vector<Read> reads;             ///< At least two different elements a thread, or a loop over them.
  const Loop *along = nullptr;         ///< Runs along the tile.
  const Loop *tiles = nullptr;         ///< The loop over tiles around it; null before the loop is cut.
  int64_t steps = 0;                   ///< Of `along` in one tile.
  int64_t slowLow = 0, slowExtent = 1, fastLow = 0, fastExtent = 1;
  int64_t threads = 1;                 ///< Of the block.
  bool turned = false;                 ///< Neighbouring threads read along the slow dimension: it comes last in shared memory.
  int64_t elements() const { return slowExtent * fastExtent; }
  int64_t reuse() const;               ///< Times that an element is read in one turn.
};

/// The rectangles of the loop `along`, which stands in a loop over tiles, or will when it is cut into tiles of `cut` steps.
std::vector<BlockTile> blockTiles(const KernelModel &kernel, const Loop &along, const std::vector<ThreadAxis> &axes, int64_t cut = 0);

/// Declares the tile, fills it before the loop, and lets the reads go through it.
Result<Edits> promoteBlockTile(const KernelModel &kernel, const BlockTile &tile, const std::vector<ThreadAxis> &axes);

} // namespace klineage
