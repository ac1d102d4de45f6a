#include "step/text_order.h"
#include <algorithm>

namespace klineage {
using namespace clang;

void TextOrder::note(const Stmt *stmt) {
  auto mark = [&](const Expr *expr) { passing.insert(expr->IgnoreParenImpCasts()); };
  if (const auto *call = dyn_cast<CallExpr>(stmt))
    for (const Expr *argument : call->arguments()) mark(argument);
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(stmt)) mark(subscript->getBase());
  const auto *expr = dyn_cast<Expr>(stmt);
  if (!expr || passing.count(expr)) return;
  const auto *address = dyn_cast<UnaryOperator>(expr);
  if (address && address->getOpcode() != UO_AddrOf) address = nullptr;
  if (!address && !(expr->isGLValue() && expr->getType()->isArrayType())) return;
  if (address) expr = address->getSubExpr()->IgnoreParens();
  for (;;) {
    if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) expr = subscript->getBase()->IgnoreParenImpCasts();
    else if (const auto *member = dyn_cast<MemberExpr>(expr); member && !member->isArrow()) expr = member->getBase()->IgnoreParenImpCasts();
    else break;
  }
  if (const auto *ref = dyn_cast<DeclRefExpr>(expr); ref && !ref->getDecl()->hasAttr<CUDASharedAttr>()) kept.insert(ref->getDecl());
}

void TextOrder::visit(const Stmt *stmt) {
  if (!stmt) return;
  unsigned first = next++;
  note(stmt);
  if (isa<ForStmt, WhileStmt, DoStmt>(stmt)) loops.push_back(stmt);
  if (const auto *decls = dyn_cast<DeclStmt>(stmt))
    for (const Decl *decl : decls->decls()) declared[decl] = first;
  if (const auto *cast = dyn_cast<CastExpr>(stmt); cast && cast->getCastKind() == CK_LValueToRValue) onlyRead.insert(cast->getSubExpr()->IgnoreParens());
  if (const auto *ref = dyn_cast<DeclRefExpr>(stmt)) {
    references.push_back({ref, first});
    if (!onlyRead.count(ref)) changes.push_back({ref, first});
  }
  if (const auto *assign = dyn_cast<BinaryOperator>(stmt); assign && assign->getOpcode() == BO_Assign) {
    const Expr *target = assign->getLHS()->IgnoreParens();
    while (const auto *subscript = dyn_cast<ArraySubscriptExpr>(target)) target = subscript->getBase()->IgnoreParenImpCasts();
    stores.insert(target);
  }
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(stmt)) {
    Expr::EvalResult index;
    const Expr *base = subscript->getBase()->IgnoreParenImpCasts();
    if (isa<DeclRefExpr>(base) && !subscript->getIdx()->isValueDependent() &&
        subscript->getIdx()->EvaluateAsInt(index, cast<DeclRefExpr>(base)->getDecl()->getASTContext()))
      constantSubscript[base] = index.Val.getInt().getExtValue();
  }
  if (const auto *pseudo = dyn_cast<PseudoObjectExpr>(stmt)) visit(pseudo->getSyntacticForm());
  else
    for (const Stmt *child : stmt->children()) visit(child);
  spans[stmt] = {first, next};
}

bool TextOrder::changedIn(const ValueDecl *variable, unsigned first, unsigned last) const {
  return std::any_of(changes.begin(), changes.end(), [&](const auto &change) {
    return change.first->getDecl() == variable && change.second >= first && change.second < last;
  });
}

bool TextOrder::changedBefore(const ValueDecl *variable, unsigned place) const {
  auto found = declared.find(variable);
  unsigned declaration = found == declared.end() ? 0 : found->second;
  if (changedIn(variable, 0, place)) return true;
  for (const Stmt *loop : loops) { // a round before may have changed it after the place
    const Stmt *round = isa<ForStmt>(loop) ? cast<ForStmt>(loop)->getBody() : isa<WhileStmt>(loop) ? cast<WhileStmt>(loop)->getBody() : cast<DoStmt>(loop)->getBody();
    Span span = spans.at(loop), body = spans.at(round);
    bool anew = declaration && body.first <= declaration && declaration < body.last;
    if (span.first < place && place < span.last && !anew && changedIn(variable, span.first, span.last)) return true;
  }
  return false;
}

} // namespace klineage
