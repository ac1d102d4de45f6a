// Guards: the conditions under which a statement runs, from the ifs around it and the early exits before it.
#include "model/lifter.h"

namespace klineage {

using namespace clang;

namespace {

bool isUnevaluated(const Expr *condition, const ASTContext &context) {
  bool value;
  return !condition->isValueDependent() && condition->EvaluateAsBooleanCondition(value, context);
}

/// Ends by leaving: the last statement is a return, continue or break.
bool alwaysLeaves(const Stmt *stmt) {
  if (!stmt) return false;
  if (isa<ReturnStmt>(stmt) || isa<ContinueStmt>(stmt) || isa<BreakStmt>(stmt)) return true;
  if (auto *block = dyn_cast<CompoundStmt>(stmt)) return !block->body_empty() && alwaysLeaves(block->body_back());
  if (auto *branch = dyn_cast<IfStmt>(stmt)) return branch->getElse() && alwaysLeaves(branch->getThen()) && alwaysLeaves(branch->getElse());
  if (auto *call = dyn_cast<CallExpr>(stmt); call && call->getDirectCallee())
    return call->getDirectCallee()->isNoReturn() || (call->getDirectCallee()->getIdentifier() && call->getDirectCallee()->getName() == "__trap");
  return false;
}

} // namespace

std::vector<Guard> localGuards(const Values &values, const Stmt *stmt) {
  std::vector<Guard> reversed;
  const ASTContext &context = values.ast();
  auto add = [&](const Expr *condition, bool negated) {
    if (!isUnevaluated(condition, context)) reversed.push_back({condition, negated});
  };
  const Stmt *child = stmt;
  for (const Stmt *up = values.parent(stmt); up; child = up, up = values.parent(up)) {
    if (auto *branch = dyn_cast<IfStmt>(up)) {
      if (child == branch->getThen()) add(branch->getCond(), false);
      else if (child == branch->getElse()) add(branch->getCond(), true);
    } else if (auto *choice = dyn_cast<ConditionalOperator>(up)) {
      if (child == choice->getTrueExpr()) add(choice->getCond(), false);
      else if (child == choice->getFalseExpr()) add(choice->getCond(), true);
    } else if (auto *op = dyn_cast<BinaryOperator>(up)) {
      if (op->isLogicalOp() && child == op->getRHS()) add(op->getLHS(), op->getOpcode() == BO_LOr);
    } else if (auto *block = dyn_cast<CompoundStmt>(up)) {
      std::vector<const Stmt *> before;
      for (const Stmt *s : block->body()) {
        if (s == child) break;
        before.push_back(s);
      }
      for (auto it = before.rbegin(); it != before.rend(); ++it)
        if (auto *branch = dyn_cast<IfStmt>(*it)) {
          if (alwaysLeaves(branch->getThen())) add(branch->getCond(), true);
          else if (alwaysLeaves(branch->getElse())) add(branch->getCond(), false);
        }
    }
  }
  return {reversed.rbegin(), reversed.rend()};
}

void compare(Values &values, const Guard &guard, const Frame *frame, std::vector<Comparison> &into) {
  const Expr *expr = bare(guard.condition);
  bool negated = guard.negated;
  if (auto *op = dyn_cast<UnaryOperator>(expr); op && op->getOpcode() == UO_LNot) return compare(values, {op->getSubExpr(), !negated}, frame, into);
  if (auto *castExpr = dyn_cast<ExplicitCastExpr>(expr)) return compare(values, {castExpr->getSubExpr(), negated}, frame, into);
  auto *op = dyn_cast<BinaryOperator>(expr);
  if (op && op->isLogicalOp()) {
    // Of a conjunction that fails, or a disjunction that holds, no side is known.
    if ((op->getOpcode() == BO_LAnd) == negated) return;
    compare(values, {op->getLHS(), negated}, frame, into);
    return compare(values, {op->getRHS(), negated}, frame, into);
  }
  auto isInteger = [](const Expr *e) { return e->getType()->isIntegralOrEnumerationType(); };
  if (op && op->isComparisonOp()) {
    if (!isInteger(op->getLHS()) || !isInteger(op->getRHS())) return;
    IndexExpr left = values.lift(op->getLHS(), frame), right = values.lift(op->getRHS(), frame);
    auto relation = negated ? BinaryOperator::negateComparisonOp(op->getOpcode()) : op->getOpcode();
    switch (relation) {
    case BO_EQ: into.push_back({Comparison::Equal, left - right}); break;
    case BO_NE: into.push_back({Comparison::NotEqual, left - right}); break;
    case BO_LT: into.push_back({Comparison::Less, left - right}); break;
    case BO_LE: into.push_back({Comparison::LessOrEqual, left - right}); break;
    case BO_GT: into.push_back({Comparison::Less, right - left}); break;
    case BO_GE: into.push_back({Comparison::LessOrEqual, right - left}); break;
    default: break;
    }
    return;
  }
  if (auto *ref = dyn_cast<DeclRefExpr>(expr); ref && ref->getType()->isBooleanType()) {
    // A named condition: `const bool inside = row < m;`.
    auto *var = dyn_cast<VarDecl>(ref->getDecl());
    if (var && var->getInit() && values.factsOf(var).changes.empty() && !values.factsOf(var).escaped && !isa<ParmVarDecl>(var))
      return compare(values, {var->getInit(), negated}, frame, into);
    return;
  }
  if (isInteger(expr)) into.push_back({negated ? Comparison::Equal : Comparison::NotEqual, values.lift(expr, frame)});
}

} // namespace klineage
