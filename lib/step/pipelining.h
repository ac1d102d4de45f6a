// Pipelining: a loop over shared tiles that fills the next tile while it works on this one, and the loop that does one after the other.
#pragma once
#include "step/step.h"

namespace klineage {

/// Loops whose shared tiles have stages, and loops whose tiles could have them.
Detection pipelinedLoops(const Version &version);
Detection serialLoops(const Version &version);
Result<Edits> makeSerial(const Version &version, const Site &site, const Parameters &parameters);
Result<Edits> makePipelined(const Version &version, const Site &site, const Parameters &parameters);

} // namespace klineage
