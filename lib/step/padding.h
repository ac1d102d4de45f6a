// Padding of shared arrays: elements of the innermost dimension that nobody touches, there to move rows to other banks.
#pragma once
#include "step/step.h"

namespace klineage {

struct Padding {
  int64_t used = 0;     ///< Innermost extent that the accesses need.
  int64_t declared = 0;
};

/// The padding of a declared shared array, or none: no padding, or the accesses cannot be bounded.
std::optional<Padding> paddingOf(const KernelModel &kernel, const Buffer &buffer);

/// The largest value a subscript takes over the block and its loops; none when it cannot be bounded.
std::optional<int64_t> largestValue(const KernelModel &kernel, const IndexExpr &value);

/// Wavefronts of one warp's access to 32 banks of 4 bytes: 1 is free of conflicts. `extents` of the array as it would be.
std::optional<unsigned> wavefronts(const KernelModel &kernel, const Access &access, const std::vector<int64_t> &extents, unsigned elementBytes);

} // namespace klineage
