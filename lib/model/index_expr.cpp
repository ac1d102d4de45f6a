// The polynomial itself: sums, products, substitution, text. Divisions and ranges are in index_division.cpp.
#include "model/index_expr.h"
#include <algorithm>

namespace klineage {

namespace {

std::string monomialKey(const IndexExpr::Monomial &monomial) {
  std::string key;
  for (const AtomRef &atom : monomial) {
    if (!key.empty()) key += '*';
    key += atom->key;
  }
  return key;
}

std::string declKey(const clang::ValueDecl *decl) {
  // The location names the declaration within the unit, and is the same in every run.
  return decl->getNameAsString() + "@" + std::to_string(decl->getLocation().getRawEncoding());
}

const char *axisName(unsigned axis) { return axis == 0 ? "x" : axis == 1 ? "y" : "z"; }

AtomRef dimensionAtom(Atom::Kind kind, const char *name, unsigned axis, int64_t end = 0) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->axis = axis;
  atom->key = std::string(name) + "." + axisName(axis);
  if (end > 0) {
    atom->right = IndexExpr(end);
    atom->hasRange = true;
  }
  return atom;
}

AtomRef declAtom(Atom::Kind kind, const clang::ValueDecl *decl) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->decl = decl;
  atom->key = declKey(decl);
  return atom;
}

/// Operands are parts of the value; the range of a loop variable is not.
bool hasOperands(const Atom &atom) { return atom.kind >= Atom::Quotient; }

void collect(const IndexExpr &expr, std::map<std::string, AtomRef> &into) {
  for (const auto &[key, term] : expr.terms())
    for (const AtomRef &atom : term.first) {
      if (!into.emplace(atom->key, atom).second) continue;
      if (hasOperands(*atom)) {
        collect(atom->left, into);
        collect(atom->right, into);
      }
    }
}

IndexExpr rebuilt(const AtomRef &atom, const std::map<std::string, IndexExpr> &values) {
  if (auto it = values.find(atom->key); it != values.end()) return it->second;
  if (!hasOperands(*atom)) return IndexExpr::of(atom);
  IndexExpr left = atom->left.substitute(values), right = atom->right.substitute(values);
  if (left == atom->left && right == atom->right) return IndexExpr::of(atom);
  switch (atom->kind) {
  case Atom::Quotient: return quotient(left, right);
  case Atom::Remainder: return remainder(left, right);
  case Atom::Minimum: return minimum(left, right);
  case Atom::Maximum: return maximum(left, right);
  case Atom::Opaque: {
    // The tree still spells the old atoms, so the new term says what stands for them.
    std::string structure = atom->key + "[";
    for (const AtomRef &inner : atom->left.atoms())
      if (auto it = values.find(inner->key); it != values.end()) structure += inner->key + ":=" + it->second.key() + ";";
    return IndexExpr::of(opaque(nullptr, structure + "]", left));
  }
  default: return bitwise(atom->kind, left, right);
  }
}

} // namespace

IndexExpr::IndexExpr(int64_t constant) { addTerm({}, constant); }

IndexExpr IndexExpr::of(AtomRef atom) { return term({std::move(atom)}, 1); }

IndexExpr IndexExpr::term(const Monomial &monomial, int64_t coefficient) {
  IndexExpr expr;
  expr.addTerm(monomial, coefficient);
  return expr;
}

void IndexExpr::addTerm(Monomial monomial, int64_t coefficient) {
  if (coefficient == 0) return;
  std::sort(monomial.begin(), monomial.end(), [](const AtomRef &a, const AtomRef &b) { return a->key < b->key; });
  std::string key = monomialKey(monomial);
  auto [it, isNew] = sum.try_emplace(std::move(key), std::move(monomial), 0);
  // Wrap-around in the analysis itself would be silent; such coefficients do not occur in indices that can be addressed.
  it->second.second = int64_t(uint64_t(it->second.second) + uint64_t(coefficient));
  if (it->second.second == 0) sum.erase(it);
}

