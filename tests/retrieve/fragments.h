// The twenty pieces of tests/retrieve/fragments: cut from kernels, renamed, not compiling. The first line names the step.
#pragma once
#include "support/files.h"
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace klineage::testing {

struct Fragment {
  std::string file, step, code;
};

inline std::vector<std::filesystem::path> filesIn(const std::filesystem::path &folder) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<Fragment> fragments() {
  std::vector<Fragment> all;
  const std::string tag = "// step: ";
  for (const auto &file : filesIn(std::filesystem::path(KLINEAGE_SOURCE_DIR) / "tests/retrieve/fragments")) {
    std::string text = *readFile(file);
    size_t end = text.find('\n');
    all.push_back({file.filename().string(), text.substr(tag.size(), end - tag.size()), text.substr(end + 1)});
  }
  return all;
}

/// Every name that is the author's own becomes another one, in an order that keeps nothing of the old.
inline std::string renamed(const std::string &code) {
  static const std::set<std::string> kept = {"for", "while", "if", "else", "return", "const", "constexpr", "auto", "int", "unsigned", "float", "double", "half", "void", "size_t", "template",
      "typename", "int64_t", "uint32_t", "uint8_t", "threadIdx", "blockIdx", "blockDim", "gridDim", "x", "y", "z", "w", "reinterpret_cast", "float4", "int4", "pragma", "unroll", "std", "sync",
      "numeric_limits", "infinity"};
  std::map<std::string, std::string> names;
  std::string result;
  for (size_t at = 0; at < code.size();) {
    if (std::isdigit(static_cast<unsigned char>(code[at]))) { // 0x1f, 1.0f
      while (at < code.size() && (std::isalnum(static_cast<unsigned char>(code[at])) || code[at] == '.')) result += code[at++];
      continue;
    }
    if (!std::isalpha(static_cast<unsigned char>(code[at])) && code[at] != '_') {
      result += code[at++];
      continue;
    }
    size_t end = at;
    while (end < code.size() && (std::isalnum(static_cast<unsigned char>(code[end])) || code[end] == '_')) ++end;
    std::string name = code.substr(at, end - at);
    bool cuda = name.rfind("__", 0) == 0 || (end < code.size() && code[end] == '(');
    if (kept.count(name) || cuda) result += name;
    else result += names.try_emplace(name, "zq" + std::to_string(997 - names.size() * 13) + "_").first->second;
    at = end;
  }
  return result;
}

} // namespace klineage::testing
