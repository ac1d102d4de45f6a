#include "source/unit.h"
#include "source/front_end.h"
#include "source/own_files.h"
#include "clang/AST/ASTConsumer.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/FrontendActions.h"
#include <algorithm>

namespace klineage {
namespace {

/// Runs Sema and keeps the AST: between BeginSourceFile and EndSourceFile everything stays valid.
class KeepAst : public clang::ASTFrontendAction {
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &, llvm::StringRef) override {
    return std::make_unique<clang::ASTConsumer>();
  }
};

struct ParsedSide {
  PreparedCompiler prepared;
  KeepAst action;
  bool begun = false;
  ~ParsedSide() {
    if (begun) action.EndSourceFile();
  }
};

Result<std::unique_ptr<ParsedSide>> parseSide(const SourceSet &sources, Side side, const FrontEndOptions &options) {
  auto prepared = prepareCompiler(sources, side, options);
  if (!prepared) return prepared.error();
  auto parsed = std::make_unique<ParsedSide>();
  parsed->prepared = std::move(*prepared);
  auto &compiler = *parsed->prepared.compiler;
  if (!compiler.createTarget()) return ourFault("Clang has no such target");
  parsed->begun = parsed->action.BeginSourceFile(compiler, compiler.getFrontendOpts().Inputs[0]);
  if (parsed->begun)
    if (llvm::Error error = parsed->action.Execute()) return ourFault("Clang stopped: " + llvm::toString(std::move(error)));
  if (parsed->prepared.forgetUnusablePreamble()) {
    parsed.reset();
    return parseSide(sources, side, options);
  }
  if (auto error = parsed->prepared.diagnostics->firstError()) return *error;
  if (!parsed->begun) return ourFault("Clang could not begin the file");
  return parsed;
}

std::string fileName(const clang::SourceManager &manager, clang::FileID file) {
  auto entry = manager.getFileEntryRefForID(file);
  return entry ? entry->getName().str() : std::string();
}

/// Headers under the rewrite roots that a side has read belong to the version from now on: they can be edited, and its hash holds them.
void adoptHeaders(const clang::SourceManager &manager, SourceSet &sources) {
  for (auto file = manager.fileinfo_begin(); file != manager.fileinfo_end(); ++file) {
    std::string name = file->first.getName().str();
    if (sources.files.count(name) || !isOwnFile(sources, name)) continue;
    if (auto buffer = file->second->getBufferIfLoaded()) sources.files[name] = buffer->getBuffer().str();
  }
}

} // namespace

struct Unit::Impl {
  std::unique_ptr<ParsedSide> sides[2];
  ParsedSide &of(Side side) { return *sides[side == Side::Host]; }
};

Unit::Unit() : impl(std::make_unique<Impl>()) {}
Unit::~Unit() = default;

Result<std::unique_ptr<Unit>> Unit::parse(const SourceSet &sources, const FrontEndOptions &options) {
  std::unique_ptr<Unit> unit(new Unit);
  unit->set = sources;
  unit->frontEnd = options;
  for (Side side : {Side::Device, Side::Host}) {
    auto parsed = parseSide(sources, side, options);
    if (!parsed) return parsed.error();
    unit->impl->sides[side == Side::Host] = std::move(*parsed);
    adoptHeaders(unit->manager(side), unit->set);
  }
  return unit;
}

clang::ASTContext &Unit::ast(Side side) const { return impl->of(side).prepared.compiler->getASTContext(); }
const clang::SourceManager &Unit::manager(Side side) const { return ast(side).getSourceManager(); }

namespace {

/// Collects kernels with bodies, template instantiations instead of their patterns.
class KernelFinder : public clang::RecursiveASTVisitor<KernelFinder> {
public:
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool VisitFunctionDecl(clang::FunctionDecl *function) {
    if (function->hasAttr<clang::CUDAGlobalAttr>() && function->doesThisDeclarationHaveABody() && !function->isDependentContext())
      found.push_back(function);
    return true;
  }
  std::vector<const clang::FunctionDecl *> found;
};

} // namespace

