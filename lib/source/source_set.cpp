#include "source/source_set.h"
#include "source/own_files.h"
#include "source/clang_headers.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/subprocess.h"
#include "clang/Format/Format.h"
#include <algorithm>
#include <cctype>
#include <filesystem>

namespace klineage {
bool underRewriteRoot(const SourceSet &sources, const std::string &file) {
  return std::any_of(sources.rewriteRoots.begin(), sources.rewriteRoots.end(), [&](const std::string &root) {
    return !root.empty() && file.compare(0, root.size(), root) == 0 && (root.back() == '/' || (file.size() > root.size() && file[root.size()] == '/'));
  });
}

bool isOwnFile(const SourceSet &sources, const std::string &file) { return sources.files.count(file) || underRewriteRoot(sources, file); }

namespace {

/// The text of a file that an edit names: from the set, or from disk when its folder may be rewritten.
Result<std::string> editable(const SourceSet &sources, const std::string &file) {
  if (auto found = sources.files.find(file); found != sources.files.end()) return found->second;
  if (!underRewriteRoot(sources, file))
    return refusal("the file may not be rewritten", file, "name its folder under rewrite_roots in workload.json");
  return readFile(file);
}

} // namespace

Result<SourceSet> applyEdits(const SourceSet &before, const Edits &edits) {
  std::map<std::string, std::vector<Edit>> byFile;
  for (const auto &edit : edits) byFile[edit.file].push_back(edit);
  SourceSet after = before;
  for (auto &[file, list] : byFile) {
    auto text = editable(before, file);
    if (!text) return text.error();
    // Insertions at one place keep their order; an insertion stands before a replacement that begins there.
    std::stable_sort(list.begin(), list.end(), [](const Edit &a, const Edit &b) {
      return a.offset != b.offset ? a.offset < b.offset : (a.length == 0) > (b.length == 0);
    });
    std::string result;
    unsigned at = 0;
    const Edit *last = nullptr;
    for (const auto &edit : list) {
      if (last && edit.length > 0 && edit.offset == last->offset && edit.length == last->length && edit.replacement == last->replacement) continue;
      if (edit.offset < at)
        return refusal("two edits of one step overlap", file + ":" + std::to_string(edit.offset));
      if (static_cast<size_t>(edit.offset) + edit.length > text->size())
        return ourFault("an edit reaches past the end of the file", file + ":" + std::to_string(edit.offset));
      result.append(*text, at, edit.offset - at).append(edit.replacement);
      at = edit.offset + edit.length;
      last = &edit;
    }
    result.append(*text, at, std::string::npos);
    after.files[file] = std::move(result);
  }
  return after;
}

namespace {

std::string visible(const std::string &text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [](unsigned char c) { return !std::isspace(c); });
  return kept;
}

/// What the preprocessor sees; `> >` at the end of template arguments is `>>` to the language, and a directive keeps its line.
std::string tokensOf(const std::string &text) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus17 = language.CUDA = true;
  clang::Lexer lexer(clang::SourceLocation(), language, text.data(), text.data(), text.data() + text.size());
  std::string tokens;
  clang::Token token;
  for (bool more = true, directive = false; more;) {
    more = !lexer.LexFromRawLexer(token);
    bool line = token.isAtStartOfLine();
    if (line && (directive || token.is(clang::tok::hash))) tokens += '\n';
    if (line) directive = token.is(clang::tok::hash);
    if (token.is(clang::tok::eof)) break;
    std::string spelled(lexer.getBufferLocation() - token.getLength(), token.getLength());
    bool closes = spelled.find_first_not_of('>') == std::string::npos;
    tokens += closes ? spelled : ' ' + visible(spelled);
  }
  return tokens;
}

} // namespace

SourceSet formatted(const SourceSet &sources) {
  auto style = clang::format::getLLVMStyle();
  style.ColumnLimit = 120;
  style.SortIncludes.Enabled = false; // only white space may move: loci are followed by counting the other characters
  style.SortUsingDeclarations = clang::format::FormatStyle::SUD_Never;
  style.FixNamespaceComments = false;
  style.BreakStringLiterals = false;
  style.ReflowComments = clang::format::FormatStyle::RCS_Never;
  style.AllowShortIfStatementsOnASingleLine = clang::format::FormatStyle::SIS_WithoutElse;
  style.AllowShortLoopsOnASingleLine = true;
  style.BreakTemplateDeclarations = clang::format::FormatStyle::BTDS_Yes;
  SourceSet result = sources;
  for (auto &[file, text] : result.files) {
    clang::tooling::Replacements moves;
    for (const auto &one : clang::format::reformat(style, text, {clang::tooling::Range(0, text.size())}, file))
      if (visible(text.substr(one.getOffset(), one.getLength())) == visible(one.getReplacementText().str()))
        if (auto clash = moves.add(one)) llvm::consumeError(std::move(clash));
    auto moved = clang::tooling::applyAllReplacements(text, moves);
    if (!moved) llvm::consumeError(moved.takeError());
    else if (tokensOf(text) == tokensOf(*moved)) text = *moved;
  }
  return result;
}

std::string versionHash(const SourceSet &sources) {
  Hasher hasher;
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus17 = language.CUDA = true;
  for (const auto &[file, text] : sources.files) {
    // The folder does not count: the same kernel elsewhere is the same version.
    hasher.add("file", std::filesystem::path(file).filename().string());
    clang::Lexer lexer(clang::SourceLocation(), language, text.data(), text.data(), text.data() + text.size());
    std::string tokens;
    clang::Token token;
    bool more = true;
    while (more) {
      more = !lexer.LexFromRawLexer(token);
      if (token.is(clang::tok::eof)) break;
      if (token.isAtStartOfLine()) { // a directive ends with its line, so lines that begin with # keep their borders
        if (token.is(clang::tok::hash)) tokens += '\n';
      }
      auto begin = token.getLocation().getRawEncoding();
      (void)begin;
      const char *end = lexer.getBufferLocation();
      tokens.append(end - token.getLength(), token.getLength());
      tokens += ' ';
    }
    hasher.add("tokens", tokens);
  }
  for (const auto &define : sources.defines) hasher.add("define", define);
  for (const auto &folder : sources.includeFolders) hasher.add("include", folder);
  return hasher.hex();
}

std::string unifiedDiff(const SourceSet &before, const SourceSet &after) {
  std::string all;
  ScratchFolder scratch;
  for (const auto &[file, text] : after.files) {
    auto old = before.files.find(file);
    std::string oldText = old == before.files.end() ? readFile(file).operator bool() ? *readFile(file) : "" : old->second;
    if (oldText == text) continue;
    std::string name = std::filesystem::path(file).filename().string();
    auto a = scratch.path() / "before", b = scratch.path() / "after";
    if (!writeFile(a, oldText) || !writeFile(b, text)) continue;
    auto finished = run({.argv = {"diff", "-u", "--label", "before/" + name, "--label", "after/" + name, a.string(), b.string()}});
    if (finished) all += finished->out;
  }
  return all;
}

} // namespace klineage
