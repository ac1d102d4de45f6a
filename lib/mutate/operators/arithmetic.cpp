// arithmetic: another operation on values.
//
//   operation_swapped   a + b  ->  a - b,   a - b  ->  a + b,   a * b  ->  a + b       of floating values
//   extremum_swapped    fmaxf(a, b)  ->  fminf(a, b), and the other way
//   operand_dropped     s + a * b    ->  s + a
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

void find(const Body &body, Planter &planter) {
  body.each<BinaryOperator>([&](const BinaryOperator *op) {
    if (!op->getType()->isRealFloatingType()) return;
    const char *other = nullptr;
    switch (op->getOpcode()) {
    case BO_Add: other = "-"; break;
    case BO_Sub: other = "+"; break;
    case BO_Mul: other = "+"; break;
    case BO_AddAssign: other = "-="; break;
    case BO_SubAssign: other = "+="; break;
    default: return;
    }
    // A looser operator in place of a product: kept together.
    if (op->getOpcode() == BO_Mul) planter.replace(body, "operation_swapped", op, "(" + body.text(op->getLHS()) + " + " + body.text(op->getRHS()) + ")");
    else planter.plant(body, "operation_swapped", op->getSourceRange(), {{tokenOf(op), other}});
    if (op->getOpcode() == BO_Mul) planter.replace(body, "operand_dropped", op, body.text(op->getLHS()));
  });
  body.each<CallExpr>([&](const CallExpr *call) {
    llvm::StringRef callee = calleeName(call);
    const char *other = callee == "fmaxf" ? "fminf" : callee == "fminf" ? "fmaxf" : callee == "fmax" ? "fmin" : callee == "fmin" ? "fmax" : callee == "max" ? "min" : callee == "min" ? "max" : nullptr;
    if (other) planter.plant(body, "extremum_swapped", call->getSourceRange(), {{call->getCallee()->getSourceRange(), other}});
  });
}

} // namespace

extern const Operator arithmetic = {"another operation on values", find, nullptr};

} // namespace klineage::mutate
