#include "step/source_text.h"
#include <algorithm>
#include <cctype>

namespace klineage {
using namespace clang;

namespace {

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool containsWord(const std::string &text, const std::string &word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    bool before = at > 0 && isWordCharacter(text[at - 1]);
    bool after = at + word.size() < text.size() && isWordCharacter(text[at + word.size()]);
    if (!before && !after) return true;
  }
  return false;
}

/// Where the text continues after spaces and comments.
size_t skipBlank(const std::string &text, size_t at) {
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) ++at;
    else if (text.compare(at, 2, "//") == 0) at = std::min(text.find('\n', at), text.size());
    else if (text.compare(at, 2, "/*") == 0) at = std::min(text.find("*/", at) + 2, text.size());
    else break;
  }
  return at;
}

} // namespace

Result<Unit::Place> wholeStatement(const Unit &unit, const Stmt *statement) {
  const Stmt *inner = statement;
  while (const auto *attributed = dyn_cast<AttributedStmt>(inner)) inner = attributed->getSubStmt();
  auto place = unit.place(inner);
  if (!place) return place;
  const std::string &text = unit.sources().files.at(place->file);
  size_t end = place->offset + place->length;
  if (end == 0 || (text[end - 1] != ';' && text[end - 1] != '}')) {
    size_t semicolon = skipBlank(text, end);
    if (semicolon < text.size() && text[semicolon] == ';') end = semicolon + 1;
  }
  size_t begin = place->offset;
  if (inner != statement) {
    size_t pragma = text.rfind("#pragma", begin);
    if (pragma != std::string::npos && pragma < begin) begin = pragma;
  }
  place->offset = unsigned(begin);
  place->length = unsigned(end - begin);
  return place;
}

Result<Unit::Place> wholeStatements(const Unit &unit, const Stmt *first, const Stmt *last) {
  auto begin = wholeStatement(unit, first), end = wholeStatement(unit, last);
  if (!begin) return begin;
  if (!end) return end;
  if (begin->file != end->file) return refusal("the statements stand in different files", unit.where(first->getBeginLoc()));
  begin->length = end->offset + end->length - begin->offset;
  return begin;
}

void takeLine(const Unit &unit, Unit::Place &place) {
  const std::string &text = unit.sources().files.at(place.file);
  size_t begin = place.offset, end = place.offset + place.length;
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
  if (begin > 0 && text[begin - 1] == '\n' && end < text.size() && text[end] == '\n') {
    place.length = unsigned(end + 1 - begin);
    place.offset = unsigned(begin);
  }
}

std::string textAt(const Unit &unit, const Unit::Place &place) {
  return unit.sources().files.at(place.file).substr(place.offset, place.length);
}

std::string freshName(const Unit &unit, const std::string &base, std::set<std::string> &taken) {
  for (int attempt = 1;; ++attempt) {
    std::string name = attempt == 1 ? base : base + std::to_string(attempt);
    bool used = taken.count(name) != 0;
    for (const auto &[file, text] : unit.sources().files) used = used || containsWord(text, name);
    if (used) continue;
    taken.insert(name);
    return name;
  }
}

std::vector<const DeclRefExpr *> referencesTo(const Stmt *root, const ValueDecl *decl) {
  std::vector<const DeclRefExpr *> found;
  std::function<void(const Stmt *)> visit = [&](const Stmt *stmt) {
    if (!stmt) return;
    if (const auto *ref = dyn_cast<DeclRefExpr>(stmt); ref && ref->getDecl() == decl) found.push_back(ref);
    if (const auto *pseudo = dyn_cast<PseudoObjectExpr>(stmt)) return visit(pseudo->getSyntacticForm());
    for (const Stmt *child : stmt->children()) visit(child);
  };
  visit(root);
  return found;
}

Result<Edit> removeFunction(const Unit &unit, const FunctionDecl *function) {
  SourceRange range = function->getSourceRange();
  const FunctionDecl *pattern = function->getTemplateInstantiationPattern();
  const FunctionTemplateDecl *tmpl = pattern ? pattern->getDescribedFunctionTemplate() : function->getDescribedFunctionTemplate();
  if (tmpl) range = tmpl->getSourceRange();
  auto body = unit.place(function->getBody());
  if (!body) return body.error();
  const std::string &text = unit.sources().files.at(body->file);
  // A definition may begin with a macro such as __device__, so its range has no plain place: take the line where it begins.
  const SourceManager &manager = unit.manager(Side::Device);
  auto [file, offset] = manager.getDecomposedLoc(manager.getExpansionLoc(range.getBegin()));
  size_t begin = std::min<size_t>(offset, body->offset);
  size_t lineStart = text.rfind('\n', begin ? begin - 1 : 0);
  lineStart = lineStart == std::string::npos ? 0 : lineStart + 1;
  if (text.find_first_not_of(" \t", lineStart) >= begin || text.compare(lineStart, 6, "static") == 0) begin = lineStart;
  while (begin > 1) { // comment lines directly above
    size_t previous = text.rfind('\n', begin - 2);
    previous = previous == std::string::npos ? 0 : previous + 1;
    size_t word = text.find_first_not_of(" \t", previous);
    if (word >= begin || text.compare(word, 2, "//") != 0) break;
    begin = previous;
  }
  return Edit{body->file, unsigned(begin), unsigned(body->offset + body->length - begin), ""};
}

} // namespace klineage
