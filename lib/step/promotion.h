// Promotion: bring what the threads of a block read several times, or in a costly order, into shared memory.
#pragma once
#include "step/step.h"

namespace klineage {

/// Sites where a global array could be read through a shared tile.
Detection promotions(const Version &version);
Result<Edits> promote(const Version &version, const Site &site, const Parameters &parameters);

/// The names that shared_tile's conditions speak of: `bounds`, `source`, `tile`, `bytes_per_step`, `reuse`.
void bindTileFacts(Site &site, const KernelModel &kernel, const Loop *loop, const clang::ValueDecl *source, int64_t bytesPerStep);

/// A launch that still asks for dynamic shared memory which the kernel no longer has: asks for none.
Edits withoutSharedBytes(const KernelModel &kernel);

} // namespace klineage
