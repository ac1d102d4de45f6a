// Inline PTX as statements. Knows PTX's grammar as far as inline assembly uses it, and nothing of what instructions do.
#pragma once
#include "support/result.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace klineage::emulated {

/// A list whose elements may be asked for past its end, as in `add.s32 %r1;`: what is not there is empty, and nothing understands that.
template <typename T> class PtxList : public std::vector<T> {
public:
  using std::vector<T>::vector;
  const T &operator[](size_t i) const {
    static const T absent{};
    return i < this->size() ? std::vector<T>::operator[](i) : absent;
  }
  const T &front() const { return (*this)[0]; }
  const T &back() const { return (*this)[this->size() - 1]; }
};

struct PtxOperand {
  enum Kind { Name, Number, Vector, Address } kind = Name;
  std::string text;                 ///< Register ("low"), argument ("$3"), special register ("%laneid") or literal ("0x10", "0f3f800000").
  bool negated = false;             ///< !p
  std::string second;               ///< q of p|q
  std::vector<PtxOperand> elements; ///< Vector: its registers. Address: the base.
  int64_t offset = 0;               ///< Address: bytes after the base.
};

struct PtxInstruction {
  std::string predicate;            ///< Of @p, or empty.
  bool predicateNegated = false;
  PtxList<std::string> opcode;      ///< "cvt.rn.f16.f32" split at its dots.
  PtxList<PtxOperand> operands;
  std::string text;                 ///< As written, for messages.

  bool has(std::string_view modifier) const;
  const std::string &operation() const { return opcode.front(); }
};

struct PtxDeclaration {
  std::string type;                 ///< "b32", "pred", ...
  std::vector<std::string> names;
};

struct PtxBody {
  std::vector<PtxDeclaration> declarations;
  std::vector<PtxInstruction> instructions;
};

/// A refusal names the statement that is not understood ("unsupported_ptx: ...").
Result<PtxBody> parsePtx(std::string_view text);

} // namespace klineage::emulated
