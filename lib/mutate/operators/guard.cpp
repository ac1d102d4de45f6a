// guard: what keeps threads from memory that is not theirs.
//
//   guard_dropped   if (i < n) y[i] = ..     ->  if (true) y[i] = ..        also one part of a conjunction, and `c ? a : b`
//   guard_widened   if (i < n)               ->  if (i <= n)
//   guard_closed    if (i < n) y[i] = ..     ->  if (false) y[i] = ..
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

void conjuncts(const Expr *condition, std::vector<const Expr *> &parts) {
  auto *both = llvm::dyn_cast<BinaryOperator>(bare(condition));
  if (!both || both->getOpcode() != BO_LAnd) return parts.push_back(bare(condition));
  conjuncts(both->getLHS(), parts);
  conjuncts(both->getRHS(), parts);
}

void atCondition(const Body &body, Planter &planter, const Expr *condition) {
  if (!condition || condition->isInstantiationDependent()) return;
  std::vector<const Expr *> parts;
  conjuncts(condition, parts);
  for (const Expr *part : parts) {
    planter.replace(body, "guard_dropped", part, "true");
    if (auto *compared = llvm::dyn_cast<BinaryOperator>(part))
      if (auto wider = widened(compared->getOpcode())) planter.plant(body, "guard_widened", compared->getSourceRange(), {{tokenOf(compared), *wider}});
  }
  planter.replace(body, "guard_closed", condition, "false");
}

void find(const Body &body, Planter &planter) {
  body.each<IfStmt>([&](const IfStmt *branch) {
    if (!branch->isConstexpr()) atCondition(body, planter, branch->getCond());
  });
  body.each<ConditionalOperator>([&](const ConditionalOperator *choice) { atCondition(body, planter, choice->getCond()); });
}

} // namespace

extern const Operator guard = {"drop, widen or close a guard", find, nullptr};

} // namespace klineage::mutate
