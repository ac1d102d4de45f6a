#include "mutate/operator.h"
#include <algorithm>
#include <filesystem>

namespace klineage {
namespace mutate {

using namespace clang;

Body::Body(const Unit &unit, Side side, const FunctionDecl *function) : unit(unit), side(side), function(function) {
  std::function<void(const Stmt *)> enter = [&](const Stmt *stmt) {
    statements.push_back(stmt);
    for (const Stmt *child : stmt->children()) {
      if (!child) continue;
      parents.emplace(child, stmt);
      enter(child);
    }
  };
  enter(function->getBody());
}

const Stmt *Body::parent(const Stmt *stmt) const {
  auto found = parents.find(stmt);
  return found == parents.end() ? nullptr : found->second;
}

namespace {

std::string oneLine(std::string text) {
  std::string line;
  for (char c : text) {
    bool space = c == '\n' || c == '\t' || c == ' ' || c == '\r';
    if (space && (line.empty() || line.back() == ' ')) continue;
    line += space ? ' ' : c;
  }
  constexpr size_t longest = 60;
  if (line.size() > longest) line = line.substr(0, longest - 3) + "...";
  return line;
}

/// Functions with bodies in the version's own files, of one side; instantiations instead of their patterns.
class Bodies : public RecursiveASTVisitor<Bodies> {
public:
  Bodies(const Unit &unit, Side side) : unit(unit), side(side) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool VisitFunctionDecl(FunctionDecl *function) {
    if (!function->doesThisDeclarationHaveABody() || function->isDependentContext()) return true;
    bool device = function->hasAttr<CUDAGlobalAttr>() || function->hasAttr<CUDADeviceAttr>();
    if (device == (side == Side::Device) && unit.place(function->getBody(), side)) found.push_back(function);
    return true;
  }
  std::vector<const FunctionDecl *> collect() {
    for (Decl *decl : unit.ast(side).getTranslationUnitDecl()->noload_decls())
      if (!decl->isFromASTFile()) TraverseDecl(decl);
    return std::move(found);
  }

private:
  const Unit &unit;
  Side side;
  std::vector<const FunctionDecl *> found;
};

} // namespace

void Planter::plant(const Body &body, const char *operation, SourceRange at, const std::vector<Cut> &cuts, std::vector<std::string> expected) {
  auto named = unit.place(at, body.side);
  if (!named) return;
  Mutant mutant;
  mutant.operation = operation;
  mutant.place = std::filesystem::path(named->file).filename().string() + ":" + std::to_string(named->line) + ":" + std::to_string(named->column);
  mutant.was = oneLine(body.text(at));
  mutant.expected = std::move(expected);
  for (const Cut &cut : cuts) {
    auto place = unit.place(cut.range, body.side);
    if (!place) return;
    mutant.edits.push_back({place->file, place->offset, cut.insert ? 0 : place->length, cut.text});
  }
  planted.push_back({{named->file, named->offset, operation}, std::move(mutant)});
}

std::vector<Mutant> Planter::take() {
  std::stable_sort(planted.begin(), planted.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Mutant> mutants;
  std::set<std::string> seen; // instantiations of one template are one text
  for (auto &[order, mutant] : planted) {
    std::string key;
    for (const Edit &edit : mutant.edits) key += edit.file + "\n" + std::to_string(edit.offset) + " " + std::to_string(edit.length) + " " + edit.replacement + "\n";
    if (seen.insert(key).second) mutants.push_back(std::move(mutant));
  }
  planted.clear();
  return mutants;
}

} // namespace mutate

Result<std::vector<Mutant>> mutantsOf(const SourceSet &sources) {
  auto unit = Unit::parse(sources);
  if (!unit) return unit.error();
  mutate::Planter planter(**unit);
  for (Side side : {Side::Device, Side::Host})
    for (const auto *function : mutate::Bodies(**unit, side).collect()) {
      mutate::Body body(**unit, side, function);
      for (const auto &registered : mutate::registeredOperators())
        if (auto *find = side == Side::Device ? registered.what->device : registered.what->host) find(body, planter);
    }
  return planter.take();
}

} // namespace klineage
