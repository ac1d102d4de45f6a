#include "device/machine_code.h"
#include "device/nvcc.h"
#include "source/lay_out.h"
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

/// The line of `nvcc --version` that tells the release.
std::string compilerRelease() {
  size_t at = nvccVersion().find("release");
  return at == std::string::npos ? "nvcc" : "nvcc " + nvccVersion().substr(at, nvccVersion().find('\n', at) - at);
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
  json kernels = json::object();
  for (const auto &[name, k] : code.kernels) kernels[name] = {k.registers, k.spillBytes, k.sharedBytes, k.stackBytes};
  return {{"compiler", code.compiler}, {"opcodes", code.opcodes}, {"digest", code.digest}, {"kernels", kernels}};
}

/// False where the kept text is not one of toJson's.
bool fromJson(const std::string &text, MachineCode &code) {
  try {
    json kept = json::parse(text);
    code.opcodes = kept.at("opcodes").get<std::map<std::string, int>>();
    code.digest = kept.at("digest").get<std::string>();
    for (const auto &[name, k] : kept.at("kernels").items()) code.kernels[name] = {k.at(0), k.at(1), k.at(2), k.at(3)};
    return true;
  } catch (const json::exception &) {
    return false;
  }
}

/// The number before `unit` in a line such as "    0 bytes stack frame, 16 bytes spill stores"; 0 when it is not there.
unsigned numberBefore(const std::string &line, const std::string &unit) {
  size_t end = line.find(" " + unit);
  if (end == std::string::npos) return 0;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  return begin == end ? 0 : unsigned(std::stoul(line.substr(begin, end - begin)));
}

} // namespace

std::string withoutPathInNames(const std::string &text) {
  static const std::string mark = "_GLOBAL__N_";
  std::string out;
  size_t from = 0;
  for (size_t at; (at = text.find(mark, from)) != std::string::npos;) {
    size_t digits = at;
    while (digits > from && std::isdigit(static_cast<unsigned char>(text[digits - 1]))) --digits;
    size_t length = digits < at && at - digits < 6 ? std::stoul(text.substr(digits, at - digits)) : 0;
    if (length < mark.size() || at + length > text.size()) { // no name of a mangled symbol
      out.append(text, from, at + mark.size() - from);
      from = at + mark.size();
      continue;
    }
    out.append(text, from, digits - from).append("12_GLOBAL__N_1");
    from = at + length;
  }
  return out.append(text, from);
}

std::map<std::string, KernelResources> readResourceReport(const std::string &report) {
  std::map<std::string, KernelResources> kernels;
  KernelResources *current = nullptr;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    if (size_t at = line.find("Compiling entry function '"); at != std::string::npos) {
      at += 26;
      current = &kernels[withoutPathInNames(line.substr(at, line.find('\'', at) - at))];
    } else if (current && line.find("stack frame") != std::string::npos) {
      current->stackBytes = numberBefore(line, "bytes stack frame");
      current->spillBytes = numberBefore(line, "bytes spill stores") + numberBefore(line, "bytes spill loads");
    } else if (current && line.find("Used ") != std::string::npos) {
      current->registers = numberBefore(line, "registers");
      current->sharedBytes = numberBefore(line, "bytes smem");
      current = nullptr;
    } else if (line.find("Function properties for ") != std::string::npos) {
      std::string name = withoutPathInNames(line.substr(line.find("for ") + 4));
      if (auto found = kernels.find(name); found == kernels.end()) current = nullptr; // a function that is not inlined
    }
  }
  return kernels;
}

std::optional<KernelResources> MachineCode::resourcesOf(const std::string &kernel) const {
  auto found = kernels.find(withoutPathInNames(kernel));
  if (found == kernels.end() || found->second.registers == 0) return std::nullopt;
  return found->second;
}

MachineCode machineCode(const SourceSet &sources, unsigned sm) {
  MachineCode code;
  if (!fs::exists(nvccProgram())) {
    code.why = "no nvcc at " + nvccProgram();
    return code;
  }
  code.compiler = compilerRelease();
  Hasher hasher;
  hasher.add("version", versionHash(sources)).add("compiler", code.compiler).add("sm", std::to_string(sm));
  fs::path kept = cacheFolder() / "machine_code" / (hasher.hex().substr(0, 32) + ".json");
  if (auto text = readFile(kept); text && fromJson(*text, code)) {
    code.known = true;
    return code;
  }
  ScratchFolder scratch;
  auto laid = layOut(sources, scratch.path());
  if (!laid) {
    code.why = laid.error().message();
    return code;
  }
  // One call gives both: the PTX is what nvcc keeps on its way to the binary.
  Command command{.argv = nvccCommand({"-cubin", "--keep", "--keep-dir", scratch.path().string(), "-Xptxas", "-v", "-arch=sm_" + std::to_string(sm), laid->mainFile.string(), "-o",
                                       (scratch.path() / "out.cubin").string()})};
  command.argv.insert(command.argv.end(), laid->options.begin(), laid->options.end());
  auto finished = run(command);
  if (!finished || !finished->ok()) {
    code.why = finished ? "nvcc: " + firstErrorOf(finished->err, 400) : finished.error().message();
    return code;
  }
  auto ptx = readFile(fs::path(laid->mainFile).replace_extension(".ptx"));
  if (!ptx) {
    code.why = ptx.error().message();
    return code;
  }
  code.known = true;
  count(withoutPathInNames(*ptx), code);
  code.kernels = readResourceReport(finished->err);
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
