// Pieces that most steps share when they build sites: loci, places without doubles, declines with the compiler's words.
#pragma once
#include "step/step.h"

namespace klineage {

/// Collects the sites of one detection. A place counts once, however many instantiations or calls lead to it.
class SiteList {
public:
  explicit SiteList(const Version &version) : version(version) {}

  /// A locus for code on the device side; an error says why the code cannot be edited (a macro, a file that may not be rewritten).
  Result<Locus> locus(std::string kind, std::string label, clang::SourceRange range) const;

  /// True when this is the first time that this kind of site is met at this place.
  bool firstAt(const Locus &locus, const std::string &what = {});

  void add(Site site) { detection.sites.push_back(std::move(site)); }
  void decline(std::string reason, clang::SourceLocation where, std::string text);
  /// Declines as `macro` or `not_rewritable` with the error's words.
  void decline(const Error &error, clang::SourceLocation where);
  Detection take() { return std::move(detection); }

private:
  const Version &version;
  std::set<std::string> seen;
  Detection detection;
};

/// The functions of the version's own sources that a kernel runs: itself and the __device__ helpers that it reaches, each once.
std::vector<const clang::FunctionDecl *> ownFunctions(const Unit &unit, const KernelModel &kernel);

/// The range of a macro's use that expands to the given place, `__launch_bounds__(256)` for its attribute; the range itself otherwise.
clang::SourceRange expansionRange(const Unit &unit, clang::SourceRange range);

/// An edit that replaces a range, or why it cannot be one.
Result<Edit> replace(const Unit &unit, clang::SourceRange range, std::string with, Side side = Side::Device);

/// The whitespace before the first token of the line that holds this offset.
std::string indentAt(const SourceSet &sources, const std::string &file, unsigned offset);

} // namespace klineage
