#include "step/text_order.h"

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
  if (const auto *ref = dyn_cast<DeclRefExpr>(stmt)) references.push_back({ref, first});
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

} // namespace klineage
