#include "step/iteration_order.h"
#include "step/settled.h"
#include <algorithm>

namespace klineage {
namespace {
using namespace clang;

const Expr *bare(const Expr *expr) { return expr->IgnoreParenImpCasts(); }

const ValueDecl *variableOf(const Expr *expr) {
  const auto *ref = dyn_cast<DeclRefExpr>(bare(expr));
  return ref ? ref->getDecl() : nullptr;
}

/// One assignment to a variable or a part of one: its target, the operator of a compound one, the value.
struct Update {
  const ValueDecl *target = nullptr;
  BinaryOperatorKind op = BO_Assign;
  const Expr *value = nullptr;
};

class BodyReader : public RecursiveASTVisitor<BodyReader> {
public:
  bool VisitBinaryOperator(BinaryOperator *op) {
    if (!op->isAssignmentOp()) return true;
    if (const auto *target = localBehind(op->getLHS())) updates.push_back({target, op->getOpcode(), op->getRHS()});
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) {
    if (op->isIncrementDecrementOp())
      if (const auto *target = localBehind(op->getSubExpr())) updates.push_back({target, op->getOpcode() == UO_PreInc || op->getOpcode() == UO_PostInc ? BO_AddAssign : BO_SubAssign, nullptr});
    return true;
  }
  bool VisitVarDecl(VarDecl *variable) {
    inner.insert(variable);
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *ref) {
    references.push_back(ref);
    return true;
  }
  std::vector<Update> updates;
  std::set<const ValueDecl *> inner;
  std::vector<const DeclRefExpr *> references;
};

class Mentions : public RecursiveASTVisitor<Mentions> {
public:
  Mentions(const std::set<const ValueDecl *> &wanted, const std::map<const ValueDecl *, const Expr *> &temporaries) : wanted(wanted), temporaries(temporaries) {}
  bool VisitDeclRefExpr(DeclRefExpr *ref) {
    if (wanted.count(ref->getDecl())) found.insert(ref->getDecl());
    // A temporary of the same iteration stands for its value.
    if (auto value = temporaries.find(ref->getDecl()); value != temporaries.end() && seen.insert(ref->getDecl()).second) TraverseStmt(const_cast<Expr *>(value->second));
    return true;
  }
  std::set<const ValueDecl *> found;

private:
  const std::set<const ValueDecl *> &wanted;
  const std::map<const ValueDecl *, const Expr *> &temporaries;
  std::set<const ValueDecl *> seen;
};

class Classifier {
public:
  Classifier(std::set<const ValueDecl *> carried, std::map<const ValueDecl *, const Expr *> temporaries) : carried(std::move(carried)), temporaries(std::move(temporaries)) {}

  std::set<const ValueDecl *> mentioned(const Expr *expr) const {
    Mentions mentions(carried, temporaries);
    mentions.TraverseStmt(const_cast<Expr *>(expr));
    return mentions.found;
  }

  /// `update` with temporaries followed: acc = max(acc, e) also through `const float m = max(acc, e); acc = m`.
  const Expr *resolved(const Expr *expr) const {
    expr = bare(expr);
    for (int depth = 0; depth < 8; ++depth) {
      auto value = temporaries.find(variableOf(expr));
      if (value == temporaries.end()) break;
      expr = bare(value->second);
    }
    return expr;
  }

  bool isExtremum(const Update &update) const {
    if (update.op != BO_Assign || !update.value) return false;
    const Expr *value = resolved(update.value);
    if (const auto *call = dyn_cast<CallExpr>(value)) {
      const auto *callee = call->getDirectCallee();
      if (!callee || call->getNumArgs() != 2 || !callee->getIdentifier()) return false;
      llvm::StringRef name = callee->getName();
      if (!name.contains("max") && !name.contains("min")) return false;
      return oneIsSelf(update.target, call->getArg(0), call->getArg(1));
    }
    if (const auto *choice = dyn_cast<ConditionalOperator>(value)) // a > b ? a : b
      if (const auto *compare = dyn_cast<BinaryOperator>(bare(choice->getCond())); compare && compare->isRelationalOp())
        return oneIsSelf(update.target, choice->getTrueExpr(), choice->getFalseExpr());
    return false;
  }

  bool isReduction(const Update &update) const {
    switch (update.op) {
    case BO_AddAssign:
    case BO_SubAssign:
    case BO_MulAssign:
    case BO_AndAssign:
    case BO_OrAssign:
    case BO_XorAssign: return !update.value || mentioned(update.value).empty();
    case BO_Assign: break;
    default: return false;
    }
    if (isExtremum(update)) return true;
    const Expr *value = resolved(update.value);
    if (const auto *op = dyn_cast<BinaryOperator>(value); op && (op->getOpcode() == BO_Add || op->getOpcode() == BO_Mul || op->getOpcode() == BO_And || op->getOpcode() == BO_Or || op->getOpcode() == BO_Xor))
      if (op->getOpcode() != BO_Add) return oneIsSelf(update.target, op->getLHS(), op->getRHS());
    if (const auto *call = dyn_cast<CallExpr>(value)) // fmaf(a, b, acc)
      if (const auto *callee = call->getDirectCallee(); callee && callee->getIdentifier() && callee->getName().contains("fma") && call->getNumArgs() == 3)
        return variableOf(call->getArg(2)) == update.target && mentioned(call->getArg(0)).empty() && mentioned(call->getArg(1)).empty();
    return isSumWithSelf(update.target, value, /*rescaled=*/false);
  }

