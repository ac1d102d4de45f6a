#include "step_folder.h"
#include "gate/environment_of.h"
#include "support/files.h"
#include "support/hash.h"
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>

namespace klineage::testing {
namespace fs = std::filesystem;

StepFolder::StepFolder(std::string id) : id(std::move(id)), path(fs::path(KLINEAGE_SOURCE_DIR) / "tests" / "steps" / this->id) {}

std::vector<fs::path> StepFolder::files(const std::string &prefix) const {
  std::vector<fs::path> found;
  if (!exists()) return found;
  for (const auto &entry : fs::directory_iterator(path)) {
    std::string name = entry.path().filename().string();
    bool expectation = name.size() > 10 && name.compare(name.size() - 10, 10, ".expect.cu") == 0;
    if (entry.path().extension() == ".cu" && !expectation && name.rfind(prefix, 0) == 0) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string StepFolder::tag(const fs::path &file, const std::string &tag) {
  auto text = readFile(file);
  if (!text) return {};
  std::string line = text->substr(0, text->find('\n')), start = "// " + tag + ":";
  if (line.rfind(start, 0) != 0) return {};
  line = line.substr(start.size());
  line.erase(0, line.find_first_not_of(' '));
  line.erase(line.find_last_not_of(" \r") + 1);
  return line;
}

Result<Workload> workloadOf(const fs::path &file) {
  fs::path own = file.parent_path() / (file.stem().string() + ".workload.json");
  auto workload = fs::exists(own) ? loadWorkloadFile(own) : loadWorkload(file.parent_path());
  if (!workload) return workload.error();
  workload->sources = {file.filename().string()};
  // Without a reference the file is its own oracle, so it is a part of what the workload means.
  auto text = readFile(file);
  if (!text) return text.error();
  workload->hash = Hasher().add("workload", workload->hash).add("file", *text).hex();
  return workload;
}

Result<SourceSet> sourcesOf(const fs::path &file) {
  auto text = readFile(file);
  if (!text) return text.error();
  SourceSet sources;
  sources.mainFile = file.string();
  sources.files[sources.mainFile] = *text;
  return formatted(sources);
}

Result<std::unique_ptr<LoadedVersion>> load(const fs::path &file) {
  auto workload = workloadOf(file);
  if (!workload) return workload.error();
  auto sources = sourcesOf(file);
  if (!sources) return sources.error();
  return LoadedVersion::load(*sources, environmentOf(*workload));
}

Chain applyAll(const fs::path &file, const std::string &id, Direction direction, const std::vector<Parameters> &parameters,
               const std::function<std::string(const LoadedVersion &, const Candidate &, const Applied &)> &check) {
  Chain chain;
  auto version = load(file);
  if (!version) {
    chain.problem = version.error().message();
    return chain;
  }
  std::unique_ptr<LoadedVersion> current = std::move(*version);
  const int enough = 16; // a step that can be applied without end has no end
  while (static_cast<int>(chain.applied.size()) < enough) {
    auto found = survey(*current, direction, id);
    auto next = std::find_if(found.candidates.begin(), found.candidates.end(),
                             [&](const Candidate &candidate) { return direction == Direction::Simplify || candidate.sound(); });
    if (next == found.candidates.end()) break;
    auto applied = apply(*current, direction, *next, parameters[std::min(chain.applied.size(), parameters.size() - 1)]);
    if (!applied) {
      chain.problem = "applying at " + next->site.locus.label + ": " + applied.error().message();
      break;
    }
    if (check) chain.problem = check(*current, *next, *applied);
    chain.applied.push_back(std::move(*next));
    current = std::move(applied->version);
    if (!chain.problem.empty()) break;
  }
  if (static_cast<int>(chain.applied.size()) == enough) chain.problem = "the step still finds sites after " + std::to_string(enough) + " applications";
  chain.end = current->sources();
  return chain;
}

bool updatingGoldens() {
  const char *update = std::getenv("KLINEAGE_UPDATE_GOLDENS");
  return update && *update == '1';
}

std::string compareGolden(const fs::path &golden, const SourceSet &got) {
  auto wanted = sourcesOf(golden);
  if (wanted) {
    SourceSet renamed = got;
    renamed.files = {{wanted->mainFile, got.mainText()}};
    renamed.mainFile = wanted->mainFile;
    if (versionHash(*wanted) == versionHash(renamed)) return {};
    if (!updatingGoldens()) return "differs from " + golden.filename().string() + ":\n" + unifiedDiff(*wanted, renamed);
  } else if (!updatingGoldens()) {
    return wanted.error().message();
  }
  auto written = writeFile(golden, got.mainText());
  return written ? std::string() : written.error().message();
}

std::vector<std::string> stepIds() {
  std::vector<std::string> ids;
  for (const auto &registered : registeredSteps()) ids.push_back(registered.id);
  return ids;
}

} // namespace klineage::testing
