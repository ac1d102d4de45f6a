// IndexExpr: an integer expression as a polynomial over named quantities, so that spelling does not matter.
#pragma once
#include "source/clang_headers.h"

namespace klineage {

struct Atom;
using AtomRef = std::shared_ptr<const Atom>;

/// Sum of coefficient × product of atoms. Canonical: equal values built in different orders or spellings compare equal.
/// Arithmetic is that of the integers: wrap-around is not modelled.
class IndexExpr {
public:
  using Monomial = std::vector<AtomRef>; ///< Sorted by Atom::key; empty is the constant term.

  IndexExpr() = default;
  IndexExpr(int64_t constant);
  static IndexExpr of(AtomRef atom);
  static IndexExpr term(const Monomial &monomial, int64_t coefficient);

  IndexExpr operator+(const IndexExpr &other) const;
  IndexExpr operator-(const IndexExpr &other) const;
  IndexExpr operator*(const IndexExpr &other) const;
  bool operator==(const IndexExpr &other) const { return key() == other.key(); }

  std::optional<int64_t> constant() const;                     ///< The value, when it holds no atom.
  int64_t constantTerm() const;
  IndexExpr coefficient(const AtomRef &atom) const;            ///< d/d atom, when linear in it; the terms that hold it once.
  bool mentions(const AtomRef &atom) const;                    ///< Anywhere, also inside a quotient or an opaque term's operands.
  bool mentionsKind(int kind) const;                           ///< Any atom of this Atom::Kind, anywhere.
  bool mentionsOpaque() const;                                 ///< Holds a value that depends on memory or an unknown call.
  IndexExpr substitute(const AtomRef &atom, const IndexExpr &with) const; ///< Also inside quotients.
  /// All at once (a swap is possible); keys are Atom::key.
  IndexExpr substitute(const std::map<std::string, IndexExpr> &values) const;
  std::vector<AtomRef> atoms() const;                          ///< Every atom, also inside quotients, once, sorted by key.
  const std::map<std::string, std::pair<Monomial, int64_t>> &terms() const { return sum; }
  std::string key() const;                                     ///< Canonical text, for comparing and for people.

private:
  std::map<std::string, std::pair<Monomial, int64_t>> sum;
  void addTerm(Monomial monomial, int64_t coefficient);
  void joinDigits();
};

/// One quantity of an index expression.
struct Atom {
  enum Kind {
    ThreadIdx, BlockIdx, BlockDim, GridDim, ///< `axis` is 0 (x), 1 (y), 2 (z). A thread index may hold its end in `right` (below).
    LoopVariable,                           ///< `decl`: the induction variable of a canonical loop; `left` begin, `right` exclusive end.
    Parameter,                              ///< `decl`: the value that a parameter has when the function is entered.
    Variable,                               ///< `decl`: a local whose value here is not one known expression.
    Quotient, Remainder,                    ///< left / right, left % right, C semantics; only non-negative ranges are simplified.
    And, Or, Xor, ShiftRight,               ///< Bit operations kept whole and comparable (swizzles).
    Minimum, Maximum,
    Opaque                                  ///< `expr`: a load, a call, a conversion from floating point; equal when structurally equal.
                                            ///< `left` sums the quantities that it depends on.
  };
  Kind kind;
  unsigned axis = 0;
  const clang::ValueDecl *decl = nullptr;
  const clang::Expr *expr = nullptr;
  IndexExpr left, right;   ///< Operands, or the range of a loop variable and the end of a thread or block index (0: the dimension).
  std::string key; ///< Canonical; a declaration contributes its identity within the unit, never only its name.
  bool hasRange = false;   ///< `left` and `right` are a range: value in [left, right).
};

AtomRef threadIdx(unsigned axis);
AtomRef threadIdx(unsigned axis, int64_t end); ///< Equal to the other by key; knows its range when the launch is constant.
AtomRef blockIdx(unsigned axis);
AtomRef blockDim(unsigned axis);
AtomRef gridDim(unsigned axis);
AtomRef loopVariable(const clang::VarDecl *decl);
AtomRef loopVariable(const clang::VarDecl *decl, const IndexExpr &begin, const IndexExpr &end);
AtomRef parameter(const clang::ParmVarDecl *decl);
AtomRef variable(const clang::ValueDecl *decl);
AtomRef opaque(const clang::Expr *expr, std::string structure, const IndexExpr &dependsOn);

IndexExpr quotient(const IndexExpr &left, const IndexExpr &right);  ///< Simplifies exact and partly exact divisions.
IndexExpr remainder(const IndexExpr &left, const IndexExpr &right);
IndexExpr bitwise(Atom::Kind kind, const IndexExpr &left, const IndexExpr &right); ///< And, Or, Xor, ShiftRight.
IndexExpr minimum(const IndexExpr &left, const IndexExpr &right);
IndexExpr maximum(const IndexExpr &left, const IndexExpr &right);

/// left / right when it has no remainder whatever the atoms are.
std::optional<IndexExpr> exactQuotient(const IndexExpr &left, const IndexExpr &right);

/// Proved from the ranges of the atoms. Parameters are taken for sizes, so not negative; dimensions are at least one.
bool isNonNegative(const IndexExpr &expr);
std::optional<int64_t> lowerBound(const IndexExpr &expr);
std::optional<int64_t> upperBound(const IndexExpr &expr);
/// The largest constant that divides the value whatever the atoms are; 0 for the constant zero.
int64_t knownDivisor(const IndexExpr &expr);

/// The expression as C++ text. `names` gives other text for atoms by key; an error names the atom that has no text.
using AtomText = std::function<std::optional<std::string>(const Atom &)>;
std::optional<std::string> spell(const IndexExpr &expr, const AtomText &opaqueText = {});

} // namespace klineage
