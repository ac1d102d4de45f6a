#include "step/specialize.h"
#include "step/source_text.h"
#include <algorithm>

namespace klineage {
using namespace clang;

namespace {

/// Names, numbers, subscripts and calls need no parentheses around them.
bool isSimple(const std::string &text) {
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[') ++depth;
    else if (c == ')' || c == ']') --depth;
    else if (depth == 0 && !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != ':') return false;
  }
  return true;
}

std::optional<int64_t> literal(const std::string &text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) || text.size() > 9) return std::nullopt;
  return std::stoll(text);
}

std::vector<const Expr *> parts(const Expr *expr) {
  std::vector<const Expr *> found;
  if (isa<PseudoObjectExpr>(expr)) return found;
  for (const Stmt *child : expr->children())
    if (const auto *part = dyn_cast_or_null<Expr>(child)) found.push_back(part);
  return found;
}

std::string withoutBraces(std::string text, const Stmt *stmt) {
  const auto *body = dyn_cast<CompoundStmt>(stmt);
  if (!body || text.size() < 2 || text.front() != '{') return text;
  for (const Stmt *child : body->body())
    if (isa<DeclStmt>(child)) return text; // its names stay inside
  return text.substr(1, text.size() - 2);
}

} // namespace

std::string applyWithin(const Unit &unit, const Unit::Place &place, Edits edits) {
  std::string text = textAt(unit, place);
  std::sort(edits.begin(), edits.end(), [](const Edit &a, const Edit &b) { return a.offset > b.offset; });
  for (const Edit &edit : edits) text.replace(edit.offset - place.offset, edit.length, edit.replacement);
  return text;
}

Specializer::Folded Specializer::splice(const Expr *expr) {
  auto place = unit.place(expr);
  if (!place) return {false, std::nullopt, unit.text(expr)};
  Edits inner;
  bool changed = false;
  for (const Expr *part : parts(expr)) {
    Folded folded = fold(part);
    auto at = unit.place(part);
    if (!folded.changed || !at) continue;
    changed = true;
    inner.push_back({at->file, at->offset, at->length, folded.text});
  }
  if (!changed) return {false, std::nullopt, unit.text(expr)};
  return {true, std::nullopt, applyWithin(unit, *place, inner)};
}

Specializer::Folded Specializer::foldBinary(const BinaryOperator *op) {
  Folded left = fold(op->getLHS()), right = fold(op->getRHS());
  if (!left.changed && !right.changed) return {false, std::nullopt, unit.text(op)};
  auto constantOf = [&](Folded &side, const Expr *expr) {
    Expr::EvalResult result;
    if (!side.value && !side.changed && !expr->isValueDependent() && expr->EvaluateAsInt(result, unit.ast(Side::Device)))
      side.value = result.Val.getInt().getExtValue();
  };
  constantOf(left, op->getLHS());
  constantOf(right, op->getRHS());
  auto number = [](int64_t value) { return Folded{true, value, std::to_string(value)}; };
  auto kept = [](Folded side) { side.changed = true; return side; };
  if (left.value && right.value) {
    int64_t a = *left.value, b = *right.value;
    switch (op->getOpcode()) {
    case BO_Add: return number(a + b);
    case BO_Sub: if (a >= b) return number(a - b); break;
    case BO_Mul: return number(a * b);
    case BO_Div: if (b) return number(a / b); break;
    case BO_Rem: if (b) return number(a % b); break;
    case BO_And: return number(a & b);
    case BO_Shr: if (b >= 0 && b < 63) return number(a >> b); break;
    case BO_EQ: return number(a == b);
    case BO_NE: return number(a != b);
    case BO_LT: return number(a < b);
    case BO_GT: return number(a > b);
    case BO_LE: return number(a <= b);
    case BO_GE: return number(a >= b);
    default: break;
    }
  }
  switch (op->getOpcode()) {
  case BO_Add:
    if (left.value == 0) return kept(right);
    if (right.value == 0) return kept(left);
    break;
  case BO_Sub:
    if (right.value == 0) return kept(left);
    break;
  case BO_Mul:
    if (left.value == 0 || right.value == 0) return number(0);
    if (left.value == 1) return kept(right);
    if (right.value == 1) return kept(left);
    break;
  case BO_Div: case BO_Shr:
    if (left.value == 0) return number(0);
    if (right.value == (op->getOpcode() == BO_Div ? 1 : 0)) return kept(left);
    break;
  case BO_Rem:
    if (right.value == 1 || left.value == 0) return number(0);
    break;
  case BO_LAnd:
    if (left.value == 0 || right.value == 0) return number(0);
    if (left.value) return kept(right);
    if (right.value) return kept(left);
    break;
  case BO_LOr:
    if (left.value == 0) return kept(right);
    if (right.value == 0) return kept(left);
    if (left.value || right.value) return number(1);
    break;
  default: break;
  }
  if (op->getOpcode() == BO_AddAssign && right.value == 1) return {true, std::nullopt, "++" + left.text};
  return {true, std::nullopt, left.text + " " + op->getOpcodeStr().str() + " " + right.text};
}

