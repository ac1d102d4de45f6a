#include "step/site_building.h"
#include <algorithm>

namespace klineage {

Result<Locus> SiteList::locus(std::string kind, std::string label, clang::SourceRange range) const {
  auto place = version.unit.place(range);
  if (!place) return place.error();
  return Locus{std::move(kind), std::move(label), place->file, place->offset};
}

bool SiteList::firstAt(const Locus &locus, const std::string &what) {
  return seen.insert(locus.kind + "|" + locus.file + "|" + std::to_string(locus.offset) + "|" + what).second;
}

void SiteList::decline(std::string reason, clang::SourceLocation where, std::string text) {
  std::string place = version.unit.where(where);
  if (seen.insert("decline|" + reason + "|" + place).second) detection.declines.push_back({std::move(reason), place, std::move(text)});
}

void SiteList::decline(const Error &error, clang::SourceLocation where) {
  decline(error.what.find("macro") != std::string::npos ? "macro" : "not_rewritable", where, error.what);
}

namespace {

class Callees : public clang::RecursiveASTVisitor<Callees> {
public:
  bool VisitCallExpr(clang::CallExpr *call) {
    if (auto *callee = call->getDirectCallee()) called.push_back(callee);
    return true;
  }
  std::vector<const clang::FunctionDecl *> called;
};

} // namespace

std::vector<const clang::FunctionDecl *> ownFunctions(const Unit &unit, const KernelModel &kernel) {
  std::vector<const clang::FunctionDecl *> all{kernel.function};
  for (size_t i = 0; i < all.size(); ++i) {
    Callees callees;
    callees.TraverseStmt(const_cast<clang::Stmt *>(all[i]->getBody()));
    for (const auto *callee : callees.called) {
      const clang::FunctionDecl *body = nullptr;
      if (!callee->hasBody(body) || std::find(all.begin(), all.end(), body) != all.end()) continue;
      const auto &manager = unit.manager(Side::Device);
      auto entry = manager.getFileEntryRefForID(manager.getFileID(manager.getExpansionLoc(body->getLocation())));
      if (entry && unit.sources().files.count(entry->getName().str())) all.push_back(body);
    }
  }
  return all;
}

clang::SourceRange expansionRange(const Unit &unit, clang::SourceRange range) {
  const auto &manager = unit.manager(Side::Device);
  if (!range.getBegin().isMacroID()) return range;
  return manager.getExpansionRange(range).getAsRange();
}

Result<Edit> replace(const Unit &unit, clang::SourceRange range, std::string with, Side side) {
  auto place = unit.place(range, side);
  if (!place) return place.error();
  return Edit{place->file, place->offset, place->length, std::move(with)};
}

std::string indentAt(const SourceSet &sources, const std::string &file, unsigned offset) {
  auto found = sources.files.find(file);
  if (found == sources.files.end()) return {};
  const std::string &text = found->second;
  size_t line = text.rfind('\n', offset == 0 ? 0 : offset - 1);
  line = line == std::string::npos ? 0 : line + 1;
  size_t end = text.find_first_not_of(" \t", line);
  return end == std::string::npos ? std::string() : text.substr(line, end - line);
}

} // namespace klineage
