// IndexExpr: an integer expression as a polynomial over named quantities, so that spelling does not matter.
#pragma once
#include "source/clang_headers.h"

namespace klineage {

struct Atom;
using AtomRef = std::shared_ptr<const Atom>;

/// Sum of coefficient × product of atoms. Canonical: equal values built in different orders or spellings compare equal.
class IndexExpr {
public:
  using Monomial = std::vector<AtomRef>; ///< Sorted by Atom::key; empty is the constant term.

  IndexExpr() = default;
  IndexExpr(int64_t constant);
  static IndexExpr of(AtomRef atom);

  IndexExpr operator+(const IndexExpr &other) const;
  IndexExpr operator-(const IndexExpr &other) const;
  IndexExpr operator*(const IndexExpr &other) const;
  bool operator==(const IndexExpr &other) const { return key() == other.key(); }

  std::optional<int64_t> constant() const;                     ///< The value, when it holds no atom.
  int64_t constantTerm() const;
  IndexExpr coefficient(const AtomRef &atom) const;            ///< d/d atom, when linear in it; the terms that hold it once.
  bool mentions(const AtomRef &atom) const;                    ///< Anywhere, also inside a quotient.
  bool mentionsOpaque() const;                                 ///< Holds a value that depends on memory or an unknown call.
  IndexExpr substitute(const AtomRef &atom, const IndexExpr &with) const; ///< Also inside quotients.
  std::vector<AtomRef> atoms() const;                          ///< Every atom, also inside quotients, once, sorted by key.
  const std::map<std::string, std::pair<Monomial, int64_t>> &terms() const { return sum; }
  std::string key() const;                                     ///< Canonical text, for comparing and for people.

private:
  std::map<std::string, std::pair<Monomial, int64_t>> sum;
  void addTerm(Monomial monomial, int64_t coefficient);
};

/// One quantity of an index expression.
struct Atom {
  enum Kind {
    ThreadIdx, BlockIdx, BlockDim, GridDim, ///< `axis` is 0 (x), 1 (y), 2 (z).
    LoopVariable,                           ///< `decl`: the induction variable of a canonical loop.
    Parameter,                              ///< `decl`: a kernel parameter that the kernel never writes.
    Variable,                               ///< `decl`: a local whose value here is not one known expression.
    Quotient, Remainder,                    ///< left / right, left % right, C semantics; only non-negative ranges are simplified.
    And, Or, Xor, ShiftRight,               ///< Bit operations kept whole and comparable (swizzles).
    Minimum, Maximum,
    Opaque                                  ///< `expr`: a load, a call, a conversion from floating point; equal when structurally equal.
  };
  Kind kind;
  unsigned axis = 0;
  const clang::ValueDecl *decl = nullptr;
  const clang::Expr *expr = nullptr;
  IndexExpr left, right;
  std::string key; ///< Canonical; a declaration contributes its identity within the unit, never only its name.
};

AtomRef threadIdx(unsigned axis);
AtomRef blockIdx(unsigned axis);
AtomRef blockDim(unsigned axis);
AtomRef gridDim(unsigned axis);
AtomRef loopVariable(const clang::VarDecl *decl);
AtomRef parameter(const clang::ParmVarDecl *decl);
IndexExpr quotient(const IndexExpr &left, const IndexExpr &right);  ///< Simplifies exact and partly exact divisions.
IndexExpr remainder(const IndexExpr &left, const IndexExpr &right);
IndexExpr bitwise(Atom::Kind kind, const IndexExpr &left, const IndexExpr &right);

} // namespace klineage
