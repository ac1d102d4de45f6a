#include "mutate/facts.h"

namespace klineage::mutate {

using namespace clang;

const Expr *bare(const Expr *expr) { return expr->IgnoreParenImpCasts(); }

llvm::StringRef calleeName(const Stmt *stmt) {
  auto *call = llvm::dyn_cast_or_null<CallExpr>(stmt);
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return callee && callee->getDeclName().isIdentifier() ? callee->getName() : llvm::StringRef();
}

namespace {
bool isOneOf(llvm::StringRef name, std::initializer_list<const char *> names) {
  return std::any_of(names.begin(), names.end(), [&](const char *known) { return name == known; });
}
} // namespace

bool isBlockBarrier(const Stmt *stmt) {
  return isOneOf(calleeName(stmt), {"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or", "__barrier_sync", "__barrier_sync_count"});
}

bool isWarpBarrier(const Stmt *stmt) { return calleeName(stmt) == "__syncwarp"; }

bool isWholeStatement(const Body &body, const Stmt *stmt) {
  const Stmt *parent = body.parent(stmt);
  if (auto *cleanup = llvm::dyn_cast_or_null<ExprWithCleanups>(parent)) parent = body.parent(cleanup);
  if (!parent) return false;
  if (llvm::isa<CompoundStmt, ForStmt, WhileStmt, IfStmt>(parent)) {
    if (auto *loop = llvm::dyn_cast<ForStmt>(parent)) return loop->getBody() == stmt;
    if (auto *loop = llvm::dyn_cast<WhileStmt>(parent)) return loop->getBody() == stmt;
    if (auto *branch = llvm::dyn_cast<IfStmt>(parent)) return branch->getThen() == stmt || branch->getElse() == stmt;
    return true;
  }
  return false;
}

bool isShared(const Decl *decl) { return decl && decl->hasAttr<CUDASharedAttr>(); }

bool touchesSharedState(const Stmt *stmt) {
  if (!stmt) return false;
  if (auto *name = llvm::dyn_cast<DeclRefExpr>(stmt); name && isShared(name->getDecl())) return true;
  if (auto *element = llvm::dyn_cast<ArraySubscriptExpr>(stmt))
    if (auto *root = rootOf(element); !root || !root->getType()->isArrayType() || isShared(root)) return true;
  if (auto *op = llvm::dyn_cast<UnaryOperator>(stmt); op && op->getOpcode() == UO_Deref) return true;
  for (const Stmt *child : stmt->children())
    if (touchesSharedState(child)) return true;
  return false;
}

const VarDecl *variableOf(const Expr *expr) {
  auto *name = llvm::dyn_cast<DeclRefExpr>(bare(expr));
  return name ? llvm::dyn_cast<VarDecl>(name->getDecl()) : nullptr;
}

const VarDecl *rootOf(const Expr *expr) {
  expr = bare(expr);
  if (auto *element = llvm::dyn_cast<ArraySubscriptExpr>(expr)) return rootOf(element->getBase());
  if (auto *member = llvm::dyn_cast<MemberExpr>(expr)) return member->isArrow() ? nullptr : rootOf(member->getBase());
  return variableOf(expr);
}

std::optional<double> constantOf(const Body &body, const Expr *expr) {
  if (!expr || expr->isValueDependent()) return std::nullopt;
  Expr::EvalResult result;
  if (!expr->EvaluateAsRValue(result, body.ast()) || result.HasSideEffects) return std::nullopt;
  if (result.Val.isInt()) return double(result.Val.getInt().getExtValue());
  if (result.Val.isFloat()) {
    llvm::APFloat value = result.Val.getFloat();
    bool lost;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return value.convertToDouble();
  }
  return std::nullopt;
}

SourceRange tokenOf(const BinaryOperator *op) { return {op->getOperatorLoc(), op->getOperatorLoc()}; }

std::optional<const char *> widened(BinaryOperatorKind kind) {
  switch (kind) {
  case BO_LT: return "<=";
  case BO_LE: return "<";
  case BO_GT: return ">=";
  case BO_GE: return ">";
  default: return std::nullopt;
  }
}

namespace {
/// Is the variable's old value part of the new one?
bool readsItself(const Expr *value, const VarDecl *variable) {
  bool reads = false;
  std::function<void(const Stmt *)> look = [&](const Stmt *stmt) {
    if (auto *name = llvm::dyn_cast<DeclRefExpr>(stmt)) reads |= name->getDecl() == variable;
    for (const Stmt *child : stmt->children())
      if (child) look(child);
  };
  look(value);
  return reads;
}
} // namespace

std::vector<Fold> foldsOf(const Body &body) {
  std::vector<Fold> folds;
  body.each<BinaryOperator>([&](const BinaryOperator *op) {
    if (!op->isAssignmentOp() || !op->getType()->isArithmeticType()) return;
    const VarDecl *variable = rootOf(op->getLHS());
    if (!variable || !variable->isLocalVarDecl() || isShared(variable) || variable->getType()->isPointerType()) return;
    bool compound = op->isCompoundAssignmentOp();
    if (!compound && !readsItself(op->getRHS(), variable)) return;
    auto *sum = llvm::dyn_cast<BinaryOperator>(bare(op->getRHS()));
    bool isSum = op->getOpcode() == BO_AddAssign || op->getOpcode() == BO_SubAssign || (!compound && sum && sum->isAdditiveOp());
    folds.push_back({variable, op->getLHS(), op, isSum});
  });
  return folds;
}

} // namespace klineage::mutate