std::vector<const clang::FunctionDecl *> Unit::kernels() const {
  KernelFinder finder;
  auto &context = ast(Side::Device);
  const auto &sources = manager(Side::Device);
  for (auto *decl : context.getTranslationUnitDecl()->noload_decls()) {
    if (decl->isFromASTFile()) continue;
    auto file = fileName(sources, sources.getFileID(sources.getExpansionLoc(decl->getLocation())));
    if (isOwnFile(set, file)) finder.TraverseDecl(decl);
  }
  std::stable_sort(finder.found.begin(), finder.found.end(), [&](auto *a, auto *b) {
    return sources.isBeforeInTranslationUnit(a->getLocation(), b->getLocation());
  });
  return finder.found;
}

Result<Unit::Place> Unit::place(clang::SourceRange range, Side side) const {
  const auto &sources = manager(side);
  if (range.isInvalid()) return refusal("the code has no place in the sources (the compiler made it)");
  auto file = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(range), sources, ast(side).getLangOpts());
  if (file.isInvalid()) return refusal("the code comes from the body of a macro, or begins and ends in different macros", where(range.getBegin(), side));
  auto [id, offset] = sources.getDecomposedLoc(file.getBegin());
  auto [endId, end] = sources.getDecomposedLoc(file.getEnd());
  std::string name = fileName(sources, id);
  if (id != endId || end < offset) return refusal("the code begins and ends in different files", where(range.getBegin(), side));
  if (!isOwnFile(set, name)) return refusal("the file may not be rewritten", where(range.getBegin(), side), "name its folder under rewrite_roots");
  return Place{name, offset, end - offset, sources.getLineNumber(id, offset), sources.getColumnNumber(id, offset)};
}

std::string Unit::where(clang::SourceLocation location, Side side) const {
  const auto &sources = manager(side);
  if (location.isInvalid()) return "?";
  auto presumed = sources.getPresumedLoc(sources.getExpansionLoc(location));
  if (presumed.isInvalid()) return "?";
  return std::string(presumed.getFilename()) + ":" + std::to_string(presumed.getLine()) + ":" + std::to_string(presumed.getColumn());
}

std::string Unit::text(clang::SourceRange range, Side side) const {
  const auto &sources = manager(side);
  if (range.isInvalid()) return {};
  const auto &language = ast(side).getLangOpts();
  auto file = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(range), sources, language);
  if (file.isInvalid()) return {};
  return clang::Lexer::getSourceText(file, sources, language).str();
}

std::string Unit::textWith(const clang::Stmt *stmt, const std::map<const clang::Stmt *, std::string> &replacements, Side side) const {
  auto whole = place(stmt, side);
  if (!whole) return {};
  const std::string &all = set.files.count(whole->file) ? set.files.at(whole->file) : std::string();
  std::string result = all.empty() ? text(stmt, side) : all.substr(whole->offset, whole->length);
  struct Cut {
    unsigned offset, length;
    const std::string *with;
  };
  std::vector<Cut> cuts;
  for (const auto &[inner, with] : replacements) {
    auto at = place(inner, side);
    if (!at || at->file != whole->file || at->offset < whole->offset || at->offset + at->length > whole->offset + whole->length) continue;
    cuts.push_back({at->offset - whole->offset, at->length, &with});
  }
  // Outer replacements win over those inside them; then from the back, so that offsets stay true.
  std::sort(cuts.begin(), cuts.end(), [](const Cut &a, const Cut &b) { return a.offset != b.offset ? a.offset < b.offset : a.length > b.length; });
  std::vector<Cut> outer;
  for (const auto &cut : cuts)
    if (outer.empty() || cut.offset >= outer.back().offset + outer.back().length) outer.push_back(cut);
  for (auto cut = outer.rbegin(); cut != outer.rend(); ++cut) result.replace(cut->offset, cut->length, *cut->with);
  return result;
}

} // namespace klineage
