#include "source/preamble.h"
#include "source/hoisted_includes.h"
#include "source/toolchain.h"
#include "support/files.h"
#include "support/hash.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/MultiplexConsumer.h"
#include "clang/Sema/Sema.h"
#include "clang/Sema/SemaConsumer.h"
#include <atomic>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace klineage {
namespace {
namespace fs = std::filesystem;

/// Writes the headers so that a later parse has nothing to do at its end on their behalf. What their own classes need for their virtual functions is
/// instantiated here; Clang would leave that to each parse. (A virtual table is still emitted where code names it.) And two lists are dropped that every parse
/// would read: header functions whose deferred diagnostics are to be asked again, and header declarations that may be unused. Neither says anything about the version.
class PreambleAction : public clang::GeneratePCHAction {
protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler, llvm::StringRef file) override {
    struct Forget : clang::SemaConsumer {
      clang::Sema *sema = nullptr;
      void InitializeSema(clang::Sema &made) override { sema = &made; }
      void HandleTranslationUnit(clang::ASTContext &) override {
        sema->TUScope = sema->getCurScope(); // the parser's outermost, which Sema has let go of by now
        sema->DefineUsedVTables();
        sema->PerformPendingInstantiations();
        sema->TUScope = nullptr;
        sema->DeclsToCheckForDeferredDiags.clear();
        sema->UnusedFileScopedDecls.erase(sema->UnusedFileScopedDecls.begin(nullptr, /*LocalOnly=*/true), sema->UnusedFileScopedDecls.end());
      }
    };
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(std::make_unique<Forget>());
    consumers.push_back(clang::GeneratePCHAction::CreateASTConsumer(compiler, file));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }
};

/// Compiles the preamble into `target`. Several processes and threads may do so at once; the rename makes one of them win.
Status compilePreamble(const std::vector<std::string> &base, const SourceSet &sources, const std::string &preamble, const fs::path &target) {
  std::error_code ignored;
  fs::create_directories(target.parent_path(), ignored);
  std::string header = target.string() + ".h";
  if (auto written = writeFile(header, preamble); !written) return written;
  fs::path beside = target;
  static std::atomic<unsigned> made{0};
  beside += "." + std::to_string(::getpid()) + "." + std::to_string(made++);
  auto arguments = base;
  arguments.insert(arguments.end(), {"-include", preludePath});
  auto own = ownArguments(sources);
  arguments.insert(arguments.end(), own.begin(), own.end());
  arguments.insert(arguments.end(), {"-emit-pch", "-fno-pch-timestamp", "-fpch-instantiate-templates", "-o", beside.string(), "-x", "cuda", header});
  SourceSet nothing;
  nothing.mainFile = header;
  auto prepared = makeCompiler(std::move(arguments), overlayOf(nothing));
  if (!prepared) return prepared.error();
  PreambleAction action;
  bool good = prepared->compiler->ExecuteAction(action);
  if (auto error = prepared->diagnostics->firstError()) return *error;
  if (!good) return ourFault("Clang could not precompile the headers");
  fs::rename(beside, target, ignored);
  if (ignored) return userError("cannot keep the precompiled headers: " + ignored.message(), target.string(), "set KLINEAGE_CACHE to a writable folder");
  return Done{};
}

/// Raised when a preamble is written in another way, so that files of older programs are left alone.
constexpr const char *preambleForm = "3";

Hasher hasherOf(const std::vector<std::string> &base, const SourceSet &sources, Side side) {
  Hasher hasher;
  hasher.add("form", preambleForm).add("prelude", preludeText).add("side", side == Side::Device ? "device" : "host");
  for (const auto &argument : base) hasher.add("argument", argument);
  for (const auto &argument : ownArguments(sources)) hasher.add("own", argument);
  std::error_code error;
  auto cudaTime = fs::last_write_time(fs::path(cudaFolder()) / "include" / "cuda.h", error);
  hasher.add("cuda", std::to_string(cudaTime.time_since_epoch().count()));
  return hasher;
}

// A list of hoisted includes is kept as text, so that a version whose directives are the same need not be preprocessed again:
//
//   own <directiveHash> <path>      one line an own file that decided it
//   (an empty line)
//   #include <...>                  the preamble
//
// One whose hashes are not those of the files now is written anew. A binary form would be no smaller.

std::string listText(const HoistedIncludes &includes) {
  std::string text;
  for (const auto &[file, hash] : includes.decided) text += "own " + hash + " " + file + "\n";
  return text + "\n" + includes.text;
}

/// The list in the file, when it still stands for these sources.
std::optional<HoistedIncludes> readList(const fs::path &path, const SourceSet &sources) {
  auto text = readFile(path);
  if (!text) return std::nullopt;
  HoistedIncludes includes;
  std::istringstream lines(*text);
  std::string line;
  while (std::getline(lines, line) && !line.empty()) {
    std::istringstream words(line);
    std::string own, hash, file;
    words >> own >> hash >> std::ws;
    std::getline(words, file);
    auto held = sources.files.find(file);
    auto now = held != sources.files.end() ? Result<std::string>(held->second) : readFile(file);
    if (!now || directiveHash(*now) != hash) return std::nullopt;
    includes.decided[file] = hash;
  }
  if (includes.decided.empty()) return std::nullopt;
  includes.text.assign(std::istreambuf_iterator<char>(lines), {});
  return includes;
}

fs::path preambleFolder() { return cacheFolder() / "preamble"; }

/// Makes the preamble of this text when it is not there.
Result<std::string> precompiled(const std::vector<std::string> &base, const SourceSet &sources, Side side, const std::string &text) {
  fs::path target = preambleFolder() / (hasherOf(base, sources, side).add("preamble", text).hex().substr(0, 32) + ".pch");
  if (!fs::exists(target))
    if (auto compiled = compilePreamble(base, sources, text, target); !compiled) return compiled.error();
  return target.string();
}

} // namespace

Result<std::string> preambleFor(const std::vector<std::string> &base, const SourceSet &sources, Side side) {
  if (!includesMore(sources)) return precompiled(base, sources, side, leadingIncludes(sources));
  fs::path list = preambleFolder() / (hasherOf(base, sources, side).add("main", sources.mainFile).add("directives", directiveHash(sources.mainText())).hex().substr(0, 32) + ".includes");
  auto includes = readList(list, sources);
  if (!includes) {
    auto found = hoistedIncludes(base, sources);
    if (!found) return precompiled(base, sources, side, leadingIncludes(sources)); // the parse says what is wrong, and where
    includes = std::move(*found);
    std::error_code ignored;
    fs::create_directories(list.parent_path(), ignored);
    (void)writeFile(list, listText(*includes)); // without it the next parse asks again
  }
  auto made = precompiled(base, sources, side, includes->text);
  if (made) return made;
  // Headers that rest on declarations before them do not stand alone.
  includes->text = leadingIncludes(sources);
  (void)writeFile(list, listText(*includes));
  return precompiled(base, sources, side, includes->text);
}

bool forgetPreamble(const std::string &precompiled) {
  std::error_code ignored;
  // A header has changed, and any list may rest on it.
  for (const auto &entry : fs::directory_iterator(preambleFolder(), ignored))
    if (entry.path().extension() == ".includes") fs::remove(entry.path(), ignored);
  return fs::remove(precompiled, ignored);
}

} // namespace klineage
