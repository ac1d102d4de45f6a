// A step's test folder: its kernels, their workloads, and the versions made from them.
#pragma once
#include "step/engine.h"
#include "workload/workload.h"
#include <filesystem>

namespace klineage::testing {

struct StepFolder {
  std::string id;
  std::filesystem::path path;

  explicit StepFolder(std::string id);
  bool exists() const { return std::filesystem::is_directory(path); }
  /// Files <prefix>*.cu without the .expect.cu ones, sorted.
  std::vector<std::filesystem::path> files(const std::string &prefix) const;
  /// The text behind "// <tag>: " in the file's first line, or empty.
  static std::string tag(const std::filesystem::path &file, const std::string &tag);
};

/// The workload of one kernel file: <stem>.workload.json where it exists, else the folder's workload.json; with this file as its only source.
Result<Workload> workloadOf(const std::filesystem::path &file);

/// One kernel file as sources. The text is formatted, as every version that the engine makes.
Result<SourceSet> sourcesOf(const std::filesystem::path &file);

/// The file loaded with what its workload says.
Result<std::unique_ptr<LoadedVersion>> load(const std::filesystem::path &file);

/// Applies one direction of one step until it finds no sound site any more. The n-th application gets the n-th parameters, later ones the last.
struct Chain {
  std::vector<Candidate> applied;
  SourceSet end;
  std::string problem; ///< Why it stopped early, or empty.
};
Chain applyAll(const std::filesystem::path &file, const std::string &id, Direction direction, const std::vector<Parameters> &parameters,
               const std::function<std::string(const LoadedVersion &, const Candidate &, const Applied &)> &check = {});

/// True when the goldens are to be rewritten instead of compared (KLINEAGE_UPDATE_GOLDENS=1).
bool updatingGoldens();
/// Compares with a golden kernel file by tokens; answers the difference, or empty. Rewrites it when updatingGoldens().
std::string compareGolden(const std::filesystem::path &golden, const SourceSet &got);

/// Ids of all steps, for parameterized tests.
std::vector<std::string> stepIds();

} // namespace klineage::testing
