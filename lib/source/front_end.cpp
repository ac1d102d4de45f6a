#include "source/front_end.h"
#include "source/preamble.h"
#include "support/files.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Driver/Compilation.h"
#include "clang/Driver/Driver.h"
#include "clang/Driver/Tool.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/TargetParser/Host.h"
#include <cstdlib>
#include <filesystem>
#include <mutex>

namespace klineage {
namespace fs = std::filesystem;

std::string cudaFolder() {
  if (const char *path = std::getenv("CUDA_PATH"); path && *path) return path;
  // A bundle runs on another machine than it was made on.
  static const std::string found = fs::exists(KLINEAGE_CUDA_PATH "/include/cuda.h") ? KLINEAGE_CUDA_PATH : "/usr/local/cuda";
  return found;
}

std::string resourceFolder() {
  if (const char *path = std::getenv("KLINEAGE_RESOURCE_DIR"); path && *path) return path;
  static const std::string found = [] { // the bundle's own stand beside its programs
    fs::path own = programFolder().parent_path() / "lib" / "clang" / std::to_string(KLINEAGE_LLVM_MAJOR);
    return fs::exists(own / "include" / "__clang_cuda_runtime_wrapper.h") ? own.string() : std::string(KLINEAGE_RESOURCE_DIR);
  }();
  return found;
}

void DiagnosticCollector::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);
  if (level < clang::DiagnosticsEngine::Warning) return;
  if (unsigned first = clang::diag::DIAG_START_SERIALIZATION, id = info.getID(); id >= first && id < first + clang::diag::DIAG_SIZE_SERIALIZATION)
    noPreamble = noPreamble || level >= clang::DiagnosticsEngine::Error;
  llvm::SmallString<256> text;
  info.FormatDiagnostic(text);
  std::string where;
  if (info.hasSourceManager() && info.getLocation().isValid()) {
    const auto &manager = info.getSourceManager();
    auto presumed = manager.getPresumedLoc(manager.getExpansionLoc(info.getLocation()));
    if (presumed.isValid())
      where = std::string(presumed.getFilename()) + ":" + std::to_string(presumed.getLine()) + ":" + std::to_string(presumed.getColumn());
  }
  diagnosed.push_back({level >= clang::DiagnosticsEngine::Error, where, text.str().str()});
}

std::optional<Error> DiagnosticCollector::firstError() const {
  for (const auto &one : diagnosed)
    if (one.isError) return userError(one.text, one.where, "klineage reads what Clang 22 accepts as CUDA; mend the source there");
  return std::nullopt;
}

namespace {

std::vector<std::string> driverArguments(Side side, const FrontEndOptions &options) {
  return {"clang-22", "-x", "cuda", side == Side::Device ? "--cuda-device-only" : "--cuda-host-only",
          "--cuda-gpu-arch=sm_" + std::to_string(options.sm), "-nocudalib", "--cuda-path=" + cudaFolder(),
          "-I" + cudaFolder() + "/include/cccl", "-resource-dir=" + resourceFolder(), "-std=c++17",
          "-O" + std::to_string(options.optimization), "-Wno-unknown-cuda-version", "-fno-strict-aliasing", "-gline-tables-only",
          "-S", "-emit-llvm", "input.cu"};
}

Result<std::vector<std::string>> askDriver(Side side, const FrontEndOptions &options) {
  DiagnosticCollector collector;
  clang::DiagnosticOptions diagnosticOptions;
  clang::DiagnosticsEngine engine(new clang::DiagnosticIDs, diagnosticOptions, &collector, /*ShouldOwnClient=*/false);
  clang::driver::Driver driver(resourceFolder() + "/../../../bin/clang", llvm::sys::getDefaultTargetTriple(), engine);
  driver.setCheckInputsExist(false);
  auto arguments = driverArguments(side, options);
  std::vector<const char *> raw;
  for (const auto &argument : arguments) raw.push_back(argument.c_str());
  std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(raw));
  if (auto error = collector.firstError()) return *error;
  for (const auto &job : compilation->getJobs()) {
    const auto &jobArguments = job.getArguments();
    if (jobArguments.empty() || llvm::StringRef(jobArguments[0]) != "-cc1") continue;
    std::vector<std::string> result;
    for (size_t i = 1; i < jobArguments.size(); ++i) {
      llvm::StringRef argument = jobArguments[i];
      if (argument == "-x") break; // "-x cuda input.cu" ends the line
      if (argument.starts_with("-cuid=") || argument == "-emit-llvm") continue;
      if (argument == "-main-file-name" || argument == "-o") {
        ++i;
        continue;
      }
      result.push_back(argument.str());
    }
    // The driver knows no CUDA 13 and would leave the version open; 12.8 selects the launch interface that 13 still has.
    result.push_back("-target-sdk-version=12.8");
    result.push_back("-fno-caret-diagnostics");
    return result;
  }
  return ourFault("Clang's driver planned no compile job for the " + std::string(side == Side::Device ? "device" : "host") + " side");
}

} // namespace