  /// acc = acc * f(maximum) + g: the sum is kept relative to a running extremum.
  bool isRescaledSum(const Update &update) const { return update.op == BO_Assign && update.value && isSumWithSelf(update.target, resolved(update.value), /*rescaled=*/true); }

private:
  bool oneIsSelf(const ValueDecl *self, const Expr *a, const Expr *b) const {
    if (variableOf(a) == self) return mentioned(b).empty();
    if (variableOf(b) == self) return mentioned(a).empty();
    return false;
  }

  void terms(const Expr *expr, std::vector<const Expr *> &into) const {
    expr = bare(expr);
    if (const auto *op = dyn_cast<BinaryOperator>(expr); op && op->getOpcode() == BO_Add) {
      terms(op->getLHS(), into);
      terms(op->getRHS(), into);
    } else {
      into.push_back(expr);
    }
  }

  bool isSumWithSelf(const ValueDecl *self, const Expr *value, bool rescaled) const {
    std::vector<const Expr *> all;
    terms(value, all);
    int own = 0;
    for (const auto *term : all) {
      auto in = mentioned(term);
      if (!in.count(self)) {
        if (!rescaled && !in.empty()) return false;
        continue;
      }
      ++own;
      if (variableOf(term) == self) continue;
      const auto *product = dyn_cast<BinaryOperator>(term);
      if (!rescaled || !product || product->getOpcode() != BO_Mul) return false;
      const Expr *factor = variableOf(product->getLHS()) == self ? product->getRHS() : variableOf(product->getRHS()) == self ? product->getLHS() : nullptr;
      if (!factor || mentioned(factor).count(self)) return false;
    }
    return own == 1;
  }

  std::set<const ValueDecl *> carried;
  std::map<const ValueDecl *, const Expr *> temporaries;
};

} // namespace

IterationOrder iterationOrder(const KernelModel &kernel, const Loop &loop) {
  IterationOrder order;
  if (loop.leavesEarly || loop.hasContinue) order.why = "the loop is left early or skips ahead";
  if (loop.descending) order.why = "the loop counts down";
  for (const auto &barrier : kernel.barriers)
    if (runsInside(kernel, barrier.stmt, barrier.calls, loop.stmt)) order.why = "the loop holds a barrier";
  const Stmt *body = loop.stmt->getBody();
  BodyReader reader;
  reader.TraverseStmt(const_cast<Stmt *>(body));
  std::set<const ValueDecl *> carried;
  for (const auto &update : reader.updates)
    if (!reader.inner.count(update.target)) carried.insert(update.target);
  if (carried.count(loop.variable)) order.why = "the loop's variable is changed in its body";
  if (!order.why.empty()) return order;

  AtomRef variable = loopVariable(loop.variable);
  for (const auto &access : kernel.accesses) {
    if (!isInside(kernel, access.expr, loop.stmt) || access.kind == Access::Read || access.space == Space::Local) continue;
    if (access.kind == Access::Atomic) continue;
    if (!access.exact || access.kind == Access::ReadWrite || !access.index.mentions(variable)) {
      order.carried = access.buffer ? access.buffer->getNameAsString() : "memory";
      return order;
    }
  }
  std::map<const ValueDecl *, const Expr *> temporaries;
  for (const auto *decl : reader.inner)
    if (const auto *local = dyn_cast<VarDecl>(decl); local && local->getInit()) temporaries[local] = local->getInit();
  Classifier classifier(carried, temporaries);
  bool hasExtremum = std::any_of(reader.updates.begin(), reader.updates.end(), [&](const Update &update) { return carried.count(update.target) && classifier.isExtremum(update); });
  for (const auto &update : reader.updates) {
    if (!carried.count(update.target) || classifier.isReduction(update) || (hasExtremum && classifier.isRescaledSum(update))) continue;
    order.carried = update.target->getNameAsString();
    return order;
  }
  order.free = true;
  return order;
}

bool threadsCover(const KernelModel &kernel, const Loop &loop) {
  IndexExpr begin = kernel.bound(loop.begin), step = kernel.bound(loop.step);
  auto is = [&](const IndexExpr &wantedBegin, const IndexExpr &wantedStep) { return begin == kernel.bound(wantedBegin) && step == kernel.bound(wantedStep); };
  IndexExpr thread = IndexExpr::of(threadIdx(0)), block = IndexExpr::of(blockDim(0));
  if (is(IndexExpr(0), IndexExpr(1))) return true;
  bool flat = kernel.blockSize(1).value_or(1) == 1 && kernel.blockSize(2).value_or(1) == 1;
  if (!flat) return false;
  return is(thread, block) || is(IndexExpr::of(blockIdx(0)) * block + thread, IndexExpr::of(gridDim(0)) * block);
}

} // namespace klineage
