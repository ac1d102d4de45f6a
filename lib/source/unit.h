// Unit: one version parsed on both sides, device and host, as one edited unit.
#pragma once
#include "source/clang_headers.h"
#include "source/source_set.h"

namespace klineage {

enum class Side { Device, Host };

struct FrontEndOptions {
  unsigned sm = 90;                ///< Target architecture: 90 is sm_90.
  unsigned optimization = 2;       ///< Decides __OPTIMIZE__ and so the preamble; IR is emitted before any LLVM pass.
};

/// A parsed version. Both ASTs stay valid as long as the unit lives. Locations are file offsets of `sources`.
class Unit {
public:
  ~Unit();

  /// Parses both sides. The leading run of #include lines is compiled once (docs/decisions/preamble.md) and kept in cacheFolder().
  /// A source that does not parse, or whose AST holds recovery nodes, is a user error with file, line, column and name.
  static Result<std::unique_ptr<Unit>> parse(const SourceSet &sources, const FrontEndOptions &options = {});

  const SourceSet &sources() const { return set; }
  const FrontEndOptions &options() const { return frontEnd; }
  clang::ASTContext &ast(Side side) const;
  const clang::SourceManager &manager(Side side) const;

  /// The __global__ functions defined in the sources (for templates: the instantiations that a launch uses), in file order.
  std::vector<const clang::FunctionDecl *> kernels() const;

  /// Where the range stands in the sources. An error names why it cannot be edited: it comes from a macro's body,
  /// begins and ends in different files, or lies in a file that may not be rewritten. A range that is exactly one macro
  /// argument or one whole macro expansion is given as the text that stands in the file.
  struct Place {
    std::string file;
    unsigned offset = 0, length = 0, line = 0, column = 0;
  };
  Result<Place> place(clang::SourceRange range, Side side = Side::Device) const;
  Result<Place> place(const clang::Stmt *stmt, Side side = Side::Device) const { return place(stmt->getSourceRange(), side); }

  /// "file:line:column" of a location, always answers.
  std::string where(clang::SourceLocation location, Side side = Side::Device) const;

  /// The source text of a range; empty when it has no place.
  std::string text(clang::SourceRange range, Side side = Side::Device) const;
  std::string text(const clang::Stmt *stmt, Side side = Side::Device) const { return text(stmt->getSourceRange(), side); }

  /// The text of `stmt` with some sub-ranges replaced; nested text keeps its spelling and comments.
  std::string textWith(const clang::Stmt *stmt, const std::map<const clang::Stmt *, std::string> &replacements,
                       Side side = Side::Device) const;

private:
  Unit();
  struct Impl;
  std::unique_ptr<Impl> impl;
  SourceSet set;
  FrontEndOptions frontEnd;
};

/// One side as LLVM IR before any optimization pass: `-O2 -disable-llvm-passes`. Device IR is NVPTX, for options.sm.
/// Math calls stay calls of __nv_* functions (libdevice is not linked).
Result<std::unique_ptr<llvm::Module>> emitIR(const SourceSet &sources, Side side, llvm::LLVMContext &context,
                                             const FrontEndOptions &options = {});

/// What the front end stands on, for doctor and for the start-up probe.
struct FrontEndFacts {
  std::string clangVersion, resourceFolder, cudaFolder, cudaVersion;
};
Result<FrontEndFacts> probeFrontEnd();

} // namespace klineage
