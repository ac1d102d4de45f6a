// launch: the launcher asks for too little, or hands the wrong buffer over.
//
//   division_floored   (n + 127) / 128            ->  (n) / 128: the last, partial block is left out
//   shared_bytes_less  k<<<grid, block, bytes>>>  ->  k<<<grid, block, (bytes) - 4>>>
//   buffer_aliased     k<<<..>>>(x, y, n)         ->  k<<<..>>>(y, y, n): an input is the output's buffer
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

/// `(n + c - 1) / c` and `(n + 127) / 128`: a division whose dividend is a sum with its divisor less one.
const Expr *roundedUp(const Body &body, const BinaryOperator *division) {
  auto divisor = constantOf(body, division->getRHS());
  if (division->getOpcode() != BO_Div || !division->getType()->isIntegerType() || !divisor) return nullptr;
  const Expr *dividend = bare(division->getLHS());
  double added = 0;
  while (auto *sum = llvm::dyn_cast<BinaryOperator>(dividend)) {
    auto constant = constantOf(body, sum->getRHS());
    if (!sum->isAdditiveOp() || !constant) break;
    added += sum->getOpcode() == BO_Add ? *constant : -*constant;
    dividend = bare(sum->getLHS());
  }
  return added == *divisor - 1 && added > 0 ? dividend : nullptr;
}

void aliases(const Body &body, Planter &planter, const CallExpr *launch) {
  auto pointee = [](const Expr *argument) { return argument->getType()->isPointerType() ? argument->getType()->getPointeeType() : QualType(); };
  for (const Expr *from : launch->arguments()) {
    if (pointee(from).isNull()) continue;
    const FunctionDecl *kernel = launch->getDirectCallee();
    for (unsigned i = 0; kernel && i < std::min(launch->getNumArgs(), kernel->getNumParams()); ++i) {
      const Expr *to = launch->getArg(i);
      QualType taken = kernel->getParamDecl(i)->getType();
      bool isInput = taken->isPointerType() && taken->getPointeeType().isConstQualified();
      bool isOutput = !pointee(from).isConstQualified();
      if (!isInput || !isOutput || !body.ast().hasSameUnqualifiedType(taken->getPointeeType(), pointee(from)) || variableOf(to) == variableOf(from)) continue;
      planter.plant(body, "buffer_aliased", to->getSourceRange(), {{to->getSourceRange(), body.text(from)}});
    }
  }
}

void find(const Body &body, Planter &planter) {
  body.each<BinaryOperator>([&](const BinaryOperator *division) {
    if (const Expr *all = roundedUp(body, division)) planter.replace(body, "division_floored", division->getLHS(), "(" + body.text(all) + ")");
  });
  body.each<CUDAKernelCallExpr>([&](const CUDAKernelCallExpr *launch) {
    aliases(body, planter, launch);
    const CallExpr *shape = launch->getConfig();
    if (shape && shape->getNumArgs() > 2 && !llvm::isa<CXXDefaultArgExpr>(shape->getArg(2)))
      if (auto bytes = constantOf(body, shape->getArg(2)); !bytes || *bytes > 0)
        planter.replace(body, "shared_bytes_less", shape->getArg(2), "(" + body.text(shape->getArg(2)) + ") - 4");
  });
}

} // namespace

extern const Operator launch = {"a launch of too few blocks or bytes, or of the wrong buffer", nullptr, find};

} // namespace klineage::mutate
