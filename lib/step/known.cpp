#include "step/known.h"

namespace klineage {
namespace {

using namespace clang;

bool neverNegative(const Atom &atom) {
  switch (atom.kind) {
  case Atom::ThreadIdx: case Atom::BlockIdx: case Atom::BlockDim: case Atom::GridDim: return true;
  case Atom::Quotient: case Atom::Remainder:
    for (const auto *side : {&atom.left, &atom.right})
      for (const auto &[key, term] : side->terms()) {
        if (term.second < 0) return false;
        for (const AtomRef &inner : term.first)
          if (!neverNegative(*inner)) return false;
      }
    return true;
  default: return false;
  }
}

/// Loop variables and parameters have no sign of their own: only sums of built-in indices are told from their form.
bool neverNegative(const IndexExpr &value) {
  for (const auto &[key, term] : value.terms()) {
    if (term.second < 0) return false;
    for (const AtomRef &atom : term.first)
      if (!neverNegative(*atom)) return false;
  }
  return true;
}

} // namespace

std::vector<Conjunct> conjunctsOf(const KernelModel &kernel, const Expr *condition, bool negated, const std::vector<const CallExpr *> &calls) {
  const Expr *expr = condition->IgnoreParenImpCasts();
  if (auto *op = dyn_cast<UnaryOperator>(expr); op && op->getOpcode() == UO_LNot) return conjunctsOf(kernel, op->getSubExpr(), !negated, calls);
  // A named condition (`const bool inside = ...`) stands for what it was given.
  if (auto *ref = dyn_cast<DeclRefExpr>(expr))
    if (auto *decl = dyn_cast<VarDecl>(ref->getDecl());
        decl && decl->isLocalVarDecl() && decl->getType()->isBooleanType() && decl->getType().isConstQualified() && decl->getInit()) {
      std::vector<Conjunct> parts = conjunctsOf(kernel, decl->getInit(), negated, calls);
      if (parts.size() == 1) parts[0].expr = condition, parts[0].negated = negated;
      return parts;
    }
  if (auto *op = dyn_cast<BinaryOperator>(expr)) {
    BinaryOperatorKind code = op->getOpcode();
    if (code == (negated ? BO_LOr : BO_LAnd)) {
      std::vector<Conjunct> parts = conjunctsOf(kernel, op->getLHS(), negated, calls), more = conjunctsOf(kernel, op->getRHS(), negated, calls);
      parts.insert(parts.end(), more.begin(), more.end());
      return parts;
    }
    if (op->isRelationalOp() && op->getLHS()->getType()->isIntegralOrEnumerationType()) {
      auto lift = [&](const Expr *side) { return calls.empty() ? kernel.lift(side) : kernel.lift(side, calls); };
      IndexExpr left = lift(op->getLHS()), right = lift(op->getRHS());
      if (negated) code = BinaryOperator::negateComparisonOp(code);
      IndexExpr positive = code == BO_LT ? right - left : code == BO_GT ? left - right
                         : code == BO_LE ? right - left + IndexExpr(1) : left - right + IndexExpr(1);
      return {{condition, negated, positive}};
    }
  }
  return {{condition, negated, std::nullopt}};
}

Known::Known(const KernelModel &kernel, const std::vector<Guard> &guards, const std::vector<const Loop *> &loops) {
  for (const Guard &guard : guards) assume(kernel, guard);
  for (const Loop *loop : loops) {
    IndexExpr variable = IndexExpr::of(loopVariable(loop->variable));
    assume(loop->end - variable);
    assume(variable - loop->begin + IndexExpr(1));
  }
}

void Known::assume(const KernelModel &kernel, const Guard &guard) {
  for (const Conjunct &part : conjunctsOf(kernel, guard.condition, guard.negated))
    if (part.positive) assume(*part.positive);
}

bool Known::implies(const IndexExpr &positive) const {
  auto follows = [](const IndexExpr &rest) { return neverNegative(rest); };
  if (follows(positive - IndexExpr(1))) return true;
  for (const IndexExpr &fact : facts)
    if (follows(positive - fact)) return true;
  // A sum of two known ones: i < 16 and 16 * n <= m give more than either.
  for (const IndexExpr &first : facts)
    for (const IndexExpr &second : facts)
      if (follows(positive - first - second + IndexExpr(1))) return true;
  return false;
}

} // namespace klineage
