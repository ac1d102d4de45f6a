#include "lineage_db/shape_values.h"
#include <algorithm>
#include <cstdlib>

namespace klineage::fragment {

Poly Poly::constant(int64_t value) {
  Poly p;
  if (value) p.terms[{}] = value;
  return p;
}
Poly Poly::atom(const std::string &name) {
  Poly p;
  p.terms[{name}] = 1;
  return p;
}
namespace {
constexpr size_t mostTerms = 64; ///< A longer sum is no index that anything could be learned from.

// Wraps instead of overflowing: the coefficients of nonsense need only stay comparable.
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

void add(Poly &to, const Poly::Product &product, int64_t coefficient) {
  int64_t &slot = to.terms[product];
  slot = wrap(uint64_t(slot) + uint64_t(coefficient));
  if (slot == 0) to.terms.erase(product);
}
} // namespace
Poly Poly::operator+(const Poly &other) const {
  Poly result = *this;
  for (const auto &[product, coefficient] : other.terms) add(result, product, coefficient);
  return result;
}
Poly Poly::operator-(const Poly &other) const {
  Poly result = *this;
  for (const auto &[product, coefficient] : other.terms) add(result, product, wrap(0 - uint64_t(coefficient)));
  return result;
}
Poly Poly::operator*(const Poly &other) const {
  Poly result;
  if (terms.size() * other.terms.size() > mostTerms) return atom("s:long");
  for (const auto &[p, a] : terms)
    for (const auto &[q, b] : other.terms) {
      Product both = p;
      both.insert(both.end(), q.begin(), q.end());
      std::sort(both.begin(), both.end());
      if (both.size() > 16) return atom("s:long");
      add(result, both, wrap(uint64_t(a) * uint64_t(b)));
    }
  return result;
}
std::optional<int64_t> Poly::asConstant() const {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  return std::nullopt;
}
bool Poly::hasRole(char role) const {
  for (const auto &[product, coefficient] : terms)
    for (const std::string &atom : product)
      if (atom[0] == role) return true;
  return false;
}
bool Poly::mentions(const std::string &name) const {
  for (const auto &[product, coefficient] : terms)
    if (std::find(product.begin(), product.end(), name) != product.end()) return true;
  return false;
}
std::string Poly::text() const {
  std::string result;
  for (const auto &[product, coefficient] : terms) {
    result += std::to_string(coefficient);
    for (const std::string &atom : product) result += "*" + atom;
    result += "+";
  }
  return result;
}

std::string show(const Expr &expr) {
  std::string result = std::to_string(int(expr.kind)) + expr.text + "(";
  for (const ExprPtr &kid : expr.kids) result += kid ? show(*kid) + "," : ",";
  return result + ")";
}

std::string knownFunction(const std::string &spelled, bool *fast) {
  std::string name = spelled.substr(spelled.rfind(':') == std::string::npos ? 0 : spelled.rfind(':') + 1);
  static const std::map<std::string, std::string> approximate = {
      {"__expf", "exp"}, {"__exp10f", "exp"}, {"__exp2f", "exp"}, {"__logf", "log"}, {"__log2f", "log"}, {"__log10f", "log"}, {"__powf", "pow"}, {"__sinf", "sin"}, {"__cosf", "sin"},
      {"__tanf", "tan"}, {"__tanhf", "tanh"}, {"__fdividef", "div"}, {"__frcp_rn", "div"}, {"__frcp_rz", "div"}, {"__fdiv_rn", "div"}, {"__frsqrt_rn", "sqrt"}, {"__fsqrt_rn", "sqrt"}, {"__saturatef", "max"}};
  static const std::map<std::string, std::string> exact = {
      {"exp", "exp"}, {"expf", "exp"}, {"exp2", "exp"}, {"exp2f", "exp"}, {"hexp", "exp"}, {"log", "log"}, {"logf", "log"}, {"log2f", "log"}, {"log1pf", "log"}, {"pow", "pow"}, {"powf", "pow"},
      {"sin", "sin"}, {"sinf", "sin"}, {"cos", "sin"}, {"cosf", "sin"}, {"tanh", "tanh"}, {"tanhf", "tanh"}, {"sqrt", "sqrt"}, {"sqrtf", "sqrt"}, {"rsqrt", "sqrt"}, {"rsqrtf", "sqrt"},
      {"max", "max"}, {"fmax", "max"}, {"fmaxf", "max"}, {"__hmax", "max"}, {"min", "min"}, {"fmin", "min"}, {"fminf", "min"}, {"fma", "fma"}, {"fmaf", "fma"}, {"__fmaf_rn", "fma"}, {"__hfma", "fma"}, {"__hfma2", "fma"},
      {"__ldg", "load"}, {"__ldcs", "load"}, {"__ldca", "load"}, {"__ldcg", "load"}, {"__stcs", "store"}, {"__stcg", "store"}, {"__syncthreads", "barrier"}, {"__syncwarp", "syncwarp"}, {"sync", "barrier"},
      {"memcpy_async", "async"}, {"__pipeline_memcpy_async", "async"}, {"__pipeline_commit", "async"}, {"__pipeline_wait_prior", "async"},
      {"make_float4", "vec4"}, {"make_int4", "vec4"}, {"make_uint4", "vec4"}, {"make_float2", "vec2"}, {"make_int2", "vec2"}, {"make_uint2", "vec2"}, {"__floats2half2_rn", "vec2"}, {"fabsf", "abs"}, {"abs", "abs"}};
  if (fast) *fast = false;
  if (auto found = approximate.find(name); found != approximate.end()) {
    if (fast) *fast = true;
    return found->second;
  }
  if (auto found = exact.find(name); found != exact.end()) return found->second;
  if (name.rfind("__shfl", 0) == 0 || name == "shfl" || name.rfind("shfl_", 0) == 0) return "shuffle";
  if (name.rfind("__reduce_", 0) == 0) return "shuffle";
  if (name.rfind("atomic", 0) == 0) return "atomic";
  return "";
}

Poly Values::eval(const Expr &expr) const {
  switch (expr.kind) {
  case Expr::Number: {
    if (expr.text.find('.') != std::string::npos && expr.text.substr(0, 2) != "0x") return Poly::atom("m");
    return Poly::constant(std::strtoll(expr.text.c_str(), nullptr, 0));
  }
  case Expr::Name: {
    if (auto found = names.find(expr.text); found != names.end() && found->second.value) return *found->second.value;
    return expr.text == "warpSize" ? Poly::constant(32) : Poly::atom("s:" + expr.text);
  }
  case Expr::Member: {
    if (expr.kids[0]->kind == Expr::Name && expr.text.size() == 1) {
      const std::string &owner = expr.kids[0]->text;
      if (owner == "threadIdx") return Poly::atom(expr.text == "x" ? "x" : "y" + expr.text);
      if (owner == "blockIdx") return Poly::atom("b" + expr.text);
      if (owner == "blockDim") return Poly::atom("d" + expr.text);
      if (owner == "gridDim") return Poly::atom("G" + expr.text);
    }
    return Poly::atom("s:" + show(expr));
  }
  case Expr::Cast:
    return expr.kids.size() == 1 ? eval(*expr.kids[0]) : Poly::atom("m");
  case Expr::Unary:
    if (expr.text == "-") return Poly() - eval(*expr.kids[0]);
    if (expr.text == "*" || expr.text == "&") return Poly::atom("m");
    return eval(*expr.kids[0]);
  case Expr::Index:
    return Poly::atom("m");
  case Expr::Binary: {
    Poly a = eval(*expr.kids[0]), b = eval(*expr.kids[1]);
    const std::string &op = expr.text;
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    auto constant = b.asConstant();
    if (op == "<<" && constant && *constant >= 0 && *constant < 31) return a * Poly::constant(int64_t(1) << *constant);
    if (op == "/" || op == "%" || op == ">>" || op == "&" || op == "^" || op == "|") {
      const bool thread = a.terms.size() == 1 && a.hasRole('x') && a.terms.begin()->first.size() == 1;
      if (thread && constant) {
        if ((op == "/" && *constant == 32) || (op == ">>" && *constant == 5)) return Poly::atom("w");
        if ((op == "%" && *constant == 32) || (op == "&" && *constant == 31)) return Poly::atom("l");
      }
      char role = a.hasRole('x') || a.hasRole('y') || a.hasRole('X') || a.hasRole('l') || a.hasRole('w') ? 'X' : a.hasRole('i') || a.hasRole('I') ? 'I' : a.hasRole('m') ? 'm' : 's';
      return Poly::atom(std::string(1, role) + ":" + a.text() + op + b.text());
    }
    return Poly::atom("s:" + show(expr));
  }
  case Expr::Conditional:
  case Expr::Call: {
    std::string known = expr.kind == Expr::Call && expr.kids[0]->kind == Expr::Name ? knownFunction(expr.kids[0]->text) : "";
    return Poly::atom((known == "min" || known == "max" || expr.kind == Expr::Conditional ? "s:" : "m:") + show(expr));
  }
  default:
    return Poly::atom("s:" + show(expr));
  }
}

std::optional<Place> Values::place(const Expr &expr) const {
  switch (expr.kind) {
  case Expr::Name: {
    auto found = names.find(expr.text);
    if (found != names.end() && found->second.pointer) return found->second.pointer;
    Place place{expr.text, {}, 1, false};
    if (found != names.end()) place.width = found->second.width;
    return place;
  }
  case Expr::Index: {
    auto inner = place(*expr.kids[0]);
    if (!inner) return std::nullopt;
    Poly index = eval(*expr.kids[1]);
    // One subscript on a pointer moves it; a second one is another dimension.
    bool pointer = expr.kids[0]->kind != Expr::Index && inner->subscripts.size() == 1;
    if (pointer) inner->subscripts[0] = inner->subscripts[0] + (inner->width > 1 ? Poly::constant(inner->width) * index : index);
    else inner->subscripts.push_back(index);
    return inner;
  }
  case Expr::Cast: {
    auto inner = place(*expr.kids[0]);
    if (inner && expr.text.size() > 2 && expr.text.back() == '*') {
      inner->width = std::max(inner->width, vectorWidth(std::string_view(expr.text).substr(0, expr.text.size() - 2)));
      inner->viaCast = true;
    }
    return inner;
  }
  case Expr::Unary:
    if (expr.text == "&" || expr.text == "*") {
      auto inner = place(*expr.kids[0]);
      if (inner && expr.text == "*" && inner->subscripts.empty()) inner->subscripts.push_back({});
      return inner;
    }
    return std::nullopt;
  case Expr::Binary:
    if (expr.text == "+" || expr.text == "-") {
      auto inner = place(*expr.kids[0]);
      if (!inner) return std::nullopt;
      Poly offset = eval(*expr.kids[1]);
      if (inner->subscripts.empty()) inner->subscripts.push_back({});
      inner->subscripts.back() = expr.text == "+" ? inner->subscripts.back() + offset : inner->subscripts.back() - offset;
      return inner;
    }
    return std::nullopt;
  case Expr::Member: {
    std::string name = show(expr);
    return Place{name, {}, 1, false};
  }
  default:
    return std::nullopt;
  }
}

} // namespace klineage::fragment
