// Specializer: rewrites expressions of a function by a rule, and folds what becomes constant: `0 + i`, `x * 1`, `if (0 == 0)`.
#pragma once
#include "step/step.h"

namespace klineage {

class Specializer {
public:
  /// The rule answers the text that an expression becomes, or nothing to leave it (its parts are then asked).
  using Rule = std::function<std::optional<std::string>(const clang::Expr *)>;
  Specializer(const Unit &unit, Rule rule) : unit(unit), rule(std::move(rule)) {}

  /// The statement becomes this text (with the edits of its own parts left out).
  void replace(const clang::Stmt *statement, std::string text) { replaced[statement] = std::move(text); }

  /// The edits for everything under the statement; none overlap.
  Result<Edits> edits(const clang::Stmt *root);

  /// The text of an expression after the rule and folding.
  std::string textOf(const clang::Expr *expr);

private:
  struct Folded {
    bool changed = false;
    std::optional<int64_t> value;
    std::string text;
  };
  const Unit &unit;
  Rule rule;
  std::map<const clang::Stmt *, std::string> replaced;
  std::optional<Error> problem;

  Folded fold(const clang::Expr *expr);
  Folded foldBinary(const clang::BinaryOperator *op);
  Folded splice(const clang::Expr *expr);
  void collect(const clang::Stmt *stmt, Edits &out);
  void collectExpr(const clang::Expr *expr, Edits &out);
  std::string rendered(const clang::Stmt *stmt);
};

/// The text of a place after edits that lie inside it.
std::string applyWithin(const Unit &unit, const Unit::Place &place, Edits edits);

} // namespace klineage
