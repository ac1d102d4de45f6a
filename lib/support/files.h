// Reading and writing whole files, and finding the project's folders.
#pragma once
#include "support/result.h"
#include <filesystem>
#include <string>
#include <string_view>

namespace klineage {

/// The bytes of a file. A file that cannot be read is a user error naming the path.
Result<std::string> readFile(const std::filesystem::path &path);

/// Writes beside the target and renames over it, so a reader sees the old bytes or the new, never half.
Status writeFile(const std::filesystem::path &path, std::string_view bytes);

/// A folder that lives as long as the object.
class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  const std::filesystem::path &path() const { return folder; }

private:
  std::filesystem::path folder;
};

/// Where results that can be made again are kept: $KLINEAGE_CACHE, else $XDG_CACHE_HOME/klineage, else ~/.cache/klineage.
std::filesystem::path cacheFolder();

/// The folder of the running program; its sibling programs are found there.
std::filesystem::path programFolder();

} // namespace klineage
