// Loading the sources that a workload names.
#include "gate/gate.h"
#include "support/files.h"

namespace klineage {
namespace fs = std::filesystem;

Result<SourceSet> loadSources(const Workload &workload) {
  if (workload.sources.empty()) return userError("the workload names no sources", (workload.folder / "workload.json").string());
  auto absolute = [&](const std::string &relative) { return fs::absolute(workload.folder / relative).lexically_normal().string(); };
  SourceSet set;
  for (const auto &source : workload.sources) {
    std::string path = absolute(source);
    auto text = readFile(path);
    if (!text) return text.error();
    if (set.mainFile.empty()) set.mainFile = path;
    set.files[path] = std::move(*text);
  }
  for (const auto &folder : workload.includeFolders) set.includeFolders.push_back(absolute(folder));
  for (const auto &root : workload.rewriteRoots) set.rewriteRoots.push_back(absolute(root));
  set.defines = workload.defines;
  return set;
}

} // namespace klineage