/// c·(x % m)·M + c·m·(x / m)·M is c·x·M: a flattened index that was split and put together again.
void IndexExpr::joinDigits() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &[key, term] : sum) {
      const auto &[monomial, coefficient] = term;
      for (size_t i = 0; !changed && i < monomial.size(); ++i) {
        const AtomRef held = monomial[i];
        const Atom &digit = *held;
        if (digit.kind != Atom::Remainder) continue;
        Monomial rest = monomial;
        rest.erase(rest.begin() + i);
        IndexExpr scale = IndexExpr::term(rest, coefficient);
        IndexExpr upper = scale * digit.right * quotient(digit.left, digit.right);
        if (upper.sum.empty()) continue;
        // c·(x % m) + c·m·((x / m) % k) is c·(x % (m·k)): the lower two of three digits.
        for (const auto &[nextKey, next] : sum) {
          if (changed || next.second == 0 || next.first.size() != monomial.size()) continue;
          for (size_t j = 0; !changed && j < next.first.size(); ++j) {
            const AtomRef heldAbove = next.first[j];
            const Atom &above = *heldAbove;
            if (above.kind != Atom::Remainder || !(above.left == quotient(digit.left, digit.right))) continue;
            Monomial others = next.first;
            others.erase(others.begin() + j);
            IndexExpr expected = scale * digit.right;
            if (!(expected == IndexExpr::term(others, next.second))) continue;
            Monomial low = monomial, high = next.first;
            int64_t lowFactor = coefficient, highFactor = next.second;
            IndexExpr joined = scale * remainder(digit.left, digit.right * above.right);
            addTerm(low, -lowFactor);
            addTerm(high, -highFactor);
            for (const auto &[ignored, added] : joined.sum) addTerm(added.first, added.second);
            changed = true;
          }
          if (changed) break;
        }
        if (changed) break;
        bool present = std::all_of(upper.sum.begin(), upper.sum.end(), [&](const auto &entry) {
          auto it = sum.find(entry.first);
          return it != sum.end() && it->second.second == entry.second.second;
        });
        if (!present) continue;
        IndexExpr lower = IndexExpr::term(monomial, coefficient), whole = scale * digit.left;
        for (const auto *part : {&upper, &lower})
          for (const auto &[ignored, gone] : part->sum) addTerm(gone.first, -gone.second);
        for (const auto &[ignored, added] : whole.sum) addTerm(added.first, added.second);
        changed = true;
      }
      if (changed) break;
    }
  }
}

IndexExpr IndexExpr::operator+(const IndexExpr &other) const {
  IndexExpr result = *this;
  for (const auto &[key, term] : other.sum) result.addTerm(term.first, term.second);
  result.joinDigits();
  return result;
}

IndexExpr IndexExpr::operator-(const IndexExpr &other) const {
  IndexExpr result = *this;
  for (const auto &[key, term] : other.sum) result.addTerm(term.first, -term.second);
  result.joinDigits();
  return result;
}

IndexExpr IndexExpr::operator*(const IndexExpr &other) const {
  IndexExpr result;
  for (const auto &[key, a] : sum)
    for (const auto &[otherKey, b] : other.sum) {
      Monomial monomial = a.first;
      monomial.insert(monomial.end(), b.first.begin(), b.first.end());
      result.addTerm(std::move(monomial), int64_t(uint64_t(a.second) * uint64_t(b.second)));
    }
  // Scaling a sum whose digits are joined leaves them joined; only a product of two sums can bring new pairs.
  if (sum.size() > 1 && other.sum.size() > 1) result.joinDigits();
  return result;
}

std::optional<int64_t> IndexExpr::constant() const {
  if (sum.empty()) return 0;
  if (sum.size() == 1 && sum.begin()->second.first.empty()) return sum.begin()->second.second;
  return std::nullopt;
}

int64_t IndexExpr::constantTerm() const {
  auto it = sum.find("");
  return it == sum.end() ? 0 : it->second.second;
}

IndexExpr IndexExpr::coefficient(const AtomRef &atom) const {
  IndexExpr result;
  for (const auto &[key, term] : sum) {
    size_t count = std::count_if(term.first.begin(), term.first.end(), [&](const AtomRef &a) { return a->key == atom->key; });
    if (count != 1) continue;
    Monomial rest;
    for (const AtomRef &a : term.first)
      if (a->key != atom->key) rest.push_back(a);
    result.addTerm(std::move(rest), term.second);
  }
  return result;
}

bool IndexExpr::mentions(const AtomRef &atom) const {
  for (const auto &[key, term] : sum)
    for (const AtomRef &a : term.first)
      if (a->key == atom->key || (hasOperands(*a) && (a->left.mentions(atom) || a->right.mentions(atom)))) return true;
  return false;
}

bool IndexExpr::mentionsKind(int kind) const {
  for (const auto &[key, term] : sum)
    for (const AtomRef &a : term.first)
      if (a->kind == kind || (hasOperands(*a) && (a->left.mentionsKind(kind) || a->right.mentionsKind(kind)))) return true;
  return false;
}

bool IndexExpr::mentionsOpaque() const { return mentionsKind(Atom::Opaque); }

IndexExpr IndexExpr::substitute(const AtomRef &atom, const IndexExpr &with) const {
  return substitute(std::map<std::string, IndexExpr>{{atom->key, with}});
}

IndexExpr IndexExpr::substitute(const std::map<std::string, IndexExpr> &values) const {
  IndexExpr result;
  for (const auto &[key, term] : sum) {
    IndexExpr product(term.second);
    for (const AtomRef &atom : term.first) product = product * rebuilt(atom, values);
    result = result + product;
  }
  return result;
}

std::vector<AtomRef> IndexExpr::atoms() const {
  std::map<std::string, AtomRef> found;
  collect(*this, found);
  std::vector<AtomRef> result;
  for (auto &[key, atom] : found) result.push_back(atom);
  return result;
}

std::string IndexExpr::key() const {
  if (sum.empty()) return "0";
  std::string text;
  for (const auto &[key, term] : sum) {
    if (!text.empty() && term.second >= 0) text += '+';
    if (key.empty()) {
      text += std::to_string(term.second);
      continue;
    }
    if (term.second == -1) text += '-';
    else if (term.second != 1) text += std::to_string(term.second) + "*";
    text += key;
  }
  return text;
}

