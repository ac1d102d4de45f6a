// SourceSet: the text of one kernel version, and the edits that lead to another.
#pragma once
#include "support/result.h"
#include <map>
#include <string>
#include <vector>

namespace klineage {

/// The sources of one version as text. Files outside `files` are read from disk as they are; files inside it shadow the disk,
/// which is how a header under a rewrite root is changed without being touched (an overlay).
struct SourceSet {
  std::string mainFile;                     ///< Absolute path of the CUDA file that is compiled.
  std::map<std::string, std::string> files; ///< Absolute path to contents; always holds mainFile.
  std::vector<std::string> includeFolders;  ///< -I, in order.
  std::vector<std::string> rewriteRoots;    ///< Folders whose headers may be edited too.
  std::vector<std::string> defines;         ///< NAME or NAME=VALUE.

  const std::string &mainText() const { return files.at(mainFile); }
};

/// Replace `length` bytes at `offset` of a file. Offsets count bytes from 0 in the version that the edit was made for.
struct Edit {
  std::string file;
  unsigned offset = 0;
  unsigned length = 0;
  std::string replacement;
};

/// All edits of one step: they are applied together or not at all.
using Edits = std::vector<Edit>;

/// The version after the edits. Equal edits count once; overlapping ones, and files that may not be rewritten, are refusals.
Result<SourceSet> applyEdits(const SourceSet &before, const Edits &edits);

/// The same sources laid out by clang-format with the project's style, so that two ways to one tree give one text.
SourceSet formatted(const SourceSet &sources);

/// Hash of the normalized tokens (comments and white space do not count) of all files, with the options that change meaning.
std::string versionHash(const SourceSet &sources);

/// A unified diff of the files that differ, for people.
std::string unifiedDiff(const SourceSet &before, const SourceSet &after);

} // namespace klineage
