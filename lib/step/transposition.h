// Transposition: a copy that runs along rows on one side and down columns on the other, turned in a shared tile.
#pragma once
#include "step/loop_tiling.h"

namespace klineage {

/// One statement that reads one element and writes another, one of them with neighbouring threads far apart.
struct Turn {
  const Access *read = nullptr, *write = nullptr;
  const Loop *rows = nullptr;         ///< The loop by which a thread takes several rows of the tile, or null.
  bool turnRead = false;              ///< The read is the one that runs down columns; else the write.
  std::vector<ThreadAxis> axes;       ///< Two.
};

std::optional<Turn> turnAt(const KernelModel &kernel, const Access &read, const std::vector<ThreadAxis> &axes);
Result<Edits> turn(const KernelModel &kernel, const Turn &site);

} // namespace klineage
