// Shape: the structure of a piece of CUDA as a multiset of tokens, so that code is found by what it does and not by its names.
// The piece need not compile, nor be whole: unknown names are taken for what their use shows.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace klineage {

/// Token to count. What the tokens are and why: docs/corpus.md, "Shapes".
using Shape = std::map<std::string, int>;

/// Never fails: text in which nothing is recognised has an empty shape. Equal for code that differs in names, comments, white
/// space, the order of commutative operands and the spelling of an index.
Shape shapeOf(std::string_view code);

/// Raised when the tokens of any code could change; a corpus with other tokens is indexed anew when it is opened for writing.
constexpr int shapeRevision = 2;

} // namespace klineage
