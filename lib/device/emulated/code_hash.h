// CodeHash: whether two versions are one program to the emulated device.
#pragma once
#include "source/source_set.h"

namespace klineage {

/// Of the optimized device code and of the launcher's code, without what only says where something stands in the text. Versions with equal hashes
/// run the same instructions: no input tells them apart. Errors are those of lowering.
Result<std::string> codeHash(const SourceSet &sources, unsigned sm = 90);

} // namespace klineage
