// Inside the source room only: how Clang is set up for one side of a version, and the precompiled preamble.
#pragma once
#include "source/toolchain.h"
#include "source/unit.h"

namespace klineage {

/// One error or warning of Clang, with its place in the sources.
struct Diagnosed {
  bool isError = false;
  std::string where, text;
};

/// Collects what Clang says instead of printing it.
class DiagnosticCollector : public clang::DiagnosticConsumer {
public:
  void BeginSourceFile(const clang::LangOptions &, const clang::Preprocessor *) override {}
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &info) override;
  const std::vector<Diagnosed> &all() const { return diagnosed; }
  /// The first error, or nothing.
  std::optional<Error> firstError() const;
  /// Clang could not take the precompiled preamble: a system header changed, or the file is damaged.
  bool unusablePreamble() const { return noPreamble; }

private:
  bool noPreamble = false;
  std::vector<Diagnosed> diagnosed;
};

/// Arguments of `clang -cc1` for a side, without input, output and preamble. Computed once a process for each (side, options).
Result<std::vector<std::string>> baseArguments(Side side, const FrontEndOptions &options);

/// A file system in which the version's own text shadows the disk, and the prelude exists.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> overlayOf(const SourceSet &sources);

/// Arguments for the version itself: its include folders and definitions.
std::vector<std::string> ownArguments(const SourceSet &sources);

/// A compiler ready to run an action on one side of the version, using the precompiled preamble of the headers that it includes.
struct PreparedCompiler {
  std::shared_ptr<DiagnosticCollector> diagnostics;
  std::unique_ptr<clang::CompilerInstance> compiler;
  std::string preamble; ///< The precompiled file that it loads.

  /// Removes a preamble that Clang could not take, so that the next compiler makes it anew. False: that was not what failed.
  bool forgetUnusablePreamble() const;
};
Result<PreparedCompiler> makeCompiler(std::vector<std::string> arguments, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);
Result<PreparedCompiler> prepareCompiler(const SourceSet &sources, Side side, const FrontEndOptions &options);

/// The text of the prelude: what nvcc has and Clang's headers lack (docs/decisions/prelude.md).
extern const char *const preludeText;
inline constexpr const char *preludePath = "/klineage/prelude.h";

} // namespace klineage
