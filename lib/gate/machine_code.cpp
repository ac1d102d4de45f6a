#include "gate/machine_code.h"
#include "source/toolchain.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/subprocess.h"
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

namespace klineage {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string nvcc() { return cudaFolder() + "/bin/nvcc"; }

const std::string &compilerRelease() {
  static const std::string release = [] {
    auto finished = run({.argv = {nvcc(), "--version"}});
    if (!finished || !finished->ok()) return std::string();
    std::istringstream lines(finished->out);
    std::string line;
    while (std::getline(lines, line))
      if (line.find("release") != std::string::npos) return "nvcc " + line.substr(line.find("release"));
    return std::string("nvcc");
  }();
  return release;
}

/// The files of a version laid out in a folder, with -I options that put rewritten headers first.
std::vector<std::string> layOut(const SourceSet &sources, const fs::path &folder, std::string &mainFile) {
  std::vector<std::string> options;
  for (const auto &root : sources.rewriteRoots) {
    fs::path mirror = folder / ("root" + std::to_string(options.size()));
    for (const auto &[path, text] : sources.files)
      if (path != sources.mainFile && path.rfind(root, 0) == 0) (void)writeFile(mirror / fs::path(path).lexically_relative(root), text);
    options.insert(options.end(), {"-I", mirror.string()});
  }
  mainFile = (folder / fs::path(sources.mainFile).filename()).string();
  (void)writeFile(mainFile, sources.mainText());
  options.insert(options.end(), {"-I", fs::path(sources.mainFile).parent_path().string()});
  for (const auto &include : sources.includeFolders) options.insert(options.end(), {"-I", include});
  for (const auto &define : sources.defines) options.push_back("-D" + define);
  return options;
}

void count(const std::string &ptx, MachineCode &code) {
  std::istringstream lines(ptx);
  std::string line, kept;
  while (std::getline(lines, line)) {
    if (auto comment = line.find("//"); comment != std::string::npos) line.resize(comment);
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    kept += line + "\n";
    if (word[0] == '@') words >> word;
    if (word[0] == '.' || word[0] == '$' || word[0] == '{' || word[0] == '}' || word.back() == ':' || word[0] == ')' || word[0] == '(') continue;
    if (word.back() == ';') word.pop_back();
    if (!word.empty() && std::islower(static_cast<unsigned char>(word[0]))) ++code.opcodes[word];
  }
  code.digest = sha256(kept);
}

json toJson(const MachineCode &code) {
  return {{"compiler", code.compiler}, {"opcodes", code.opcodes}, {"digest", code.digest}};
}

} // namespace

MachineCode machineCode(const SourceSet &sources, unsigned sm) {
  MachineCode code;
  if (!fs::exists(nvcc())) {
    code.why = "no nvcc at " + nvcc();
    return code;
  }
  code.compiler = compilerRelease();
  Hasher hasher;
  hasher.add("version", versionHash(sources)).add("compiler", code.compiler).add("sm", std::to_string(sm));
  fs::path kept = cacheFolder() / "ptx" / (hasher.hex().substr(0, 32) + ".json");
  if (auto text = readFile(kept)) {
    json cached = json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (cached.is_object() && cached.contains("opcodes") && cached.contains("digest")) {
      code.known = true;
      code.opcodes = cached["opcodes"].get<std::map<std::string, int>>();
      code.digest = cached["digest"].get<std::string>();
      return code;
    }
  }
  ScratchFolder scratch;
  std::string mainFile;
  auto options = layOut(sources, scratch.path(), mainFile);
  std::string out = (scratch.path() / "out.ptx").string();
  Command command{.argv = {nvcc(), "-ptx", "-std=c++17", "-O3", "-arch=sm_" + std::to_string(sm), "-I", cudaFolder() + "/include/cccl", mainFile, "-o", out}};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  auto finished = run(command);
  if (!finished || !finished->ok()) {
    code.why = finished ? "nvcc: " + finished->err.substr(0, 400) : finished.error().message();
    return code;
  }
  auto ptx = readFile(out);
  if (!ptx) {
    code.why = ptx.error().message();
    return code;
  }
  code.known = true;
  count(*ptx, code);
  (void)writeFile(kept, toJson(code).dump());
  return code;
}

MachineCodeChange compareMachineCode(const SourceSet &expert, const SourceSet &plain, unsigned sm) {
  MachineCode a = machineCode(expert, sm), b = machineCode(plain, sm);
  MachineCodeChange change;
  if (!a.known || !b.known) {
    change.detail = json{{"unknown", a.known ? b.why : a.why}}.dump();
    return change;
  }
  json differing = json::object();
  for (const auto &[opcode, n] : a.opcodes)
    if (auto other = b.opcodes.find(opcode); other == b.opcodes.end() || other->second != n)
      differing[opcode] = {n, other == b.opcodes.end() ? 0 : other->second};
  for (const auto &[opcode, n] : b.opcodes)
    if (!a.opcodes.count(opcode)) differing[opcode] = {0, n};
  change.state = a.digest == b.digest ? "inert" : "changed";
  change.detail = json{{"compiler", a.compiler}, {"expert_plain", differing}}.dump();
  return change;
}

} // namespace klineage
