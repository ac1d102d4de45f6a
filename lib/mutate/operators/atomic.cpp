// atomic: an update that other threads can come between.
//
//   atomic_to_plain   atomicAdd(&bins[b], 1)   ->  bins[b] += 1,   also max, min, and, or, xor, exchange; where the old value is not used
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

/// The plain form, or nothing for updates that have none.
std::string plainForm(llvm::StringRef callee, const std::string &target, const std::string &value) {
  if (callee == "atomicExch") return target + " = " + value;
  if (callee == "atomicMax" || callee == "atomicMin") return "if ((" + value + ") " + (callee == "atomicMax" ? ">" : "<") + " " + target + ") " + target + " = " + value;
  const char *op = callee == "atomicAdd" ? "+=" : callee == "atomicSub" ? "-=" : callee == "atomicAnd" ? "&=" : callee == "atomicOr" ? "|=" : callee == "atomicXor" ? "^=" : nullptr;
  return op ? target + " " + op + " " + value : std::string();
}

void find(const Body &body, Planter &planter) {
  body.each<CallExpr>([&](const CallExpr *call) {
    if (call->getNumArgs() != 2 || !call->getArg(0)->getType()->isPointerType() || !isWholeStatement(body, call)) return;
    std::string plain = plainForm(calleeName(call), "*(" + body.text(call->getArg(0)) + ")", body.text(call->getArg(1)));
    if (!plain.empty()) planter.replace(body, "atomic_to_plain", call, plain, {"race", "wrong_value", "nondeterministic"});
  });
}

} // namespace

extern const Operator atomic = {"an atomic update becomes a plain one", find, nullptr};

} // namespace klineage::mutate
