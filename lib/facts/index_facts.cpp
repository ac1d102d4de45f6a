// Facts about integers, indices and loops.
#include "facts/facts.h"
#include <algorithm>

namespace klineage {

namespace {

IndexExpr zero() { return {}; }

/// Divisible for every value of the iterators: each term is, loops counted in their steps.
Truth dividesAll(const FactScope &scope, const IndexExpr &value, int64_t by) {
  if (by == 1) return Truth::Holds;
  if (auto c = value.constant()) return *c % by == 0 ? Truth::Holds : Truth::Violated;
  if (knownDivisor(value) % by == 0) return Truth::Holds;
  // A loop variable is its begin plus a whole number of steps.
  std::map<std::string, IndexExpr> counted;
  for (const AtomRef &atom : value.atoms())
    if (atom->kind == Atom::LoopVariable)
      for (const auto &loop : scope.kernel.loops)
        if (loop->variable == atom->decl && !(loop->step == IndexExpr(1)) && !loop->descending) {
          auto count = std::make_shared<Atom>();
          count->kind = Atom::Opaque;
          count->key = "{turns of " + atom->key + "}";
          counted[atom->key] = loop->begin + loop->step * IndexExpr::of(count);
        }
  if (!counted.empty()) {
    Cases cases = casesOf(scope, value.substitute(counted));
    bool all = true;
    for (const Case &one : cases.cases) all &= knownDivisor(one.value) % by == 0;
    if (all) return Truth::Holds;
  }
  // Where every iterator is zero the constant is left, and it is reached.
  bool startsAtZero = true;
  for (const AtomRef &atom : value.atoms()) startsAtZero &= atom->kind == Atom::ThreadIdx || atom->kind == Atom::BlockIdx;
  if (startsAtZero && value.constantTerm() % by != 0) return Truth::Violated;
  for (const AtomRef &atom : value.atoms()) {
    if (atom->kind != Atom::ThreadIdx || !startsAtZero || !atom->hasRange || !(isNonNegative(atom->right - 2))) continue;
    auto step = value.coefficient(atom).constant();
    if (step && *step % by != 0) return Truth::Violated; // Threads 0 and 1 differ by it.
  }
  return Truth::Unknown;
}

Operand divisible(const FactScope &scope, const std::vector<Operand> &arguments) {
  auto value = numberOf(scope, arguments[0]), by = numberOf(scope, arguments[1]);
  if (!value || !by) return Operand::of(unknown((value ? arguments[1] : arguments[0]).label + " is no integer"));
  if (auto exact = exactQuotient(*value, *by)) return Operand::of(holds(arguments[0].label + " is " + spelledOr(scope, *value) + ", a multiple of " + spelledOr(scope, *by) + " whatever the sizes are"));
  auto constant = by->constant();
  if (!constant) {
    Cases divisors = casesOf(scope, *by);
    for (const Case &one : divisors.cases) {
      auto c = one.value.constant();
      if (!c || (constant && *constant != *c)) return Operand::of(unknown(arguments[1].label + " is not one constant"));
      constant = c;
    }
  }
  if (!constant || *constant <= 0) return Operand::of(violated("nothing is a multiple of " + arguments[1].label + ", which is not positive"));
  int64_t n = *constant;
  // A launch that is only reached when the remainder is zero settles it.
  bool everyLaunch = !scope.kernel.launches.empty(), compared = false;
  const auto *function = scope.kernel.function;
  for (const Launch &launch : scope.kernel.launches) {
    std::map<std::string, IndexExpr> bound;
    for (unsigned i = 0; i < function->getNumParams() && i < launch.values.size(); ++i)
      if (function->getParamDecl(i)->getType()->isIntegralOrEnumerationType()) bound[parameter(function->getParamDecl(i))->key] = launch.values[i];
    for (unsigned axis = 0; axis < launch.blockShape.size(); ++axis) bound[blockDim(axis)->key] = launch.blockShape[axis];
    IndexExpr launched = value->substitute(bound), rest = remainder(launched, n);
    bool known = rest == zero() || knownDivisor(launched) % n == 0; // min(32 * warps, 1024)
    compared |= !known;
    for (const Comparison &fact : launch.known) known |= fact.relation == Comparison::Equal && !(rest == zero()) && fact.difference == rest;
    everyLaunch &= known;
  }
  if (everyLaunch)
    return Operand::of(holds(arguments[0].label + " is a multiple of " + std::to_string(n) + (compared ? ": the host launches the kernel only then" : " in every launch")));
  std::string words = "a multiple of " + std::to_string(n);
  return Operand::of(overCases(scope, arguments[0], *value, [&](const IndexExpr &v) { return dividesAll(scope, v, n); }, "is " + words, "is not " + words));
}

Operand constantFact(const FactScope &scope, const std::vector<Operand> &arguments) {
  const Operand &what = arguments[0];
  if (what.kind == Operand::Real) return Operand::of(holds(what.label + " is written as a number"));
  auto value = numberOf(scope, what);
  if (!value) return Operand::of(unknown(what.label + " is no integer"));
  IndexExpr known = scope.kernel.bound(*value);
  if (auto c = known.constant()) return Operand::of(holds(what.label + " is " + std::to_string(*c)));
  return Operand::of(violated(what.label + " is " + spelledOr(scope, known) + ", which is known only at run time"));
}

Operand nonnegative(const FactScope &scope, const std::vector<Operand> &arguments) {
  auto value = numberOf(scope, arguments[0]);
  if (!value) return Operand::of(unknown(arguments[0].label + " is no integer"));
  Cases cases = casesOf(scope, *value);
  if (cases.symbolic) {
    // Without a workload a size is not taken for non-negative on trust, unless its type says so.
    bool rests = false;
    for (const AtomRef &atom : value->atoms()) rests |= atom->kind == Atom::Parameter && atom->decl && !atom->decl->getType()->isUnsignedIntegerType();
    if (!rests && isNonNegative(*value)) return Operand::of(holds(arguments[0].label + " is " + spelledOr(scope, *value) + ", made of what is never negative"));
    if (auto c = value->constant(); c && *c < 0) return Operand::of(violated(arguments[0].label + " is " + std::to_string(*c)));
    return Operand::of(unknown("whether " + spelledOr(scope, *value) + " can be negative depends on the sizes (" + cases.why + ")"));
  }
  return Operand::of(overCases(scope, arguments[0], *value, [](const IndexExpr &v) {
    if (isNonNegative(v)) return Truth::Holds;
    return isNonNegative(zero() - v - 1) ? Truth::Violated : Truth::Unknown;
  }, "is not negative", "is negative"));
}

Operand tripcount(const FactScope &scope, const std::vector<Operand> &arguments) {
  const Loop *loop = arguments[0].loop;
  if (!loop && arguments[0].stmt)
    if (auto *stmt = llvm::dyn_cast<clang::ForStmt>(arguments[0].stmt)) loop = scope.kernel.loopFor(stmt);
  if (!loop) return Operand::missing("it is no loop in canonical form");
  if (loop->leavesEarly) return Operand::missing("the loop can be left early");
  IndexExpr span = loop->end - loop->begin;
  return Operand::of(quotient(span + loop->step - 1, loop->step));
}

Operand uniform(const FactScope &scope, const std::vector<Operand> &arguments) {
  const Operand &what = arguments[0];
  auto say = [&](bool yes, const std::string &thing) {
    return Operand::of(yes ? holds(thing + " in all threads of a block") : unknown("it cannot be shown that " + thing + " in all threads of a block"));
  };
  if (what.kind == Operand::LoopRef) {
    if (what.loop->leavesEarly) return Operand::of(unknown("the loop over " + what.loop->variable->getNameAsString() + " can be left early"));
    bool dependsOnThread = (what.loop->end - what.loop->begin).mentionsKind(Atom::ThreadIdx);
    bool yes = scope.kernel.isUniform(*what.loop);
    if (!yes && dependsOnThread && !(what.loop->end - what.loop->begin).mentionsOpaque())
      return Operand::of(violated("the loop over " + what.loop->variable->getNameAsString() + " runs from " + spelledOr(scope, what.loop->begin) + " to " + spelledOr(scope, what.loop->end) + ", which differs between threads"));
    return say(yes, "the loop over " + what.loop->variable->getNameAsString() + " runs the same turns");
  }
  if (what.kind == Operand::Number) {
    for (const AtomRef &atom : what.number.atoms())
      if (atom->kind == Atom::ThreadIdx) return Operand::of(violated(what.label + " is " + spelledOr(scope, what.number) + ", which differs between threads"));
    for (const AtomRef &atom : what.number.atoms())
      if (atom->kind == Atom::Variable || atom->kind == Atom::Opaque) return Operand::of(unknown(what.label + " is " + spelledOr(scope, what.number) + ", of which a part is not known"));
    return say(true, what.label + " is the same");
  }
  if (what.stmt) {
    for (const Barrier &barrier : scope.kernel.barriers)
      if (barrier.stmt == what.stmt) return say(scope.kernel.isUniform(barrier), "the barrier is reached");
    if (what.expr) {
      bool yes = scope.kernel.isUniform(what.expr);
      if (!yes && what.expr->getType()->isIntegralOrEnumerationType()) {
        IndexExpr value = scope.kernel.lift(what.expr);
        if (value.coefficient(threadIdx(0)).terms().size() && !value.mentionsOpaque()) return Operand::of(violated(what.label + " is " + spelledOr(scope, value) + ", which differs between threads"));
      }
      return say(yes, what.label + " is the same");
    }
    // Any other statement: whether the block comes to it together.
    Barrier place;
    place.stmt = what.stmt;
    return say(scope.kernel.isUniform(place), what.label + " is reached");
  }
  return Operand::of(unknown(what.label + " is no expression, loop or barrier"));
}

Operand contiguous(const FactScope &scope, const std::vector<Operand> &arguments) {
  auto index = numberOf(scope, arguments[0]);
  if (!index) return Operand::of(unknown(arguments[0].label + " is no index"));
  IndexExpr step = index->coefficient(threadIdx(0));
  std::string words = "neighbouring threads are " + spelledOr(scope, step) + " apart in " + spelledOr(scope, *index);
  if (index->mentionsOpaque()) return Operand::of(unknown(spelledOr(scope, *index) + " holds a value that is not known"));
  IndexExpr rest = *index - step * IndexExpr::of(threadIdx(0));
  if (rest.mentions(threadIdx(0))) return Operand::of(unknown(spelledOr(scope, *index) + " is not linear in threadIdx.x"));
  return Operand::of(step == IndexExpr(1) ? holds(words) : violated(words));
}

Operand inBounds(const FactScope &scope, const std::vector<Operand> &arguments) {
  auto index = numberOf(scope, arguments[0]);
  if (!index) return Operand::of(unknown(arguments[0].label + " is no index"));
  if (!arguments[1].decl) return Operand::of(unknown(arguments[1].label + " is no buffer"));
  IndexExpr extent = elementsOf(arguments[1].decl);
  if (const Buffer *buffer = scope.kernel.bufferOf(arguments[1].decl); buffer && !buffer->extents.empty()) {
    int64_t total = buffer->vectorWidth;
    for (int64_t e : buffer->extents) total *= e;
    extent = total;
  }
  Cases below = casesOf(scope, extent - *index - 1), from = casesOf(scope, *index), ends = casesOf(scope, extent);
  for (size_t i = 0; i < below.cases.size(); ++i) {
    std::string words = spelledOr(scope, from.cases[i].value) + " in " + arguments[1].label + " of " + spelledOr(scope, ends.cases[i].value) + " elements";
    auto least = lowerBound(below.cases[i].value), low = lowerBound(from.cases[i].value);
    if (auto c = below.cases[i].value.constant(); c && *c < 0) return Operand::of(violated(words + " is past the end"));
    if (auto c = from.cases[i].value.constant(); c && *c < 0) return Operand::of(violated(words + " is before the start"));
    if (!least || *least < 0 || !low || *low < 0) return Operand::of(unknown("whether " + words + " stays inside is not decided" + (below.symbolic ? " (" + below.why + ")" : "")));
  }
  return Operand::of(holds(spelledOr(scope, *index) + " stays inside " + arguments[1].label));
}

} // namespace

void addIndexFacts(std::vector<Fact> &table) {
  table.insert(table.end(), {
      {"constant", "constant(x)", "x is known when the kernel is compiled (block sizes count when all launches agree)", 1, 1, constantFact},
      {"contiguous", "contiguous(index)", "threads with neighbouring threadIdx.x touch neighbouring elements", 1, 1, contiguous},
      {"divisible", "divisible(x, n)", "x is a multiple of n for all values of the iterators, in every instance of the workload", 2, 2, divisible},
      {"in_bounds", "in_bounds(index, buffer)", "0 <= index < elements of the buffer, whatever the iterators are", 2, 2, inBounds},
      {"nonnegative", "nonnegative(x)", "x is never below zero", 1, 1, nonnegative},
      {"tripcount", "tripcount(loop)", "a number: how many turns a canonical loop makes", 1, 1, tripcount},
      {"uniform", "uniform(x)", "an expression has one value in all threads of a block; a loop makes the same turns in all; a barrier or statement is reached by all or none", 1, 1, uniform},
  });
}

} // namespace klineage
