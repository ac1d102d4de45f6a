#include "source/hoisted_includes.h"
#include "source/own_files.h"
#include "support/files.h"
#include "support/hash.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Lex/DependencyDirectivesScanner.h"
#include "clang/Lex/HeaderSearch.h"
#include "clang/Lex/PPCallbacks.h"
#include <filesystem>

namespace klineage {
namespace fs = std::filesystem;

std::string leadingIncludes(const SourceSet &sources) {
  llvm::StringRef rest = sources.mainText();
  std::string preamble;
  bool inComment = false;
  while (!rest.empty()) {
    auto [line, after] = rest.split('\n');
    llvm::StringRef text = line.trim();
    if (inComment) {
      size_t end = text.find("*/");
      if (end != llvm::StringRef::npos) {
        inComment = false;
        text = text.substr(end + 2).trim();
        if (!text.empty()) break;
      }
    } else if (text.starts_with("/*") && text.find("*/") == llvm::StringRef::npos) {
      inComment = true;
    } else if (text.starts_with("#")) {
      llvm::StringRef directive = text.drop_front().ltrim();
      if (!directive.consume_front("include")) break;
      directive = directive.ltrim();
      if (!directive.consume_front("<")) break;
      llvm::StringRef header = directive.take_until([](char c) { return c == '>'; });
      bool ownHeader = false;
      for (const auto &folder : sources.includeFolders) ownHeader |= fs::exists(fs::path(folder) / header.str());
      if (ownHeader) break;
      preamble += "#include <" + header.str() + ">\n";
    } else if (!text.empty() && !text.starts_with("//")) {
      break;
    }
    rest = after;
  }
  return preamble;
}

namespace {

using clang::dependency_directives_scan::Directive;

struct Directives {
  llvm::SmallVector<clang::dependency_directives_scan::Token> tokens;
  llvm::SmallVector<Directive> all;
};

/// The directives of a text; nothing when it cannot be scanned.
Directives directivesOf(const std::string &text) {
  Directives found;
  if (clang::scanSourceForDependencyDirectives(text, found.tokens, found.all)) found.all.clear();
  return found;
}

bool isInclude(const Directive &directive) {
  using namespace clang::dependency_directives_scan;
  return directive.Kind == pp_include || directive.Kind == pp_include_next || directive.Kind == pp_import;
}

/// Listens to the preprocessor while it reads the whole version.
class Listener : public clang::PPCallbacks {
public:
  Listener(clang::Preprocessor &preprocessor, const SourceSet &sources, const unsigned &depth, HoistedIncludes &found)
      : preprocessor(preprocessor), manager(preprocessor.getSourceManager()), sources(sources), depth(depth), found(found) {}

  void InclusionDirective(clang::SourceLocation hash, const clang::Token &, llvm::StringRef name, bool angled, clang::CharSourceRange, clang::OptionalFileEntryRef file,
                          llvm::StringRef folder, llvm::StringRef, const clang::Module *, bool, clang::SrcMgr::CharacteristicKind) override {
    if (!file) return;
    bool byOwn = isOwn(hash), own = isOwnFile(sources, file->getName().str());
    if (own && !byOwn) return end(); // it would freeze a text that may change
    if (own || !byOwn) return;
    if (depth > 0) ended = true;
    if (ended) return;
    bool beside = !angled && folder == fs::path(fileOf(hash)).parent_path().string();
    listed.push_back({*file, beside ? "\"" + file->getName().str() + "\"" : "<" + name.str() + ">"});
  }
  void MacroDefined(const clang::Token &name, const clang::MacroDirective *) override {
    if (isOwn(name.getLocation())) ownMacros.insert(name.getIdentifierInfo());
    else meets(name);
  }
  void MacroUndefined(const clang::Token &name, const clang::MacroDefinition &, const clang::MacroDirective *) override {
    if (isOwn(name.getLocation())) ended = true;
    else meets(name);
  }
  void MacroExpands(const clang::Token &name, const clang::MacroDefinition &, clang::SourceRange, const clang::MacroArgs *) override { meets(name); }
  void Defined(const clang::Token &name, const clang::MacroDefinition &, clang::SourceRange) override { meets(name); }
  void Ifdef(clang::SourceLocation, const clang::Token &name, const clang::MacroDefinition &) override { meets(name); }
  void Ifndef(clang::SourceLocation, const clang::Token &name, const clang::MacroDefinition &) override { meets(name); }
  void Elifdef(clang::SourceLocation, const clang::Token &name, const clang::MacroDefinition &) override { meets(name); }
  void Elifndef(clang::SourceLocation, const clang::Token &name, const clang::MacroDefinition &) override { meets(name); }
  void PragmaDirective(clang::SourceLocation hash, clang::PragmaIntroducerKind) override {
    if (isOwn(hash) && !concernsOnePlace(hash)) ended = true;
  }

