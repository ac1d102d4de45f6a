// Conditions: small expressions over facts, written as text, answered with holds, violated or unknown, and why.
#pragma once
#include "facts/environment.h"
#include "model/kernel_model.h"
#include "support/result.h"

namespace klineage {

enum class Truth { Holds, Violated, Unknown };
const char *name(Truth truth);

struct Answer {
  Truth truth = Truth::Unknown;
  std::string why; ///< One sentence with the numbers that decided it.
};

/// One argument of a condition, bound by the site: an index or size, a buffer, an expression, a constant.
using FactValue = std::variant<int64_t, IndexExpr, const clang::ValueDecl *, const clang::Expr *, const clang::Stmt *, const Loop *, std::string>;
using FactBindings = std::map<std::string, FactValue>;

/// What a condition is evaluated against.
struct FactScope {
  const KernelModel &kernel;
  const Environment &environment;
  const FactBindings &bindings;
};

/// A parsed condition. Grammar and the table of facts: docs/conditions.md, printed by `klineage step facts`.
///   condition := or ; or := and ("or" and)* ; and := not ("and" not)* ; not := ["not"] primary
///   primary := "(" condition ")" | value [("<" | "<=" | "==" | "!=" | ">=" | ">") value]
///   value := sum of products of integers, names and fact calls `divisible(extent(row), width)`
/// Truth is three-valued (Kleene): unknown is never treated as holds.
class Condition {
public:
  static Result<Condition> parse(std::string_view text); ///< A user error with the column when the text is not a condition.
  Answer evaluate(const FactScope &scope) const;
  const std::string &text() const;
  /// Every name in it is a fact or one of these: it can be asked here. A site to be taken out binds no names that speak of adding.
  bool isAskedWith(const FactBindings &bindings) const;

  struct Node;

private:
  std::shared_ptr<const Node> root;
  std::string source;
};

/// Every fact that conditions may call, with its signature and meaning.
struct FactDescription {
  std::string name, signature, meaning;
};
std::vector<FactDescription> describeFacts();

} // namespace klineage
