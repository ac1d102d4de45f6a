#include "device/cuda/build.h"
#include "device/machine_code.h"
#include "device/nvcc.h"
#include "source/lay_out.h"
#include "source/toolchain.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/subprocess.h"
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

namespace klineage::cuda {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int thunkRevision = 2; // raised when the thunk or the options change; the key holds both anyway
constexpr auto buildLimit = std::chrono::seconds(300);

std::string keyOf(const SourceSet &sources, const std::string &entry, const std::string &architecture) {
  Hasher hasher;
  hasher.add("kind", "cuda").add("thunk", std::to_string(thunkRevision)).add("compiler", nvccVersion()).add("entry", entry).add("architecture", architecture);
  hasher.add("main", sources.mainFile);
  for (const auto &[file, text] : sources.files) hasher.add("file", file).add("text", text);
  for (const auto &folder : sources.includeFolders) hasher.add("include", folder);
  for (const auto &root : sources.rewriteRoots) hasher.add("root", root);
  for (const auto &define : sources.defines) hasher.add("define", define);
  return hasher.hex().substr(0, 40);
}

std::map<std::string, double> sassOf(const fs::path &library) {
  std::string program = cudaFolder() + "/bin/cuobjdump";
  if (!fs::exists(program)) return {};
  auto finished = run({.argv = {program, "--dump-sass", library.string()}, .limit = std::chrono::seconds(60)});
  return finished && finished->ok() ? countSass(finished->out) : std::map<std::string, double>();
}

Built failed(Built built, Reason reason, std::string detail) {
  built.build.reason = reason;
  built.build.detail = std::move(detail);
  return built;
}

Built fromCache(Built built) {
  auto text = readFile(built.library.parent_path() / "build.json");
  json kept = text ? json::parse(*text, nullptr, /*allow_exceptions=*/false) : json();
  if (!kept.is_object()) return failed(std::move(built), Reason::Internal, "a damaged build record at " + built.library.parent_path().string() + ": remove the folder");
  built.build.resources = kept.value("resources", built.build.resources);
  built.build.sass = kept.value("sass", built.build.sass);
  return built;
}

Built compile(const SourceSet &sources, const std::string &entry, const std::string &architecture, Built built) {
  ScratchFolder scratch;
  auto laid = layOut(sources, scratch.path());
  if (!laid) return failed(std::move(built), Reason::Internal, laid.error().message());
  fs::path thunk = scratch.path() / "klineage_thunk.cu", library = scratch.path() / "version.so";
  if (auto written = writeFile(thunk, thunkText(laid->mainFile.string(), entry)); !written) return failed(std::move(built), Reason::Internal, written.error().message());
  Command command{.argv = nvccCommand({"-shared", "-gencode", "arch=compute_" + architecture + ",code=sm_" + architecture, "-Xcompiler", "-fPIC", "-Xptxas", "-v", "-Xlinker",
                                       "-Bsymbolic", "-Xlinker", "--exclude-libs,ALL", thunk.string(), "-o", library.string()})};
  command.argv.insert(command.argv.end(), laid->options.begin(), laid->options.end());
  command.limit = buildLimit;
  command.extraEnv = {{"TMPDIR", scratch.path().string()}};
  auto finished = run(command);
  if (!finished) return failed(std::move(built), Reason::Internal, finished.error().message());
  if (finished->timedOut) return failed(std::move(built), Reason::Timeout, "nvcc did not end in " + std::to_string(buildLimit.count()) + " s");
  if (!finished->ok()) {
    std::string said = finished->err.empty() ? finished->out : finished->err;
    // The reader knows the version's file, not its copy.
    for (size_t at; (at = said.find(laid->mainFile.string())) != std::string::npos;) said.replace(at, laid->mainFile.string().size(), sources.mainFile);
    return failed(std::move(built), reasonOfFailure(said), firstErrorOf(said, 4000));
  }
  for (const auto &[kernel, r] : readResourceReport(finished->err))
    for (auto [what, value] : {std::pair{"registers", r.registers}, {"spill_bytes", r.spillBytes}, {"shared_bytes", r.sharedBytes}, {"stack_bytes", r.stackBytes}})
      built.build.resources[what] = std::max(built.build.resources[what], double(value));
  built.build.sass = sassOf(library);
  std::string record = json{{"resources", built.build.resources}, {"sass", built.build.sass}}.dump(1);
  fs::path place = built.library.parent_path(), beside = place;
  beside += "." + std::to_string(::getpid());
  std::error_code error;
  fs::create_directories(beside, error);
  if (!error) fs::copy_file(library, beside / "version.so", fs::copy_options::overwrite_existing, error);
  if (error) return failed(std::move(built), Reason::Internal, "cannot keep a build in " + beside.string() + ": " + error.message());
  if (auto written = writeFile(beside / "build.json", record); !written) return failed(std::move(built), Reason::Internal, written.error().message());
  fs::rename(beside, place, error);
  if (error) fs::remove_all(beside, error); // another process was first; its build is this one
  return built;
}

} // namespace