AtomRef threadIdx(unsigned axis) { return dimensionAtom(Atom::ThreadIdx, "threadIdx", axis); }
AtomRef threadIdx(unsigned axis, int64_t end) { return dimensionAtom(Atom::ThreadIdx, "threadIdx", axis, end); }
AtomRef blockIdx(unsigned axis) { return dimensionAtom(Atom::BlockIdx, "blockIdx", axis); }
AtomRef blockDim(unsigned axis) { return dimensionAtom(Atom::BlockDim, "blockDim", axis); }
AtomRef gridDim(unsigned axis) { return dimensionAtom(Atom::GridDim, "gridDim", axis); }
AtomRef loopVariable(const clang::VarDecl *decl) { return declAtom(Atom::LoopVariable, decl); }
AtomRef loopVariable(const clang::VarDecl *decl, const IndexExpr &begin, const IndexExpr &end) {
  auto atom = std::make_shared<Atom>(*loopVariable(decl));
  atom->left = begin;
  atom->right = end;
  atom->hasRange = true;
  return atom;
}
AtomRef parameter(const clang::ParmVarDecl *decl) { return declAtom(Atom::Parameter, decl); }
AtomRef variable(const clang::ValueDecl *decl) {
  auto atom = std::make_shared<Atom>(*declAtom(Atom::Variable, decl));
  atom->key = "?" + atom->key; // Never equal to a loop variable or parameter of the same declaration.
  return atom;
}
AtomRef opaque(const clang::Expr *expr, std::string structure, const IndexExpr &dependsOn) {
  auto atom = std::make_shared<Atom>();
  atom->kind = Atom::Opaque;
  atom->expr = expr;
  atom->left = dependsOn;
  atom->key = "{" + std::move(structure) + "}";
  return atom;
}

namespace {

std::optional<std::string> spellAtom(const Atom &atom, const AtomText &text) {
  if (text)
    if (auto known = text(atom)) return known;
  auto axis = [&](const char *name) { return std::string(name) + "." + axisName(atom.axis); };
  auto pair = [&](const char *before, const char *between) -> std::optional<std::string> {
    auto left = spell(atom.left, text), right = spell(atom.right, text);
    if (!left || !right) return std::nullopt;
    // A name or a number needs no parentheses of its own.
    auto wrapped = [](const std::string &s) {
      bool plain = std::all_of(s.begin(), s.end(), [](char c) { return std::isalnum((unsigned char)c) || c == '_' || c == '.'; });
      return plain ? s : "(" + s + ")";
    };
    if (*before) return std::string(before) + "(" + *left + ", " + *right + ")";
    return "(" + wrapped(*left) + " " + between + " " + wrapped(*right) + ")";
  };
  switch (atom.kind) {
  case Atom::ThreadIdx: return axis("threadIdx");
  case Atom::BlockIdx: return axis("blockIdx");
  case Atom::BlockDim: return axis("blockDim");
  case Atom::GridDim: return axis("gridDim");
  case Atom::LoopVariable: case Atom::Parameter: case Atom::Variable: return atom.decl->getNameAsString();
  case Atom::Quotient: return pair("", "/");
  case Atom::Remainder: return pair("", "%");
  case Atom::And: return pair("", "&");
  case Atom::Or: return pair("", "|");
  case Atom::Xor: return pair("", "^");
  case Atom::ShiftRight: return pair("", ">>");
  case Atom::Minimum: return pair("min", "");
  case Atom::Maximum: return pair("max", "");
  case Atom::Opaque: return std::nullopt;
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> spell(const IndexExpr &expr, const AtomText &text) {
  if (expr.terms().empty()) return "0";
  // The constant last and a positive term first read best: `blockIdx.y * 32 + threadIdx.y + 1`.
  std::vector<const std::pair<IndexExpr::Monomial, int64_t> *> order;
  for (const auto &[key, term] : expr.terms()) order.push_back(&term);
  std::stable_sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    auto rank = [](const auto *t) { return std::make_tuple(t->second < 0, t->first.empty(), -int(t->first.size()), t->second == 1); };
    return rank(a) < rank(b);
  });
  std::string result;
  for (const auto *term : order) {
    const auto &[monomial, coefficient] = *term;
    std::string product;
    for (const AtomRef &atom : monomial) {
      auto name = spellAtom(*atom, text);
      if (!name) return std::nullopt;
      product += (product.empty() ? "" : " * ") + *name;
    }
    uint64_t size = coefficient < 0 ? uint64_t(0) - uint64_t(coefficient) : uint64_t(coefficient);
    if (product.empty()) product = std::to_string(size);
    else if (size != 1) product += " * " + std::to_string(size);
    if (result.empty()) result = (coefficient < 0 ? "-" : "") + product;
    else result += (coefficient < 0 ? " - " : " + ") + product;
  }
  return result;
}

} // namespace klineage
