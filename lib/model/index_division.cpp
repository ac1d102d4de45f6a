// Divisions, remainders, bit operations, and the ranges that make them simple.
#include "model/index_expr.h"
#include <algorithm>
#include <numeric>

namespace klineage {

namespace {

AtomRef operation(Atom::Kind kind, const IndexExpr &left, const IndexExpr &right) {
  static const std::map<int, const char *> names = {{Atom::Quotient, "/"}, {Atom::Remainder, "%"}, {Atom::And, "&"}, {Atom::Or, "|"},
    {Atom::Xor, "^"}, {Atom::ShiftRight, ">>"}, {Atom::Minimum, "min"}, {Atom::Maximum, "max"}};
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  bool commutes = kind == Atom::And || kind == Atom::Or || kind == Atom::Xor || kind == Atom::Minimum || kind == Atom::Maximum;
  bool swap = commutes && right.key() < left.key();
  atom->left = swap ? right : left;
  atom->right = swap ? left : right;
  atom->key = "((" + atom->left.key() + ")" + names.at(kind) + "(" + atom->right.key() + "))";
  return atom;
}

struct Bounds {
  IndexExpr low, high; ///< Inclusive.
  bool hasLow = false, hasHigh = false;
};

/// Inclusive bounds of one atom, over other atoms where they are known only so.
Bounds boundsOf(const Atom &atom) {
  Bounds bounds;
  auto from = [&](const IndexExpr &low) { bounds.low = low; bounds.hasLow = true; };
  auto to = [&](const IndexExpr &high) { bounds.high = high; bounds.hasHigh = true; };
  switch (atom.kind) {
  case Atom::ThreadIdx:
    from(0);
    to((atom.hasRange ? atom.right : IndexExpr::of(blockDim(atom.axis))) - 1);
    break;
  case Atom::BlockIdx:
    from(0);
    to((atom.hasRange ? atom.right : IndexExpr::of(gridDim(atom.axis))) - 1);
    break;
  case Atom::BlockDim: from(1); to(1024); break;
  case Atom::GridDim: from(1); break;
  case Atom::LoopVariable:
    if (!atom.hasRange) break;
    from(atom.left);
    to(atom.right - 1);
    break;
  case Atom::Parameter: from(0); break;
  case Atom::Variable: case Atom::Opaque: {
    clang::QualType type = atom.expr ? atom.expr->getType() : atom.decl ? atom.decl->getType() : clang::QualType();
    if (!type.isNull() && type->isUnsignedIntegerType()) from(0);
    break;
  }
  case Atom::Quotient:
    if (!isNonNegative(atom.left) || !isNonNegative(atom.right)) break;
    from(0);
    if (auto top = upperBound(atom.left), by = lowerBound(atom.right); top && by && *by > 0) to(*top / *by);
    break;
  case Atom::Remainder:
    if (!isNonNegative(atom.left)) break;
    from(0);
    to(atom.right - 1);
    break;
  case Atom::And:
    for (const IndexExpr *side : {&atom.left, &atom.right})
      if (auto mask = side->constant(); mask && *mask >= 0) { from(0); to(*mask); }
    break;
  case Atom::Or: case Atom::Xor: {
    if (!isNonNegative(atom.left) || !isNonNegative(atom.right)) break;
    from(0);
    auto left = upperBound(atom.left), right = upperBound(atom.right);
    if (!left || !right) break;
    int64_t top = 1;
    while (top <= std::max(*left, *right)) top *= 2;
    to(top - 1);
    break;
  }
  case Atom::ShiftRight: if (isNonNegative(atom.left)) from(0); break;
  case Atom::Minimum:
    if (auto a = lowerBound(atom.left), b = lowerBound(atom.right); a && b) from(std::min(*a, *b));
    else if (isNonNegative(atom.left) && isNonNegative(atom.right)) from(0);
    if (auto c = atom.left.constant()) to(*c);
    else if (auto c = atom.right.constant()) to(*c);
    else if (auto a = upperBound(atom.left)) to(*a);
    else if (auto b = upperBound(atom.right)) to(*b);
    break;
  case Atom::Maximum:
    if (auto c = atom.left.constant()) from(*c);
    else if (auto c = atom.right.constant()) from(*c);
    else if (isNonNegative(atom.left) || isNonNegative(atom.right)) from(0);
    if (auto a = upperBound(atom.left), b = upperBound(atom.right); a && b) to(std::max(*a, *b));
    break;
  }
  return bounds;
}

std::optional<int64_t> bound(IndexExpr expr, bool low, unsigned depth);

/// Replaces, one at a time, an atom that is linear in the sum by the end of its range that makes the sum smallest (or largest):
/// the bound of j is n - 1, so n - j comes to 1 whatever n is.
std::optional<int64_t> bound(IndexExpr expr, bool low, unsigned depth) {
  if (auto c = expr.constant()) return c;
  if (depth == 0) return std::nullopt;
  std::map<std::string, AtomRef> present;
  for (const auto &[key, term] : expr.terms())
    for (const AtomRef &atom : term.first) present.emplace(atom->key, atom);
  auto signOf = [&](const IndexExpr &factor) {
    if (auto c = factor.constant()) return *c > 0 ? 1 : *c < 0 ? -1 : 0;
    if (auto at = bound(factor, true, depth - 1); at && *at >= 0) return 1;
    if (auto at = bound(factor, false, depth - 1); at && *at <= 0) return -1;
    return 0;
  };
  auto eliminated = [&](bool symbolic) -> std::optional<int64_t> {
    for (const auto &[key, atom] : present) {
      // Inner quantities first: a loop variable's end is over parameters, never the other way round.
      bool isDimension = atom->kind == Atom::Parameter || atom->kind == Atom::BlockDim || atom->kind == Atom::GridDim;
      if (symbolic == isDimension) continue;
      IndexExpr factor = expr.coefficient(atom);
      int sign = signOf(factor);
      if (sign == 0) continue;
      Bounds range = boundsOf(*atom);
      bool wantLow = (sign > 0) == low;
      if (wantLow ? !range.hasLow : !range.hasHigh) continue;
      const IndexExpr &end = wantLow ? range.low : range.high;
      if (end.mentions(atom)) continue;
      IndexExpr rest = expr - factor * IndexExpr::of(atom);
      if (rest.coefficient(atom).terms().size()) continue; // Not linear.
      if (auto found = bound(rest + factor * end, low, depth - 1)) return found;
    }
    return std::nullopt;
  };
  if (auto found = eliminated(true)) return found;
  return eliminated(false);
}

/// left = q * right + r by division of polynomials on right's leading term; r keeps what the leading term does not divide.
std::pair<IndexExpr, IndexExpr> divide(const IndexExpr &left, const IndexExpr &right) {
  const std::pair<IndexExpr::Monomial, int64_t> *lead = nullptr;
  for (const auto &[key, term] : right.terms())
    if (!lead || term.first.size() > lead->first.size()) lead = &term;
  IndexExpr q, r = left;
  if (!lead) return {q, r};
  for (int round = 0; round < 32; ++round) {
    bool changed = false;
    for (const auto &[key, term] : r.terms()) {
      int64_t factor = term.second / lead->second;
      if (factor == 0) continue;
      IndexExpr::Monomial rest = term.first;
      bool divides = true;
      for (const AtomRef &atom : lead->first) {
        auto it = std::find_if(rest.begin(), rest.end(), [&](const AtomRef &a) { return a->key == atom->key; });
        if (it == rest.end()) { divides = false; break; }
        rest.erase(it);
      }
      if (!divides) continue;
      IndexExpr part = IndexExpr::term(rest, factor);
      q = q + part;
      r = r - part * right;
      changed = true;
      break;
    }
    if (!changed) break;
  }
  return {q, r};
}

/// The one atom that the expression is, or null.
const Atom *soleAtom(const IndexExpr &expr) {
  if (expr.terms().size() != 1) return nullptr;
  const auto &[monomial, coefficient] = expr.terms().begin()->second;
  return monomial.size() == 1 && coefficient == 1 ? monomial.front().get() : nullptr;
}

/// q and r with left = q * right + r and both known not to be negative; q takes nothing when that cannot be shown.
std::pair<IndexExpr, IndexExpr> nonNegativeSplit(const IndexExpr &left, const IndexExpr &right) {
  auto [q, r] = divide(left, right);
  if (r.terms().empty()) return {q, r};
  if (q.terms().empty() || (isNonNegative(q) && isNonNegative(r))) return {q, r};
  return {IndexExpr(), left};
}

bool liesBelow(const IndexExpr &value, const IndexExpr &end) {
  return isNonNegative(value) && isNonNegative(end - value - 1);
}

std::optional<unsigned> powerOfTwo(int64_t value) {
  if (value <= 0 || (value & (value - 1))) return std::nullopt;
  return __builtin_ctzll(value);
}

} // namespace

std::optional<int64_t> lowerBound(const IndexExpr &expr) { return bound(expr, true, 8); }
std::optional<int64_t> upperBound(const IndexExpr &expr) { return bound(expr, false, 8); }
bool isNonNegative(const IndexExpr &expr) {
  if (auto c = expr.constant()) return *c >= 0;
  auto low = lowerBound(expr);
  return low && *low >= 0;
}

int64_t knownDivisor(const IndexExpr &expr) {
  int64_t divisor = 0;
  for (const auto &[key, term] : expr.terms()) {
    int64_t factor = std::abs(term.second);
    for (const AtomRef &atom : term.first) {
      if (atom->kind == Atom::Remainder) factor *= std::max<int64_t>(1, std::gcd(knownDivisor(atom->left), knownDivisor(atom->right)));
      if (atom->kind == Atom::Minimum || atom->kind == Atom::Maximum || atom->kind == Atom::Xor || atom->kind == Atom::Or) {
        int64_t common = std::gcd(knownDivisor(atom->left), knownDivisor(atom->right));
        if (common > 0 && (atom->kind == Atom::Minimum || atom->kind == Atom::Maximum || powerOfTwo(common))) factor *= common;
      }
    }
    divisor = std::gcd(divisor, factor);
  }
  return divisor;
}

std::optional<IndexExpr> exactQuotient(const IndexExpr &left, const IndexExpr &right) {
  if (right.terms().empty()) return std::nullopt;
  auto [q, r] = divide(left, right);
  if (!r.terms().empty()) return std::nullopt;
  return q;
}

IndexExpr quotient(const IndexExpr &left, const IndexExpr &right) {
  if (right.terms().empty() || left.terms().empty()) return right.terms().empty() ? IndexExpr::of(operation(Atom::Quotient, left, right)) : IndexExpr();
  if (auto a = left.constant(), b = right.constant(); a && b) return *a / *b;
  auto [q, r] = nonNegativeSplit(left, right);
  if (r.terms().empty()) return q;
  if (liesBelow(r, right)) return q;
  if (const Atom *inner = soleAtom(r); inner && isNonNegative(inner->left)) {
    auto by = right.constant();
    // (x / a) / b is x / (a b), and (x % a) / b is (x / b) % (a / b) when b divides a.
    if (inner->kind == Atom::Quotient && isNonNegative(inner->right) && by && *by > 0)
      return q + quotient(inner->left, inner->right * right);
    if (inner->kind == Atom::Remainder && by && *by > 0)
      if (auto outer = inner->right.constant(); outer && *outer > 0 && *outer % *by == 0)
        return q + remainder(quotient(inner->left, right), *outer / *by);
  }
  // A factor common to all terms and to the divisor cancels.
  if (auto by = right.constant(); by && *by > 0 && isNonNegative(r)) {
    int64_t common = *by;
    for (const auto &[key, term] : r.terms())
      if (!key.empty()) common = std::gcd(common, std::abs(term.second));
    if (common > 1 && common < *by) {
      IndexExpr scaled;
      for (const auto &[key, term] : r.terms())
        scaled = scaled + IndexExpr::term(term.first, key.empty() ? (term.second >= 0 ? term.second / common : -((-term.second + common - 1) / common)) : term.second / common);
      return q + quotient(scaled, *by / common);
    }
  }
  return q + IndexExpr::of(operation(Atom::Quotient, r, right));
}

IndexExpr remainder(const IndexExpr &left, const IndexExpr &right) {
  if (right.terms().empty()) return IndexExpr::of(operation(Atom::Remainder, left, right));
  if (auto a = left.constant(), b = right.constant(); a && b) return *a % *b;
  auto [q, r] = nonNegativeSplit(left, right);
  if (r.terms().empty()) return 0;
  if (liesBelow(r, right)) return r;
  auto by = right.constant();
  if (const Atom *inner = soleAtom(r); inner && inner->kind == Atom::Remainder && by && *by > 0 && isNonNegative(inner->left))
    if (auto outer = inner->right.constant(); outer && *outer > 0 && *outer % *by == 0) return remainder(inner->left, right);
  if (by && *by > 0 && isNonNegative(r)) {
    // Terms that share a factor with the divisor leave it: (4 x) % 8 is 4 (x % 2).
    int64_t common = *by;
    for (const auto &[key, term] : r.terms()) common = std::gcd(common, std::abs(term.second));
    if (common > 1 && common < *by) return IndexExpr(common) * remainder(*exactQuotient(r, common), *by / common);
    // What is a multiple of a divisor of `by` plus something below that divisor: (8 x + y) % 32 with y < 8 is 8 (x % 4) + y.
    std::map<int64_t, bool> tried;
    for (const auto &[key, term] : r.terms()) {
      int64_t unit = std::gcd(*by, std::abs(term.second));
      if (unit <= 1 || unit == *by || !tried.emplace(unit, true).second) continue;
      auto [high, low] = nonNegativeSplit(r, unit);
      if (!high.terms().empty() && liesBelow(low, unit)) return IndexExpr(unit) * remainder(high, *by / unit) + low;
    }
  }
  return IndexExpr::of(operation(Atom::Remainder, r, right));
}

IndexExpr bitwise(Atom::Kind kind, const IndexExpr &left, const IndexExpr &right) {
  auto a = left.constant(), b = right.constant();
  if (a && b) switch (kind) {
    case Atom::And: return *a & *b;
    case Atom::Or: return *a | *b;
    case Atom::Xor: return *a ^ *b;
    case Atom::ShiftRight: return *b >= 0 && *b < 63 ? *a >> *b : 0;
    default: break;
  }
  switch (kind) {
  case Atom::And:
    if (a && !b) return bitwise(kind, right, left);
    if (left == right) return left;
    if (b && *b == 0) return 0;
    if (b && *b == -1) return left;
    if (b && isNonNegative(left)) {
      if (powerOfTwo(*b + 1)) return remainder(left, *b + 1);
      if (*b < 0 && powerOfTwo(-*b)) return left - remainder(left, -*b);
    }
    break;
  case Atom::Or:
    if (a && !b) return bitwise(kind, right, left);
    if (left == right) return left;
    // Bits that cannot meet add up.
    for (const auto &[high, low] : {std::pair{&left, &right}, std::pair{&right, &left}}) {
      int64_t unit = knownDivisor(*high);
      unit = unit == 0 ? 0 : unit & -unit;
      if (unit > 1 && isNonNegative(*high) && liesBelow(*low, unit)) return left + right;
    }
    [[fallthrough]];
  case Atom::Xor:
    if (a && *a == 0) return right;
    if (b && *b == 0) return left;
    if (kind == Atom::Xor && left == right) return 0;
    // (x ^ y) ^ y is x.
    if (kind == Atom::Xor)
      for (const auto &[outer, other] : {std::pair{&left, &right}, std::pair{&right, &left}})
        if (const Atom *inner = soleAtom(*outer); inner && inner->kind == Atom::Xor) {
          if (inner->left == *other) return inner->right;
          if (inner->right == *other) return inner->left;
        }
    if (kind == Atom::Xor)
      for (const auto &[high, low] : {std::pair{&left, &right}, std::pair{&right, &left}}) {
        int64_t unit = knownDivisor(*high);
        unit = unit == 0 ? 0 : unit & -unit;
        if (unit > 1 && isNonNegative(*high) && liesBelow(*low, unit)) return left + right;
      }
    break;
  case Atom::ShiftRight:
    if (b && *b >= 0 && *b < 62 && isNonNegative(left)) return quotient(left, int64_t(1) << *b);
    break;
  default: break;
  }
  return IndexExpr::of(operation(kind, left, right));
}

IndexExpr minimum(const IndexExpr &left, const IndexExpr &right) {
  if (isNonNegative(right - left)) return left;
  if (isNonNegative(left - right)) return right;
  return IndexExpr::of(operation(Atom::Minimum, left, right));
}

IndexExpr maximum(const IndexExpr &left, const IndexExpr &right) {
  if (isNonNegative(right - left)) return right;
  if (isNonNegative(left - right)) return left;
  return IndexExpr::of(operation(Atom::Maximum, left, right));
}

} // namespace klineage