  /// The list as it stands when everything has been read.
  std::string text() const {
    std::string text;
    for (const auto &[file, spelled] : listed) {
      if (!preprocessor.getHeaderSearchInfo().isFileMultipleIncludeGuarded(file)) break;
      text += "#include " + spelled + "\n";
    }
    return text;
  }

private:
  std::string fileOf(clang::SourceLocation location) const {
    auto entry = manager.getFileEntryRefForID(manager.getFileID(manager.getExpansionLoc(location)));
    return entry ? entry->getName().str() : std::string();
  }
  bool isOwn(clang::SourceLocation location) {
    clang::FileID id = manager.getFileID(manager.getExpansionLoc(location));
    auto [known, fresh] = ownIds.try_emplace(id, false);
    if (!fresh) return known->second;
    std::string file = fileOf(location);
    known->second = !file.empty() && isOwnFile(sources, file);
    if (known->second)
      if (auto buffer = manager.getBufferOrNone(id)) found.decided[file] = directiveHash(buffer->getBuffer().str());
    return known->second;
  }
  /// A macro's name is asked for. In a header that is to be moved, one of the version's own must not be met.
  void meets(const clang::Token &name) {
    if (!ended && ownMacros.count(name.getIdentifierInfo()) && !isOwn(name.getLocation())) end();
  }
  /// The header that is being read cannot be moved, and none behind it.
  void end() {
    if (!ended && !listed.empty()) listed.pop_back();
    ended = true;
  }
  /// Pragmas that say something of one file or one loop change no header that follows.
  bool concernsOnePlace(clang::SourceLocation hash) const {
    llvm::StringRef rest = manager.getCharacterData(hash);
    rest = rest.take_until([](char c) { return c == '\n'; }).drop_front().ltrim();
    if (!rest.consume_front("pragma")) return false;
    llvm::StringRef word = rest.ltrim().take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    return word == "once" || word == "unroll" || word == "nounroll";
  }

  clang::Preprocessor &preprocessor;
  clang::SourceManager &manager;
  const SourceSet &sources;
  const unsigned &depth;
  HoistedIncludes &found;
  std::vector<std::pair<clang::FileEntryRef, std::string>> listed;
  std::map<clang::FileID, bool> ownIds;
  std::set<const clang::IdentifierInfo *> ownMacros;
  bool ended = false;
};

class ReadIncludes : public clang::PreprocessorFrontendAction {
public:
  ReadIncludes(const SourceSet &sources, HoistedIncludes &found) : sources(sources), found(found) {}

protected:
  void ExecuteAction() override {
    clang::Preprocessor &preprocessor = getCompilerInstance().getPreprocessor();
    unsigned depth = 0; // open braces
    auto listener = std::make_unique<Listener>(preprocessor, sources, depth, found);
    Listener &heard = *listener;
    preprocessor.addPPCallbacks(std::move(listener));
    preprocessor.IgnorePragmas();
    preprocessor.EnterMainSourceFile();
    clang::Token token;
    do {
      preprocessor.Lex(token);
      if (token.is(clang::tok::l_brace)) ++depth;
      if (token.is(clang::tok::r_brace) && depth > 0) --depth;
    } while (token.isNot(clang::tok::eof));
    found.text = heard.text();
  }

private:
  const SourceSet &sources;
  HoistedIncludes &found;
};

} // namespace

bool includesMore(const SourceSet &sources) {
  std::string leading = leadingIncludes(sources);
  Directives directives = directivesOf(sources.mainText());
  return std::count_if(directives.all.begin(), directives.all.end(), isInclude) > std::count(leading.begin(), leading.end(), '\n');
}

Result<HoistedIncludes> hoistedIncludes(const std::vector<std::string> &base, const SourceSet &sources) {
  HoistedIncludes found;
  auto arguments = base;
  arguments.insert(arguments.end(), {"-include", preludePath});
  auto own = ownArguments(sources);
  arguments.insert(arguments.end(), own.begin(), own.end());
  arguments.insert(arguments.end(), {"-x", "cuda", sources.mainFile});
  auto prepared = makeCompiler(std::move(arguments), overlayOf(sources));
  if (!prepared) return prepared.error();
  ReadIncludes action(sources, found);
  bool good = prepared->compiler->ExecuteAction(action);
  if (auto error = prepared->diagnostics->firstError()) return *error;
  if (!good) return ourFault("Clang could not preprocess the file");
  return found;
}

std::string directiveHash(const std::string &text) {
  Directives directives = directivesOf(text);
  std::string minimized;
  llvm::raw_string_ostream out(minimized);
  clang::printDependencyDirectivesAsSource(text, directives.all, out);
  size_t head = 0;
  for (const Directive &directive : directives.all)
    if (isInclude(directive)) head = directive.Tokens.back().getEnd();
  Hasher hasher;
  hasher.add("directives", minimized);
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus17 = language.CUDA = true;
  clang::Lexer lexer(clang::SourceLocation(), language, text.data(), text.data(), text.data() + text.size());
  clang::Token token;
  std::string tokens;
  while (!lexer.LexFromRawLexer(token) && size_t(lexer.getBufferLocation() - text.data()) < head)
    tokens.append(lexer.getBufferLocation() - token.getLength(), token.getLength()).push_back(' ');
  return hasher.add("head", tokens).hex();
}

} // namespace klineage
