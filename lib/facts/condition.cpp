// Evaluates conditions in three-valued (Kleene) logic, and says why.
#include "facts/condition_node.h"
#include "facts/facts.h"
#include <algorithm>

namespace klineage {

const char *name(Truth truth) {
  switch (truth) {
  case Truth::Holds: return "holds";
  case Truth::Violated: return "violated";
  case Truth::Unknown: return "unknown";
  }
  return "unknown";
}

namespace {

using Node = Condition::Node;

Operand operandOf(const FactValue &value) {
  Operand operand;
  if (auto *v = std::get_if<int64_t>(&value)) return Operand::of(IndexExpr(*v));
  if (auto *v = std::get_if<IndexExpr>(&value)) return Operand::of(*v);
  if (auto *v = std::get_if<const clang::ValueDecl *>(&value)) { operand.kind = Operand::Declaration; operand.decl = *v; }
  else if (auto *v = std::get_if<const clang::Expr *>(&value)) { operand.kind = Operand::Expression; operand.expr = *v; operand.stmt = *v; }
  else if (auto *v = std::get_if<const clang::Stmt *>(&value)) { operand.kind = Operand::Statement; operand.stmt = *v; }
  else if (auto *v = std::get_if<const Loop *>(&value)) { operand.kind = Operand::LoopRef; operand.loop = *v; }
  else if (auto *v = std::get_if<std::string>(&value)) { operand.kind = Operand::Text; operand.label = *v; }
  bool isNull = (operand.kind == Operand::Declaration && !operand.decl) || (operand.kind == Operand::Expression && !operand.expr) ||
                (operand.kind == Operand::Statement && !operand.stmt) || (operand.kind == Operand::LoopRef && !operand.loop);
  return isNull ? Operand::missing("the site does not say what it is") : operand;
}

class Evaluator {
public:
  explicit Evaluator(const FactScope &scope) : scope(scope) {}

  Answer truth(const Node &node) {
    switch (node.kind) {
    case Node::Or: case Node::And: {
      Answer left = truth(*node.children[0]), right = truth(*node.children[1]);
      Truth decides = node.kind == Node::And ? Truth::Violated : Truth::Holds;
      if (left.truth == decides) return left;
      if (right.truth == decides) return right;
      if (left.truth == Truth::Unknown) return left;
      if (right.truth == Truth::Unknown) return right;
      return {left.truth, left.why + "; " + right.why};
    }
    case Node::Not: {
      Answer inner = truth(*node.children[0]);
      if (inner.truth != Truth::Unknown) inner.truth = inner.truth == Truth::Holds ? Truth::Violated : Truth::Holds;
      return inner;
    }
    case Node::Compare: return compare(node);
    default: break;
    }
    Operand value = operand(node);
    if (value.kind == Operand::Verdict) return value.verdict;
    if (value.kind == Operand::Missing) return unknown(node.text + ": " + value.why);
    // A number stands for "is not zero", so that a site can bind a yes or no.
    if (auto number = numberOf(scope, value))
      return overCases(scope, value, *number, [](const IndexExpr &v) {
        if (auto c = v.constant()) return *c ? Truth::Holds : Truth::Violated;
        return isNonNegative(v - 1) ? Truth::Holds : Truth::Unknown;
      }, "is not zero", "is zero");
    return unknown(node.text + " is neither true nor false");
  }

private:
  const FactScope &scope;

  Operand operand(const Node &node) {
    Operand value = operandFresh(node);
    value.label = value.kind == Operand::Text ? value.label : node.text;
    return value;
  }

  Operand operandFresh(const Node &node) {
    switch (node.kind) {
    case Node::Integer: return Operand::of(IndexExpr(node.integer));
    case Node::Real: {
      Operand value;
      value.kind = Operand::Real;
      value.real = node.real;
      return value;
    }
    case Node::Quoted: {
      Operand value;
      value.kind = Operand::Text;
      value.label = node.word;
      return value;
    }
    case Node::Name: {
      // What the site binds goes before a fact of the same name.
      if (auto it = scope.bindings.find(node.word); it != scope.bindings.end()) return operandOf(it->second);
      return call(node);
    }
    case Node::Call: return call(node);
    case Node::Sum: case Node::Difference: case Node::Product: case Node::Divide: case Node::Modulo: {
      Operand left = operand(*node.children[0]), right = operand(*node.children[1]);
      if (left.kind == Operand::Missing) return left;
      if (right.kind == Operand::Missing) return right;
      auto a = numberOf(scope, left), b = numberOf(scope, right);
      if (!a || !b) return Operand::missing((a ? right : left).label + " is no integer");
      if ((node.kind == Node::Divide || node.kind == Node::Modulo) && b->constant() == 0) return Operand::missing("it divides by zero");
      switch (node.kind) {
      case Node::Sum: return Operand::of(*a + *b);
      case Node::Difference: return Operand::of(*a - *b);
      case Node::Product: return Operand::of(*a * *b);
      case Node::Divide: return Operand::of(quotient(*a, *b));
      default: return Operand::of(remainder(*a, *b));
      }
    }
    default: return Operand::of(truth(node));
    }
  }

