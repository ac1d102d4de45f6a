// klineage: the front door. `klineage <tool> ...` becomes klineage-<tool>, found beside this program and nowhere else.
#include "klineage_help.h"
#include "support/files.h"
#include "support/tool.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unistd.h>
#include <vector>

using namespace klineage;
namespace fs = std::filesystem;

namespace {

/// The workers are started by devices, never by people; the bundle is all tools in one, made in the same folder.
bool isForPeople(const std::string &tool) { return tool != "worker" && tool != "cuda-worker" && tool != "bundle"; }

std::vector<std::string> toolsBeside() {
  std::vector<std::string> tools;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(programFolder(), error)) {
    std::string file = entry.path().filename().string();
    if (file.rfind("klineage-", 0) == 0 && ::access(entry.path().c_str(), X_OK) == 0) tools.push_back(file.substr(9));
  }
  std::sort(tools.begin(), tools.end());
  return tools;
}

void printHelp(std::FILE *to) {
  std::fputs(helpText, to);
  std::string line = "   ";
  for (const auto &tool : toolsBeside())
    if (isForPeople(tool)) line += " " + tool;
  std::fprintf(to, "%s\n", line == "   " ? "    none stands beside this program" : line.c_str());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    printHelp(stderr);
    return ExitUsage;
  }
  std::string_view word = argv[1];
  if (word == "--help" || word == "-h" || word == "help") {
    printHelp(stdout);
    return ExitDone;
  }
  std::string tool(word);
  auto tools = toolsBeside();
  if (tool.find('/') != std::string::npos || std::find(tools.begin(), tools.end(), tool) == tools.end()) {
    std::fprintf(stderr, "klineage: there is no tool '%s' beside this program (klineage --help lists those that are)\n", tool.c_str());
    return ExitUsage;
  }
  fs::path program = programFolder() / ("klineage-" + tool);
  std::vector<char *> arguments{const_cast<char *>(program.c_str())};
  arguments.insert(arguments.end(), argv + 2, argv + argc);
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  std::fprintf(stderr, "klineage: cannot run %s: %s\n", program.c_str(), std::strerror(errno));
  return ExitOurFault;
}
