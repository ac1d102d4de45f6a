#include "device/nvcc.h"
#include "source/toolchain.h"
#include "support/subprocess.h"
#include <algorithm>

namespace klineage {

std::string nvccProgram() { return cudaFolder() + "/bin/nvcc"; }

const std::string &nvccVersion() {
  static const std::string version = [] {
    auto finished = run({.argv = {nvccProgram(), "--version"}});
    return finished && finished->ok() ? finished->out : std::string();
  }();
  return version;
}

std::vector<std::string> nvccCommand(const std::vector<std::string> &more) {
  std::vector<std::string> command = {nvccProgram(), "-std=c++17", "--expt-relaxed-constexpr", "-O3", "-I", cudaFolder() + "/include/cccl"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

std::string firstErrorOf(const std::string &said, size_t length) {
  size_t at = std::min(said.find(" error"), said.find("fatal"));
  size_t line = at == std::string::npos ? 0 : said.rfind('\n', at);
  return said.substr(line == std::string::npos ? 0 : line + (line > 0), length);
}

} // namespace klineage
