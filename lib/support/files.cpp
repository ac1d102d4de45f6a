#include "support/files.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace klineage {
namespace fs = std::filesystem;

Result<std::string> readFile(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path))
    return userError("cannot read the file: " + std::string(std::strerror(errno ? errno : EISDIR)), path.string(),
                     "check the path and its permissions");
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

Status writeFile(const fs::path &path, std::string_view bytes) {
  std::error_code ignored;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  fs::path beside = path;
  static std::atomic<unsigned> writes = 0; // two threads may write one path: device and host side share a preamble
  beside += ".writing." + std::to_string(::getpid()) + "." + std::to_string(writes++);
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.flush();
    if (!out) {
      std::string why = std::strerror(errno);
      fs::remove(beside, ignored);
      return userError("cannot write the file: " + why, path.string(), "check the folder's permissions and free space");
    }
  }
  std::error_code error;
  fs::rename(beside, path, error);
  if (error) {
    fs::remove(beside, ignored);
    return userError("cannot write the file: " + error.message(), path.string(), "check the folder's permissions");
  }
  return Done{};
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "klineage-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    std::fprintf(stderr, "klineage: cannot make a folder in %s: %s\n", fs::temp_directory_path().c_str(), std::strerror(errno));
    std::exit(4);
  }
  folder = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

fs::path cacheFolder() {
  if (const char *own = std::getenv("KLINEAGE_CACHE"); own && *own) return own;
  if (const char *xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return fs::path(xdg) / "klineage";
  if (const char *home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "klineage";
  return fs::temp_directory_path() / "klineage-cache";
}

fs::path programFolder() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::current_path() : self.parent_path();
}

} // namespace klineage
