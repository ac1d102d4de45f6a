// Inside the source room only: the precompiled preamble of a version, made of the headers that no version changes.
#pragma once
#include "source/front_end.h"

namespace klineage {

/// The precompiled preamble for these sources, made when it is not in cacheFolder(). `base` are the side's arguments (baseArguments).
Result<std::string> preambleFor(const std::vector<std::string> &base, const SourceSet &sources, Side side);

/// Forgets what is kept beside a precompiled preamble that Clang could not take, and the file. False: it was not there.
bool forgetPreamble(const std::string &precompiled);

} // namespace klineage
