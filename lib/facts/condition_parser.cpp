// Reads the text of a condition. The grammar is in condition.h and docs/conditions.md.
#include "facts/condition_node.h"
#include "facts/facts.h"
#include <algorithm>

namespace klineage {

namespace {

class Parser {
public:
  using Ref = std::shared_ptr<const Condition::Node>;
  explicit Parser(std::string_view text) : text(text) {}

  Result<Ref> run() {
    Ref root = disjunction();
    skip();
    if (root && at < text.size()) fail("a condition should end here");
    if (problem) return *problem;
    return root;
  }

private:
  using Node = Condition::Node;
  std::string_view text;
  size_t at = 0;
  unsigned depth = 0;
  std::optional<Error> problem;

  Ref fail(std::string what, std::string mend = {}) {
    if (!problem) problem = userError(std::move(what), "column " + std::to_string(at + 1) + " of '" + std::string(text) + "'", std::move(mend));
    return nullptr;
  }
  void skip() { while (at < text.size() && std::isspace((unsigned char)text[at])) ++at; }
  bool isWordAt(size_t i) const { return i < text.size() && (std::isalnum((unsigned char)text[i]) || text[i] == '_'); }
  bool word(std::string_view wanted) {
    skip();
    if (text.substr(at, wanted.size()) != wanted || isWordAt(at + wanted.size())) return false;
    at += wanted.size();
    return true;
  }
  bool symbol(std::string_view wanted) {
    skip();
    if (text.substr(at, wanted.size()) != wanted) return false;
    at += wanted.size();
    return true;
  }
  Ref node(Node::Kind kind, size_t from, std::vector<Ref> children, std::string name = {}) {
    auto made = std::make_shared<Node>();
    made->kind = kind;
    size_t end = at;
    while (end > from && std::isspace((unsigned char)text[end - 1])) --end;
    made->text = std::string(text.substr(from, end - from));
    made->word = std::move(name);
    made->children = std::move(children);
    return made;
  }
  struct Deeper {
    unsigned &depth;
    explicit Deeper(unsigned &depth) : depth(depth) { ++depth; }
    ~Deeper() { --depth; }
  };

  Ref disjunction() {
    Deeper guard(depth);
    if (depth > 100) return fail("the condition is nested too deeply");
    skip();
    size_t from = at;
    Ref left = conjunction();
    while (left && word("or")) {
      Ref right = conjunction();
      left = right ? node(Node::Or, from, {left, right}) : nullptr;
    }
    return left;
  }
  Ref conjunction() {
    skip();
    size_t from = at;
    Ref left = negation();
    while (left && word("and")) {
      Ref right = negation();
      left = right ? node(Node::And, from, {left, right}) : nullptr;
    }
    return left;
  }
  Ref negation() {
    Deeper guard(depth);
    if (depth > 100) return fail("the condition is nested too deeply");
    skip();
    size_t from = at;
    if (word("not")) {
      Ref inner = negation();
      return inner ? node(Node::Not, from, {inner}) : nullptr;
    }
    return comparison();
  }
  Ref comparison() {
    skip();
    size_t from = at;
    Ref left = sum();
    if (!left) return nullptr;
    for (const char *op : {"<=", ">=", "==", "!=", "<", ">"})
      if (symbol(op)) {
        Ref right = sum();
        return right ? node(Node::Compare, from, {left, right}, op) : nullptr;
      }
    return left;
  }
  Ref sum() {
    skip();
    size_t from = at;
    Ref left = product();
    while (left) {
      bool plus = symbol("+");
      if (!plus && !symbol("-")) break;
      Ref right = product();
      left = right ? node(plus ? Node::Sum : Node::Difference, from, {left, right}) : nullptr;
    }
    return left;
  }
  Ref product() {
    skip();
    size_t from = at;
    Ref left = value();
    while (left) {
      Node::Kind kind = symbol("*") ? Node::Product : symbol("/") ? Node::Divide : symbol("%") ? Node::Modulo : Node::Name;
      if (kind == Node::Name) break;
      Ref right = value();
      left = right ? node(kind, from, {left, right}) : nullptr;
    }
    return left;
  }
  Ref value() {
    skip();
    size_t from = at;
    if (at >= text.size()) return fail("a value is missing at the end");
    if (symbol("(")) {
      Ref inner = disjunction();
      if (inner && !symbol(")")) return fail("')' is missing");
      return inner;
    }
    if (text[at] == '\'' || text[at] == '"') {
      char quote = text[at];
      size_t end = text.find(quote, at + 1);
      if (end == std::string_view::npos) return fail("the quote is not closed");
      std::string inner(text.substr(at + 1, end - at - 1));
      at = end + 1;
      return node(Node::Quoted, from, {}, inner);
    }
    if (std::isdigit((unsigned char)text[at])) {
      size_t end = at;
      bool isReal = false;
      while (end < text.size() && (std::isdigit((unsigned char)text[end]) || text[end] == '.' || text[end] == 'e' || text[end] == 'E' ||
                                   ((text[end] == '-' || text[end] == '+') && (text[end - 1] == 'e' || text[end - 1] == 'E')))) {
        isReal |= text[end] == '.' || text[end] == 'e' || text[end] == 'E';
        ++end;
      }
      std::string digits(text.substr(at, end - at));
      if (isWordAt(end) || digits.size() > 18) return fail("'" + digits + "' is no number that fits");
      at = end;
      auto made = std::make_shared<Node>(*node(isReal ? Node::Real : Node::Integer, from, {}));
      if (isReal) {
        char *rest = nullptr;
        made->real = std::strtod(digits.c_str(), &rest);
        if (*rest) { at = from; return fail("'" + digits + "' is no number"); }
      } else made->integer = std::stoll(digits);
      return made;
    }
    if (!isWordAt(at)) return fail(std::string("'") + text[at] + "' begins no value");
    while (isWordAt(at)) ++at;
    std::string name(text.substr(from, at - from));
    if (name == "and" || name == "or" || name == "not") { at = from; return fail("'" + name + "' stands where a value should"); }
    if (!symbol("(")) return node(Node::Name, from, {}, name);
    std::vector<Ref> arguments;
    if (!symbol(")")) {
      do {
        Ref argument = disjunction();
        if (!argument) return nullptr;
        arguments.push_back(argument);
      } while (symbol(","));
      if (!symbol(")")) return fail("')' or ',' is missing after the arguments of " + name);
    }
    const auto &facts = allFacts();
    auto fact = std::find_if(facts.begin(), facts.end(), [&](const Fact &f) { return name == f.name; });
    if (fact == facts.end()) {
      at = from;
      std::string close;
      for (const Fact &f : facts)
        if (std::string_view(f.name).find(name.substr(0, 4)) != std::string_view::npos) close += (close.empty() ? "did you mean " : ", ") + std::string(f.name);
      return fail("there is no fact named " + name, close.empty() ? "the facts are listed in docs/conditions.md" : close);
    }
    if (arguments.size() < fact->minimum || arguments.size() > fact->maximum) {
      at = from;
      return fail(name + " is given " + std::to_string(arguments.size()) + " arguments", std::string("it is ") + fact->signature);
    }
    return node(Node::Call, from, std::move(arguments), name);
  }
};

} // namespace

Result<Condition> Condition::parse(std::string_view text) {
  auto root = Parser(text).run();
  if (!root) return root.error();
  Condition condition;
  condition.root = *root;
  condition.source = std::string(text);
  return condition;
}

const std::string &Condition::text() const { return source; }

} // namespace klineage
