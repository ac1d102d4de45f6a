// Expressions over axes: integers, names, + - * / % ( ), ceil_div, min, max; over reals also sqrt.
#include "workload/located_json.h"
#include "workload/workload.h"
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace klineage {
namespace {

/// Recursive descent over one expression. Number is int64_t (overflow is an error) or double.
template <typename Number> class Parser {
public:
  static constexpr bool integral = std::is_same_v<Number, int64_t>;

  Parser(const std::string &text, const std::map<std::string, int64_t> &axes) : text(text), axes(axes) {}

  Result<Number> whole() {
    Number value = sum();
    skip();
    if (!error && at < text.size()) fail("unexpected '" + text.substr(at, 1) + "'");
    if (error) return *error;
    return value;
  }

private:
  static constexpr int deepest = 64;

  Number fail(const std::string &what, const std::string &mend = {}) {
    if (!error) error = userError("expression \"" + text + "\": " + what + " at column " + std::to_string(at + 1), {}, mend);
    return Number(1);
  }
  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  }
  bool take(char c) {
    skip();
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }

  Number sum() {
    Number left = product();
    while (!error) {
      if (take('+')) left = combine('+', left, product());
      else if (take('-')) left = combine('-', left, product());
      else break;
    }
    return left;
  }
  Number product() {
    Number left = unary();
    while (!error) {
      if (take('*')) left = combine('*', left, unary());
      else if (take('/')) left = combine('/', left, unary());
      else if (take('%')) left = combine('%', left, unary());
      else break;
    }
    return left;
  }
  Number unary() {
    if (++depth > deepest) return fail("nested too deeply");
    Number value = take('-') ? combine('-', Number(0), unary()) : primary();
    --depth;
    return value;
  }
  Number primary() {
    skip();
    if (at >= text.size()) return fail("a number or a name is missing");
    char c = text[at];
    if (std::isdigit(static_cast<unsigned char>(c)) || (!integral && c == '.')) return number();
    if (take('(')) {
      Number value = sum();
      if (!take(')')) return fail("')' is missing");
      return value;
    }
    if (!std::isalpha(static_cast<unsigned char>(c)) && c != '_') return fail(std::string("unexpected '") + c + "'");
    size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
    std::string word = text.substr(begin, at - begin);
    if (take('(')) return call(word);
    if (auto found = axes.find(word); found != axes.end()) return Number(found->second);
    std::vector<std::string> names;
    for (const auto &[axis, value] : axes) names.push_back(axis);
    std::string near = nearestWord(word, names);
    at = begin;
    return fail("\"" + word + "\" is not an axis", near.empty() ? "list it under \"axes\"" : "did you mean \"" + near + "\"?");
  }
  Number number() {
    const char *begin = text.c_str() + at;
    char *end = nullptr;
    errno = 0;
    Number value;
    if constexpr (integral) value = std::strtoll(begin, &end, 10);
    else value = std::strtod(begin, &end);
    if (errno == ERANGE && integral) return fail("the number does not fit 64 bits");
    at += size_t(end - begin);
    return value;
  }
  Number call(const std::string &function) {
    std::vector<Number> values;
    do values.push_back(sum());
    while (!error && take(','));
    if (error) return Number(1);
    if (!take(')')) return fail("')' is missing");
    auto needs = [&](size_t count) {
      if (values.size() == count) return true;
      fail(function + " takes " + std::to_string(count) + (count == 1 ? " value" : " values"));
      return false;
    };
    if (function == "min") return needs(2) ? std::min(values[0], values[1]) : Number(1);
    if (function == "max") return needs(2) ? std::max(values[0], values[1]) : Number(1);
    if (function == "ceil_div") {
      if (!needs(2)) return Number(1);
      if (values[1] <= 0 || values[0] < 0) return fail("ceil_div needs a value of at least 0 and a divisor above 0");
      if constexpr (integral) return values[0] / values[1] + (values[0] % values[1] != 0);
      else return std::ceil(values[0] / values[1]);
    }
    if constexpr (!integral)
      if (function == "sqrt") return needs(1) ? std::sqrt(values[0]) : Number(1);
    return fail("there is no function \"" + function + "\"",
                integral ? "ceil_div, min and max exist" : "ceil_div, min, max and sqrt exist");
  }
  Number combine(char op, Number a, Number b) {
    if (error) return Number(1);
    if constexpr (integral) {
      int64_t out = 0;
      bool overflow = false;
      switch (op) {
      case '+': overflow = __builtin_add_overflow(a, b, &out); break;
      case '-': overflow = __builtin_sub_overflow(a, b, &out); break;
      case '*': overflow = __builtin_mul_overflow(a, b, &out); break;
      default:
        if (b == 0) return fail("division by zero");
        if (b == -1) overflow = op == '/' && __builtin_sub_overflow(int64_t(0), a, &out);
        else out = op == '/' ? a / b : a % b;
      }
      return overflow ? fail("the value does not fit 64 bits") : out;
    } else {
      switch (op) {
      case '+': return a + b;
      case '-': return a - b;
      case '*': return a * b;
      case '/': return b == 0 ? fail("division by zero") : a / b;
      default: return b == 0 ? fail("division by zero") : std::fmod(a, b);
      }
    }
  }

  const std::string &text;
  const std::map<std::string, int64_t> &axes;
  size_t at = 0;
  int depth = 0;
  std::optional<Error> error;
};

} // namespace

Result<int64_t> evaluate(const std::string &expression, const std::map<std::string, int64_t> &axes) {
  return Parser<int64_t>(expression, axes).whole();
}

Result<double> evaluateReal(const std::string &expression, const std::map<std::string, int64_t> &axes) {
  return Parser<double>(expression, axes).whole();
}

} // namespace klineage
