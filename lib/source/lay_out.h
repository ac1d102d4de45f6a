// Laying a version out on disk for a compiler that knows no overlay (nvcc).
#pragma once
#include "source/source_set.h"
#include <filesystem>

namespace klineage {

/// Where the main file is, and the options that another compiler needs: -I for rewritten headers first, then for the main file's own
/// folder and the version's include folders; -D.
struct LaidOut {
  std::filesystem::path mainFile;
  std::vector<std::string> options;
};
Result<LaidOut> layOut(const SourceSet &sources, const std::filesystem::path &folder);

} // namespace klineage
