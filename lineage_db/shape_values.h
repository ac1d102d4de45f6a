// The index values of a fragment: sums of products over thread, block and loop indices and sizes, with the names resolved as far as
// the fragment shows them.
#pragma once
#include "lineage_db/fragment.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace klineage::fragment {

/// Sum of coefficient × product of atoms. An atom begins with the letter of its role, so that equal atoms compare equal and the role of
/// unequal ones can be compared:
///   x thread index x      y thread index y or z     b block index      d block size     G grid size
///   l lane (x mod 32)     w warp (x / 32)           X other quotient or remainder over the thread index
///   i loop variable (followed by the loop's number) I quotient or remainder over a loop variable
///   s a size or a name that the fragment does not explain           m a value read from memory
class Poly {
public:
  using Product = std::vector<std::string>; ///< Sorted.
  std::map<Product, int64_t> terms;

  static Poly constant(int64_t value);
  static Poly atom(const std::string &name);
  Poly operator+(const Poly &other) const;
  Poly operator-(const Poly &other) const;
  Poly operator*(const Poly &other) const;
  std::optional<int64_t> asConstant() const;
  bool hasRole(char role) const;
  bool mentions(const std::string &atom) const;
  std::string text() const; ///< Exact, for comparing within a fragment.
};

/// Where a pointer points to.
struct Place {
  std::string base;   ///< A name of the fragment; "?" when it is none.
  std::vector<Poly> subscripts; ///< One, or one a dimension, outermost first.
  int width = 1;      ///< Elements of one access, from a vector type.
  bool viaCast = false;
};

/// What the fragment shows of its names.
class Values {
public:
  struct Name {
    std::optional<Poly> value;      ///< An integer written once.
    std::optional<Place> pointer;
    char space = '?';               ///< g global, s shared, r register array, ? not shown
    int width = 1;                  ///< Of the element type.
    bool ofExponential = false;     ///< Holds exp(a - b).
    bool scalar = false;            ///< A declared variable that is no array and no pointer.
  };
  std::map<std::string, Name> names;
  std::set<std::string> written;    ///< Assigned after its declaration, anywhere in the fragment.

  Poly eval(const Expr &expr) const;
  /// The place that an lvalue or a pointer names; subscripts empty where the pointer itself is meant.
  std::optional<Place> place(const Expr &expr) const;
};

/// exp, max, fma, ...: CUDA's own functions by what they do, whatever their precision or type; else empty. `fast`: an approximate form.
std::string knownFunction(const std::string &name, bool *fast = nullptr);

/// Text of an expression as it stands, for comparing within a fragment.
std::string show(const Expr &expr);

} // namespace klineage::fragment