Specializer::Folded Specializer::fold(const Expr *expr) {
  if (auto text = rule(expr)) return {true, literal(*text), *text};
  if (const auto *cast = dyn_cast<ImplicitCastExpr>(expr)) return fold(cast->getSubExpr());
  if (const auto *paren = dyn_cast<ParenExpr>(expr)) {
    Folded inner = fold(paren->getSubExpr());
    if (!inner.changed) return {false, std::nullopt, unit.text(expr)};
    if (!inner.value && !isSimple(inner.text)) inner.text = "(" + inner.text + ")";
    return inner;
  }
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr)) {
    Folded inner = fold(cast->getSubExpr());
    if (inner.changed && inner.value && cast->getType()->isIntegerType()) return inner;
    return splice(expr);
  }
  if (const auto *op = dyn_cast<BinaryOperator>(expr)) return foldBinary(op);
  if (const auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    Folded condition = fold(choice->getCond());
    if (condition.changed && condition.value) {
      Folded taken = fold(*condition.value ? choice->getTrueExpr() : choice->getFalseExpr());
      taken.changed = true;
      return taken;
    }
  }
  return splice(expr);
}

std::string Specializer::textOf(const Expr *expr) { return fold(expr).text; }

void Specializer::collectExpr(const Expr *expr, Edits &out) {
  Folded folded = fold(expr);
  if (!folded.changed) return;
  auto place = unit.place(expr);
  if (place) out.push_back({place->file, place->offset, place->length, folded.text});
  else problem = place.error();
}

std::string Specializer::rendered(const Stmt *stmt) {
  auto place = wholeStatement(unit, stmt);
  if (!place) {
    problem = place.error();
    return {};
  }
  Edits inner;
  collect(stmt, inner);
  if (inner.size() == 1 && inner[0].offset == place->offset && inner[0].length == place->length) return inner[0].replacement;
  return withoutBraces(applyWithin(unit, *place, inner), stmt);
}

void Specializer::collect(const Stmt *stmt, Edits &out) {
  if (!stmt) return;
  if (auto found = replaced.find(stmt); found != replaced.end()) {
    auto place = wholeStatement(unit, stmt);
    if (!place) {
      problem = place.error();
      return;
    }
    if (found->second.empty()) takeLine(unit, *place);
    out.push_back({place->file, place->offset, place->length, found->second});
    return;
  }
  if (const auto *op = dyn_cast<BinaryOperator>(stmt); op && op->getOpcode() == BO_Assign) { // `sum = sum;` is nothing
    Folded left = fold(op->getLHS()), right = fold(op->getRHS());
    if (auto place = wholeStatement(unit, stmt); place && right.changed && left.text == right.text) {
      takeLine(unit, *place);
      out.push_back({place->file, place->offset, place->length, ""});
      return;
    }
  }
  if (const auto *expr = dyn_cast<Expr>(stmt)) return collectExpr(expr, out);
  if (const auto *decls = dyn_cast<DeclStmt>(stmt)) {
    for (const Decl *decl : decls->decls())
      if (const auto *variable = dyn_cast<VarDecl>(decl); variable && variable->getInit()) collectExpr(variable->getInit(), out);
    return;
  }
  if (const auto *branch = dyn_cast<IfStmt>(stmt); branch && !branch->getInit() && !branch->getConditionVariable()) {
    Folded condition = fold(branch->getCond());
    if (condition.changed && condition.value) {
      const Stmt *taken = *condition.value ? branch->getThen() : branch->getElse();
      auto place = wholeStatement(unit, stmt);
      if (place) out.push_back({place->file, place->offset, place->length, taken ? rendered(taken) : ""});
      else problem = place.error();
      return;
    }
  }
  for (const Stmt *child : stmt->children()) collect(child, out);
}

Result<Edits> Specializer::edits(const Stmt *root) {
  Edits out;
  problem.reset();
  collect(root, out);
  if (problem) return *problem;
  return out;
}

} // namespace klineage
