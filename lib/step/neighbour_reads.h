// Neighbouring scalar reads: four reads of a[k], a[k + 1], a[k + 2], a[k + 3] that one wide read may take the place of.
#pragma once
#include "step/vector_access.h"

namespace klineage {

/// Reads of one buffer by lane, in one statement or in statements of one list. A lane that is read several times there is read once wide.
struct NeighbourReads {
  std::vector<std::vector<const Access *>> lanes;
  const clang::Stmt *first = nullptr;  ///< The statement of the list before which the wide read may stand.
  const clang::Stmt *region = nullptr; ///< From the wide read to the last scalar one: the statement, or the list where there are several.
  std::string why;                     ///< Why they may not be read in one go; empty when they may.
  unsigned width() const { return static_cast<unsigned>(lanes.size()); }
  const Access &lowest() const { return *lanes.front().front(); }
};

/// Every run of 4, else of 2, such reads of 32-bit scalars. All are made whenever the first is: none stands behind a condition of its own. Where the iterators
/// that the index holds do not move it by whole vectors, neighbours overlap (a stencil) and are no run.
std::vector<NeighbourReads> findNeighbourReads(const KernelModel &kernel);

/// One wide read where the address is aligned and the scalar reads elsewhere, into a variable that the scalar reads' places then use. A shared array of the
/// kernel that is read at whole vectors gets the alignment in its declaration instead.
Result<Edits> readNeighboursWide(const Version &version, const KernelModel &kernel, const NeighbourReads &run);

} // namespace klineage
