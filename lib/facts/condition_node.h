// The syntax tree of a condition. Inside the facts room only.
#pragma once
#include "facts/condition.h"

namespace klineage {

struct Condition::Node {
  enum Kind { Or, And, Not, Compare, Sum, Difference, Product, Divide, Modulo, Integer, Real, Name, Call, Quoted } kind;
  std::string text;   ///< The source that it was read from.
  std::string word;   ///< Operator of a comparison, name, fact, or the quoted text.
  int64_t integer = 0;
  double real = 0;
  std::vector<std::shared_ptr<const Node>> children;
};

} // namespace klineage
