#include "mutate/mutate.h"
#include "planted/planted.h"
#include "support/files.h"
#include <algorithm>
#include <sstream>

namespace klineage {
namespace fs = std::filesystem;

const char *name(PlantedKind kind) {
  switch (kind) {
  case PlantedKind::Mutant: return "mutant";
  case PlantedKind::Cheat: return "cheat";
  case PlantedKind::Variant: return "variant";
  }
  return "?";
}

namespace {

std::vector<fs::path> kernelFiles(const fs::path &folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto &entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// What stands behind `mark` at the beginning of a line: of the first line, or of any.
std::optional<std::string> marked(const std::string &text, const std::string &mark, bool firstLineOnly, size_t *offset = nullptr, size_t *length = nullptr) {
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, mark.size(), mark) == 0) {
      if (offset) *offset = at;
      if (length) *length = end - at;
      return text.substr(at + mark.size(), end - at - mark.size());
    }
    if (firstLineOnly) break;
    at = end + 1;
  }
  return std::nullopt;
}

struct Variation {
  std::string label, text;
};

/// The versions that a file stands for: one, or the product of its `// vary:` line.
Result<std::vector<Variation>> variations(const fs::path &file, const std::string &text) {
  size_t offset = 0, length = 0;
  auto line = marked(text, "// vary:", false, &offset, &length);
  if (!line) return std::vector<Variation>{{"", text}};
  std::vector<Variation> all{{"", ""}};
  std::istringstream words(*line);
  for (std::string word; words >> word;) {
    size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return userError("'" + word + "' is no NAME=VALUE,VALUE", file.string());
    std::vector<Variation> more;
    for (const auto &before : all) {
      std::istringstream values(word.substr(equals + 1));
      for (std::string value; std::getline(values, value, ',');) {
        std::string one = word.substr(0, equals);
        more.push_back({before.label + (before.label.empty() ? "" : " ") + one + "=" + value, before.text + "#define " + one + " " + value + "\n"});
      }
    }
    all = std::move(more);
  }
  for (auto &one : all) {
    one.text.pop_back();
    one.text = text.substr(0, offset) + one.text + text.substr(offset + length);
  }
  return all;
}

/// The kernel's sources with another main text; its own folder stays on the include path.
SourceSet withMain(const SourceSet &kernel, const fs::path &file, std::string text) {
  SourceSet set = kernel;
  set.files.erase(set.mainFile);
  set.includeFolders.push_back(fs::path(kernel.mainFile).parent_path().string());
  set.mainFile = fs::absolute(file).lexically_normal().string();
  set.files[set.mainFile] = std::move(text);
  return set;
}

Status addFiles(PlantedKernel &kernel, PlantedKind kind, const fs::path &folder) {
  for (const auto &file : kernelFiles(folder)) {
    auto text = readFile(file);
    if (!text) return text.error();
    auto answer = marked(*text, "// gate: ", true);
    if (!answer) return userError("the first line does not say what the gate must answer", file.string(), "begin with `// gate: REASON` or `// gate: accepted`");
    bool isAccepted = *answer == "accepted";
    if (isAccepted != (kind == PlantedKind::Variant) || (!isAccepted && !reasonNamed(*answer)))
      return userError("'" + *answer + "' is no answer for a " + name(kind), file.string(), "docs/gate.md lists the reasons");
    auto versions = variations(file, *text);
    if (!versions) return versions.error();
    for (auto &version : *versions) {
      Planted planted;
      planted.kind = kind;
      planted.kernel = kernel.workload.name;
      planted.operation = file.stem().string();
      planted.place = version.label;
      if (!isAccepted) planted.expected = {*answer};
      planted.sources = withMain(kernel.sources, file, std::move(version.text));
      kernel.planted.push_back(std::move(planted));
    }
  }
  return Done{};
}

} // namespace

Result<PlantedKernel> plantedIn(const fs::path &kernelFolder, const fs::path &plantedFolder) {
  PlantedKernel kernel;
  auto workload = loadWorkload(kernelFolder);
  if (!workload) return workload.error();
  kernel.workload = std::move(*workload);
  auto sources = loadSources(kernel.workload);
  if (!sources) return sources.error();
  kernel.sources = std::move(*sources);
  auto mutants = mutantsOf(kernel.sources);
  if (!mutants) return mutants.error();
  for (auto &mutant : *mutants) {
    auto changed = applyEdits(kernel.sources, mutant.edits);
    if (!changed) return changed.error();
    kernel.planted.push_back({PlantedKind::Mutant, kernel.workload.name, mutant.operation, mutant.place, mutant.was, mutant.expected, std::move(*changed)});
  }
  for (auto [kind, folder] : {std::pair{PlantedKind::Cheat, "cheats"}, {PlantedKind::Variant, "variants"}})
    if (Status status = addFiles(kernel, kind, plantedFolder / folder / kernel.workload.name); !status) return status.error();
  return kernel;
}

void sample(std::vector<PlantedKernel> &kernels, size_t count) {
  size_t all = 0, at = 0;
  for (const auto &kernel : kernels) all += kernel.planted.size();
  if (count >= all) return;
  for (auto &kernel : kernels) {
    std::vector<Planted> kept;
    for (auto &planted : kernel.planted) {
      // One of `count` even steps begins here.
      if (at * count % all < count) kept.push_back(std::move(planted));
      ++at;
    }
    kernel.planted = std::move(kept);
  }
}

} // namespace klineage
