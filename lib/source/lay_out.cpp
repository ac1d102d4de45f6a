#include "source/lay_out.h"
#include "support/files.h"

namespace klineage {
namespace fs = std::filesystem;

Result<LaidOut> layOut(const SourceSet &sources, const fs::path &folder) {
  LaidOut out;
  unsigned roots = 0;
  for (const auto &root : sources.rewriteRoots) {
    fs::path mirror = folder / ("root" + std::to_string(roots++));
    for (const auto &[path, text] : sources.files)
      if (path != sources.mainFile && path.rfind(root, 0) == 0)
        if (auto written = writeFile(mirror / fs::path(path).lexically_relative(root), text); !written) return written.error();
    out.options.insert(out.options.end(), {"-I", mirror.string()});
  }
  out.mainFile = folder / fs::path(sources.mainFile).filename();
  if (auto written = writeFile(out.mainFile, sources.mainText()); !written) return written.error();
  out.options.insert(out.options.end(), {"-I", fs::path(sources.mainFile).parent_path().string()});
  for (const auto &include : sources.includeFolders) out.options.insert(out.options.end(), {"-I", include});
  for (const auto &define : sources.defines) out.options.push_back("-D" + define);
  return out;
}

} // namespace klineage