  Operand call(const Node &node) {
    const auto &facts = allFacts();
    auto fact = std::find_if(facts.begin(), facts.end(), [&](const Fact &f) { return node.word == f.name; });
    if (fact == facts.end()) return Operand::missing("the site binds no such name, and there is no such fact");
    if (node.children.size() < fact->minimum) return Operand::missing(std::string("it is a fact that needs arguments: ") + fact->signature);
    std::vector<Operand> arguments;
    for (const auto &child : node.children) {
      Operand argument = operand(*child);
      if (argument.kind == Operand::Missing) return Operand::missing(child->text + ": " + argument.why);
      arguments.push_back(std::move(argument));
    }
    return fact->evaluate(scope, arguments);
  }

  static Truth relate(const std::string &op, double left, double right) {
    bool yes = op == "<" ? left < right : op == "<=" ? left <= right : op == "==" ? left == right : op == "!=" ? left != right : op == ">" ? left > right : left >= right;
    return yes ? Truth::Holds : Truth::Violated;
  }

  Answer compare(const Node &node) {
    Operand left = operand(*node.children[0]), right = operand(*node.children[1]);
    for (const Operand *side : {&left, &right})
      if (side->kind == Operand::Missing) return unknown(side->label + ": " + side->why);
    const std::string &op = node.word;
    if (left.kind == Operand::Text && right.kind == Operand::Text && (op == "==" || op == "!=")) {
      bool same = left.label == right.label;
      return {same == (op == "==") ? Truth::Holds : Truth::Violated, "'" + left.label + "' and '" + right.label + (same ? "' are the same" : "' differ")};
    }
    if (left.kind == Operand::Declaration && right.kind == Operand::Declaration && (op == "==" || op == "!=")) {
      bool same = left.decl == right.decl;
      return {same == (op == "==") ? Truth::Holds : Truth::Violated, left.decl->getNameAsString() + " and " + right.decl->getNameAsString() + (same ? " are one" : " are two") + " buffers"};
    }
    if (left.kind == Operand::Real || right.kind == Operand::Real) {
      auto real = [&](const Operand &o) -> std::optional<double> {
        if (o.kind == Operand::Real) return o.real;
        auto number = numberOf(scope, o);
        auto c = number ? number->constant() : std::nullopt;
        return c ? std::optional<double>(double(*c)) : std::nullopt;
      };
      auto a = real(left), b = real(right);
      if (!a || !b) return unknown((a ? right : left).label + " is not one number");
      Truth truth = relate(op, *a, *b);
      char text[96];
      snprintf(text, sizeof text, "%g %s %g is %s", *a, op.c_str(), *b, truth == Truth::Holds ? "so" : "not so");
      return {truth, text};
    }
    auto a = numberOf(scope, left), b = numberOf(scope, right);
    if (!a || !b) return unknown((a ? right : left).label + " is no number");
    Operand both = Operand::of(*a - *b);
    both.label = left.label + " - " + right.label;
    Cases difference = casesOf(scope, *a - *b), lefts = casesOf(scope, *a), rights = casesOf(scope, *b);
    bool allHold = true;
    std::string shown;
    for (size_t i = 0; i < difference.cases.size(); ++i) {
      const IndexExpr &d = difference.cases[i].value;
      Truth truth = Truth::Unknown;
      if (auto c = d.constant()) truth = relate(op, double(*c), 0);
      else truth = proved(op, d);
      std::string words = spelledOr(scope, lefts.cases[i].value) + " " + op + " " + spelledOr(scope, rights.cases[i].value);
      if (truth == Truth::Violated) return violated(left.label + " " + op + " " + right.label + ": " + words + " is not so");
      if (truth == Truth::Unknown) {
        if (allHold) shown = words + " is not decided" + (difference.symbolic && !difference.why.empty() ? " (" + difference.why + ")" : "");
        allHold = false;
      } else if (allHold && shown.find(words) == std::string::npos && shown.size() < 120) shown += (shown.empty() ? "" : ", ") + words;
    }
    if (!allHold) return unknown(left.label + " " + op + " " + right.label + ": " + shown);
    return holds(shown);
  }

  static Truth proved(const std::string &op, const IndexExpr &difference) {
    IndexExpr zero;
    bool atLeast = isNonNegative(difference), atMost = isNonNegative(zero - difference);
    bool above = isNonNegative(difference - 1), below = isNonNegative(zero - difference - 1);
    auto decide = [](bool yes, bool no) { return yes ? Truth::Holds : no ? Truth::Violated : Truth::Unknown; };
    if (op == "<") return decide(below, atLeast);
    if (op == "<=") return decide(atMost, above);
    if (op == ">") return decide(above, atMost);
    if (op == ">=") return decide(atLeast, below);
    if (op == "==") return decide(atLeast && atMost, above || below);
    return decide(above || below, atLeast && atMost);
  }
};

} // namespace

namespace {

bool isNamed(const Condition::Node &node, const FactBindings &bindings) {
  bool names = node.kind == Condition::Node::Name || node.kind == Condition::Node::Call;
  const auto &facts = allFacts();
  if (names && !bindings.count(node.word) && std::none_of(facts.begin(), facts.end(), [&](const Fact &fact) { return node.word == fact.name; })) return false;
  return std::all_of(node.children.begin(), node.children.end(), [&](const auto &child) { return isNamed(*child, bindings); });
}

} // namespace

bool Condition::isAskedWith(const FactBindings &bindings) const { return isNamed(*root, bindings); }

Answer Condition::evaluate(const FactScope &scope) const { return Evaluator(scope).truth(*root); }

} // namespace klineage
