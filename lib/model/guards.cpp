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
    return call->getDirectCallee()->isNoReturn() || call->getDirectCallee()->getName() == "__trap";
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

} // namespace klineage