Result<std::vector<std::string>> baseArguments(Side side, const FrontEndOptions &options) {
  static std::mutex lock;
  static std::map<std::string, std::vector<std::string>> known;
  std::string key = std::to_string(static_cast<int>(side)) + "/" + std::to_string(options.sm) + "/" + std::to_string(options.optimization) +
                    "/" + cudaFolder() + "/" + resourceFolder();
  std::lock_guard<std::mutex> hold(lock);
  if (auto found = known.find(key); found != known.end()) return found->second;
  auto arguments = askDriver(side, options);
  if (arguments) known[key] = *arguments;
  return arguments;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> overlayOf(const SourceSet &sources) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const auto &[path, text] : sources.files) memory->addFile(path, 0, llvm::MemoryBuffer::getMemBufferCopy(text, path));
  memory->addFile(preludePath, 0, llvm::MemoryBuffer::getMemBuffer(preludeText, preludePath));
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  overlay->pushOverlay(memory);
  return overlay;
}

std::vector<std::string> ownArguments(const SourceSet &sources) {
  std::vector<std::string> arguments;
  for (const auto &folder : sources.includeFolders) arguments.insert(arguments.end(), {"-I", folder});
  for (const auto &define : sources.defines) arguments.insert(arguments.end(), {"-D", define});
  return arguments;
}

Result<PreparedCompiler> makeCompiler(std::vector<std::string> arguments, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
  PreparedCompiler prepared;
  prepared.diagnostics = std::make_shared<DiagnosticCollector>();
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine engine(new clang::DiagnosticIDs, options, prepared.diagnostics.get(), /*ShouldOwnClient=*/false);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  std::vector<const char *> raw;
  for (const auto &argument : arguments) raw.push_back(argument.c_str());
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, raw, engine, "clang-22")) {
    if (auto error = prepared.diagnostics->firstError()) return *error;
    return ourFault("Clang did not take its own arguments");
  }
  invocation->getFrontendOpts().DisableFree = false;
  prepared.compiler = std::make_unique<clang::CompilerInstance>(std::move(invocation));
  prepared.compiler->setVirtualFileSystem(std::move(files));
  prepared.compiler->createDiagnostics(prepared.diagnostics.get(), /*ShouldOwnClient=*/false);
  prepared.compiler->createFileManager();
  return prepared;
}

namespace {

/// Strips the forced includes: they are inside the precompiled preamble.
std::vector<std::string> withoutForcedIncludes(const std::vector<std::string> &arguments) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "-include" && i + 1 < arguments.size()) ++i;
    else rest.push_back(arguments[i]);
  }
  return rest;
}

} // namespace

Result<PreparedCompiler> prepareCompiler(const SourceSet &sources, Side side, const FrontEndOptions &options) {
  auto base = baseArguments(side, options);
  if (!base) return base.error();
  auto preamble = preambleFor(*base, sources, side);
  if (!preamble) return preamble.error();
  auto arguments = withoutForcedIncludes(*base);
  auto own = ownArguments(sources);
  arguments.insert(arguments.end(), own.begin(), own.end());
  arguments.insert(arguments.end(), {"-include-pch", *preamble, "-disable-llvm-passes", "-x", "cuda", sources.mainFile});
  auto made = makeCompiler(std::move(arguments), overlayOf(sources));
  if (made) made->preamble = *preamble;
  return made;
}

bool PreparedCompiler::forgetUnusablePreamble() const {
  return diagnostics->unusablePreamble() && forgetPreamble(preamble);
}

} // namespace klineage
