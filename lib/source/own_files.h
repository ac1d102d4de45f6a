// Inside the source room only: which files of a parse belong to the version, so that they may change from one version to the next.
#pragma once
#include "source/source_set.h"

namespace klineage {

/// Part of the version: its text is in the set, or it lies under a rewrite root.
bool isOwnFile(const SourceSet &sources, const std::string &file);

/// Lies under one of the version's rewrite roots.
bool underRewriteRoot(const SourceSet &sources, const std::string &file);

} // namespace klineage
