// Init: a kernel folder from a CUDA file's signature, with every guess marked.
#pragma once
#include "support/result.h"
#include <filesystem>
#include <string>
#include <vector>

namespace klineage {

struct InitRequest {
  std::filesystem::path file; ///< The CUDA file.
  std::string kernel;         ///< An extern "C" launcher, or a __global__ function; empty: the only one of the file.
  std::filesystem::path out;  ///< The folder to write; empty: the kernel's name in the current folder.
};

/// One value that nothing in the source settles.
struct Guess {
  std::string pointer;        ///< JSON pointer into workload.json, or kernel.cu.
  std::string text;           ///< What was assumed, and what to check or fill.
  bool mustFill = false;      ///< Nothing could be assumed: the workload does not load before this is filled.
};

struct InitReport {
  std::filesystem::path folder;
  std::string entry;
  bool wroteLauncher = false;
  std::vector<std::string> files; ///< Written, relative to the folder.
  std::vector<Guess> guesses;
  std::string referenceSignature; ///< What a reference.cpp would have to define.
};

/// Writes kernel.cu (the file, and a launcher where it has none), the local headers it includes, and workload.json. Refuses to overwrite
/// a folder that has a workload.json. A file that does not parse, a name that is not in it and a parameter that a workload cannot
/// describe are user errors with file and line.
Result<InitReport> initKernel(const InitRequest &request);

} // namespace klineage