std::string thunkText(const std::string &mainFile, const std::string &entry) {
  return "#include <type_traits>\n#include <utility>\n#include \"" + mainFile + "\"\n" + R"(
// Behind the version: how the worker calls its launcher (lib/device/cuda/worker/launcher.h).
namespace klineage_thunk {
struct Status {
  int returned, last;
  char name[96];
};
template <typename R, typename... P> constexpr int countOf(R (*)(P...)) { return int(sizeof...(P)); }
template <typename R, typename... P, std::size_t... I> int call(R (*launcher)(P...), void *const *arguments, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) {
    launcher(*static_cast<std::decay_t<P> *>(arguments[I])...);
    return 0;
  } else {
    return static_cast<int>(launcher(*static_cast<std::decay_t<P> *>(arguments[I])...));
  }
}
} // namespace klineage_thunk
extern "C" {
extern const int klineage_parameters;
const int klineage_parameters = klineage_thunk::countOf(&)" + entry + R"();
void klineage_call(void *const *arguments, klineage_thunk::Status *status) {
  status->returned = klineage_thunk::call(&)" + entry + R"(, arguments, std::make_index_sequence<std::size_t(klineage_thunk::countOf(&)" + entry + R"())>{});
  cudaError_t last = cudaGetLastError();
  status->last = int(last);
  const char *name = cudaGetErrorName(last);
  for (int i = 0; i < 95 && name[i]; ++i) status->name[i] = name[i];
}
}
)";
}

std::map<std::string, double> countSass(const std::string &text) {
  std::map<std::string, double> counts;
  std::istringstream lines(text);
  std::string line;
  double trailing = 0; // NOPs since the last other instruction
  while (std::getline(lines, line)) {
    size_t at = line.find("/*");
    size_t end = at == std::string::npos ? at : line.find("*/", at);
    if (end == std::string::npos || line.find_first_not_of(" \t") != at) {
      if (line.find("Function :") != std::string::npos) trailing = 0;
      continue;
    }
    std::string address = line.substr(at + 2, end - at - 2);
    if (address.size() < 4 || address.find_first_not_of("0123456789abcdef") != std::string::npos) continue; // an encoding's second word has no mnemonic
    std::istringstream words(line.substr(end + 2));
    std::string word;
    if (!(words >> word)) continue;
    if (word[0] == '@' && !(words >> word)) continue;
    if (word[0] == '/' || !std::isupper(static_cast<unsigned char>(word[0]))) continue;
    if (word.back() == ';') word.pop_back();
    if (word == "NOP") {
      ++trailing;
      continue;
    }
    if (trailing > 0) counts["NOP"] += std::exchange(trailing, 0);
    ++counts[word];
  }
  return counts;
}

Reason reasonOfFailure(const std::string &said) {
  for (const char *words : {"uses too much shared data", "uses too much local data", "uses too much parameter space", "too many resources", "exceeds maximum"})
    if (said.find(words) != std::string::npos) return Reason::ResourcesExceeded;
  return Reason::CompileError;
}

Built buildVersion(const SourceSet &sources, const std::string &entry, const std::string &architecture) {
  static std::mutex lock;
  static std::map<std::string, std::shared_future<Built>> underway;
  Built built;
  built.build.key = keyOf(sources, entry, architecture);
  built.library = cacheFolder() / "cuda" / built.build.key / "version.so";
  std::error_code ignored;
  if (fs::exists(built.library, ignored)) return fromCache(std::move(built));
  std::promise<Built> promise;
  {
    std::unique_lock<std::mutex> hold(lock);
    if (auto other = underway.find(built.build.key); other != underway.end()) {
      auto future = other->second;
      hold.unlock();
      return future.get();
    }
    underway[built.build.key] = promise.get_future().share();
  }
  Built done = compile(sources, entry, architecture, built);
  promise.set_value(done);
  std::lock_guard<std::mutex> hold(lock);
  underway.erase(built.build.key);
  return done;
}

} // namespace klineage::cuda
