#include "step/guarded_row.h"
#include "step/one_thread_a_row.h"
#include "step/statements.h"

namespace klineage {
using namespace clang;

namespace {

bool mentionsAnyIndex(const Stmt *stmt) {
  for (const char *name : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
    if (mentionsBuiltin(stmt, name)) return true;
  return false;
}

bool findRow(const KernelModel &kernel, const CompoundStmt *body, GuardedRow &found) {
  IndexExpr wanted = IndexExpr::of(blockIdx(0)) * IndexExpr::of(blockDim(0)) + IndexExpr::of(threadIdx(0)), fixed = wanted;
  if (auto size = blockShapeOf(kernel); size.known) fixed = wanted.substitute(blockDim(0), IndexExpr(size.extent[0]));
  for (const Stmt *stmt : body->body()) {
    if (!mentionsAnyIndex(stmt)) continue;
    const auto *decls = dyn_cast<DeclStmt>(stmt);
    const auto *variable = decls && decls->isSingleDecl() ? dyn_cast<VarDecl>(decls->getSingleDecl()) : nullptr;
    if (found.row || !variable || !variable->getInit() || !variable->getType()->isIntegerType()) return false;
    found.value = kernel.lift(variable->getInit());
    if (!(found.value == wanted || found.value == fixed)) return false;
    found.row = variable;
    found.declaration = decls;
  }
  bool written = false;
  forEach(body, [&](const Stmt *stmt) {
    if (const Expr *target = assignedBy(stmt)) written = written || variableNamedBy(target) == found.row;
  });
  return found.row && !written;
}

/// `row < count`, either way round; `inside` says whether the condition holds inside the bound or outside.
bool bounds(GuardedRow &found, const Expr *condition, bool inside) {
  const auto *op = dyn_cast<BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!op || !op->isRelationalOp()) return false;
  bool rowLeft = variableNamedBy(op->getLHS()) == found.row;
  const VarDecl *bound = variableNamedBy(rowLeft ? op->getRHS() : op->getLHS());
  if (!rowLeft && variableNamedBy(op->getRHS()) != found.row) return false;
  BinaryOperatorKind kind = rowLeft ? op->getOpcode() : BinaryOperator::reverseComparisonOp(op->getOpcode());
  const auto *parameter = dyn_cast_or_null<ParmVarDecl>(bound);
  if (!parameter || kind != (inside ? BO_LT : BO_GE)) return false;
  found.count = parameter->getFunctionScopeIndex();
  return true;
}

void findGuard(const CompoundStmt *body, GuardedRow &found) {
  for (const Stmt *stmt : body->body()) {
    const auto *branch = dyn_cast<IfStmt>(stmt);
    if (!found.guard && branch && !branch->getElse()) {
      const Stmt *then = branch->getThen();
      if (const auto *one = dyn_cast<CompoundStmt>(then); one && one->size() == 1) then = one->body_front();
      if (isa<ReturnStmt>(then) && bounds(found, branch->getCond(), false)) {
        found.guard = branch;
        continue;
      }
      if (const auto *inner = dyn_cast<CompoundStmt>(branch->getThen()); inner && bounds(found, branch->getCond(), true)) {
        found.guard = branch;
        found.statements.assign(inner->body_begin(), inner->body_end());
        return;
      }
    }
    if (stmt != found.declaration) found.statements.push_back(stmt);
  }
}

} // namespace

std::optional<GuardedRow> guardedRowOf(const KernelModel &kernel) {
  const auto *body = dyn_cast<CompoundStmt>(kernel.function->getBody());
  GuardedRow found;
  if (!body || !findRow(kernel, body, found)) return std::nullopt;
  findGuard(body, found);
  return found;
}

std::optional<std::vector<const Stmt *>> loneThreadOf(const KernelModel &kernel) {
  const auto *body = dyn_cast<CompoundStmt>(kernel.function->getBody());
  BlockShape shape = blockShapeOf(kernel);
  if (!body || !shape.known || shape.size() != 1 || mentionsBuiltin(body, "threadIdx") || mentionsBuiltin(body, "blockDim") || mentionsBuiltin(body, "gridDim")) return std::nullopt;
  return std::vector<const Stmt *>(body->body_begin(), body->body_end());
}

const VarDecl *variableNamedBy(const Expr *expr) {
  const auto *ref = dyn_cast<DeclRefExpr>(expr->IgnoreParenImpCasts());
  return ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
}

const Expr *assignedBy(const Stmt *stmt) {
  if (const auto *op = dyn_cast<BinaryOperator>(stmt); op && op->isAssignmentOp()) return op->getLHS();
  if (const auto *op = dyn_cast<UnaryOperator>(stmt); op && op->isIncrementDecrementOp()) return op->getSubExpr();
  return nullptr;
}

} // namespace klineage
