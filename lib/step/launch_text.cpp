#include "step/launch_text.h"
#include "step/source_text.h"
#include <algorithm>

namespace klineage {

using namespace clang;

namespace {

const Expr *stripped(const Expr *expr) {
  for (;;) {
    if (const auto *cast = dyn_cast<CastExpr>(expr)) { expr = cast->getSubExpr(); continue; }
    if (const auto *cleanups = dyn_cast<ExprWithCleanups>(expr)) { expr = cleanups->getSubExpr(); continue; }
    if (const auto *temporary = dyn_cast<MaterializeTemporaryExpr>(expr)) { expr = temporary->getSubExpr(); continue; }
    if (const auto *paren = dyn_cast<ParenExpr>(expr)) { expr = paren->getSubExpr(); continue; }
    if (const auto *made = dyn_cast<CXXConstructExpr>(expr); made && made->getNumArgs() == 1 && made->getArg(0)->getType()->isRecordType()) { expr = made->getArg(0); continue; }
    return expr;
  }
}

/// The written arguments of a dim3, or the number that becomes one.
std::vector<const Expr *> extentsOf(const Expr *expr) {
  std::vector<const Expr *> found;
  if (const auto *made = dyn_cast<CXXConstructExpr>(expr)) {
    for (const Expr *argument : made->arguments())
      if (!isa<CXXDefaultArgExpr>(argument)) found.push_back(argument);
  } else if (const auto *list = dyn_cast<InitListExpr>(expr)) {
    for (const Expr *argument : list->inits())
      if (!isa<CXXDefaultInitExpr>(argument) && !isa<ImplicitValueInitExpr>(argument)) found.push_back(argument);
  } else if (expr->getType()->isIntegerType()) {
    found.push_back(expr);
  }
  return found;
}

} // namespace

std::string factorText(const std::string &text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '(' || c == '[') ++depth;
    else if (c == ')' || c == ']') --depth;
    else if (depth == 0 && !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != ':') return "(" + text + ")";
    if (depth == 0 && c == ')' && text[0] == '(' && i + 1 < text.size()) return "(" + text + ")";
  }
  return text;
}

Result<LaunchShape> launchShape(const Unit &unit, const Launch &launch, const Expr *shape) {
  LaunchShape result;
  const Expr *value = stripped(shape);
  std::string where = unit.where(launch.call->getBeginLoc(), Side::Host);
  if (const auto *ref = dyn_cast<DeclRefExpr>(value); ref && ref->getType()->isRecordType()) {
    const auto *variable = dyn_cast<VarDecl>(ref->getDecl());
    if (!variable || !variable->isLocalVarDecl() || !variable->getInit()) return refusal("the shape of the launch is made elsewhere", where);
    if (!launch.launcher || referencesTo(launch.launcher->getBody(), variable).size() != 1) return refusal("the shape of the launch is used for more than this launch", where);
    value = stripped(variable->getInit());
    result.declaration = true;
  }
  auto extents = extentsOf(value);
  if (extents.empty() || extents.size() > 3) return refusal("the shape of the launch is not written as numbers", where);
  result.written = extents.size();
  for (size_t i = 0; i < extents.size(); ++i) {
    result.extent[i] = unit.text(extents[i]->getSourceRange(), Side::Host);
    if (result.extent[i].empty()) return refusal("the shape of the launch comes from a macro", where);
  }
  auto first = unit.place(extents.front(), Side::Host), last = unit.place(extents.back(), Side::Host);
  auto whole = unit.place(shape, Side::Host);
  if (!first) return first.error();
  if (!last) return last.error();
  if (!whole) return whole.error();
  result.place = *first;
  result.place.length = last->offset + last->length - first->offset;
  if (!result.declaration) result.place = *whole;
  return result;
}

Edit withExtents(const LaunchShape &shape, const std::array<std::string, 3> &extent) {
  unsigned count = extent[2] != "1" ? 3 : extent[1] != "1" ? 2 : 1;
  std::string text = extent[0];
  for (unsigned i = 1; i < count; ++i) text += ", " + extent[i];
  if (!shape.declaration && count > 1) text = "dim3(" + text + ")";
  return Edit{shape.place.file, shape.place.offset, shape.place.length, text};
}

} // namespace klineage
