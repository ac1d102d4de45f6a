// loop: off by one in where a counted loop begins, ends, and how far it strides.
//
//   loop_bound_more   i < n   ->  i <= n             loop_bound_less   i < n   ->  i < (n) - 1
//   loop_start_more   i = 0   ->  i = (0) + 1        loop_stride_more  i += s  ->  i += (s) + 1
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

void strides(const Body &body, Planter &planter, const Expr *step) {
  if (auto *op = llvm::dyn_cast<CompoundAssignOperator>(step))
    planter.replace(body, "loop_stride_more", op->getRHS(), "(" + body.text(op->getRHS()) + ") + 1");
  if (auto *op = llvm::dyn_cast<UnaryOperator>(step); op && op->isIncrementDecrementOp())
    planter.replace(body, "loop_stride_more", op, body.text(op->getSubExpr()) + (op->isIncrementOp() ? " += 2" : " -= 2"));
}

void find(const Body &body, Planter &planter) {
  body.each<ForStmt>([&](const ForStmt *loop) {
    if (auto *condition = loop->getCond() ? llvm::dyn_cast<BinaryOperator>(bare(loop->getCond())) : nullptr)
      if (auto wider = widened(condition->getOpcode())) {
        bool narrows = condition->getOpcode() == BO_LE || condition->getOpcode() == BO_GE, down = condition->getOpcode() == BO_GT || condition->getOpcode() == BO_GE;
        planter.plant(body, narrows ? "loop_bound_less" : "loop_bound_more", condition->getSourceRange(), {{tokenOf(condition), *wider}});
        if (!narrows)
          planter.plant(body, "loop_bound_less", condition->getSourceRange(),
                        {{condition->getRHS()->getSourceRange(), "(" + body.text(condition->getRHS()) + (down ? ") + 1" : ") - 1")}});
      }
    if (auto *decl = llvm::dyn_cast_or_null<DeclStmt>(loop->getInit()); decl && decl->isSingleDecl())
      if (auto *variable = llvm::dyn_cast<VarDecl>(decl->getSingleDecl()); variable && variable->getInit() && variable->getType()->isIntegerType())
        planter.replace(body, "loop_start_more", variable->getInit(), "(" + body.text(variable->getInit()) + ") + 1");
    if (loop->getInc()) strides(body, planter, bare(loop->getInc()));
  });
}

} // namespace

extern const Operator loop = {"off by one in a loop's start, bound or stride", find, nullptr};

} // namespace klineage::mutate
