#include "lineage_db/shape_values.h"
#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace klineage::fragment {
namespace {

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> words) { return std::find(words.begin(), words.end(), text) != words.end(); }

bool isBuiltinType(std::string_view t) {
  return isOneOf(t, {"void", "bool", "char", "short", "int", "long", "float", "double", "unsigned", "signed", "auto", "half", "__half", "size_t",
                     "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "dim3", "__nv_bfloat16"}) ||
         vectorWidth(t) > 1;
}
bool isSpecifier(std::string_view t) {
  return isOneOf(t, {"const", "static", "volatile", "constexpr", "inline", "extern", "register", "mutable", "typename", "struct", "__shared__",
                     "__device__", "__global__", "__host__", "__constant__", "__forceinline__", "__noinline__", "__restrict__", "__restrict",
                     "restrict", "__inline__", "__grid_constant__", "virtual", "friend", "explicit"});
}
bool isKeyword(std::string_view t) {
  return isOneOf(t, {"return", "if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "goto", "sizeof", "new",
                     "delete", "using", "typedef", "namespace", "template", "class", "enum", "union", "throw", "operator", "asm", "__asm__"});
}

class Parser {
public:
  explicit Parser(std::string_view code) : tokens(lex(code)) {}

  StmtPtr all() {
    auto block = std::make_unique<Stmt>();
    while (!atEnd()) {
      size_t before = at;
      if (StmtPtr child = statement()) block->children.push_back(std::move(child));
      if (at == before) ++at; // A token that fits nowhere.
    }
    return block;
  }

private:
  std::vector<Token> tokens;
  size_t at = 0;
  int depth = 0;
  bool pendingUnroll = false;
  static constexpr int deepest = 150; ///< Beyond it code is opaque, so that no input can exhaust the stack.

  const Token &peek(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  bool is(std::string_view text, size_t ahead = 0) const { return peek(ahead).text == text && peek(ahead).kind != Token::String && peek(ahead).kind != Token::Unroll; }
  bool isName(size_t ahead = 0) const { return peek(ahead).kind == Token::Name; }
  bool atEnd() const { return peek().kind == Token::End; }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    ++at;
    return true;
  }

  /// Index behind the bracket that closes the one at `from`, or the end.
  size_t closing(size_t from) const {
    int level = 0;
    for (size_t i = from; i < tokens.size(); ++i) {
      if (tokens[i].kind != Token::Punctuation) continue;
      const std::string &t = tokens[i].text;
      if (t == "(" || t == "[" || t == "{") ++level;
      if (t == ")" || t == "]" || t == "}")
        if (--level == 0) return i + 1;
    }
    return tokens.size() - 1;
  }

  /// Index behind `<...>` at `from` when it reads like template arguments, else `from`.
  size_t templateArguments(size_t from) const {
    if (tokens[from].text != "<" || tokens[from].kind != Token::Punctuation) return from;
    int level = 0;
    for (size_t i = from; i < tokens.size() && i < from + 64; ++i) {
      const Token &token = tokens[i];
      if (token.kind == Token::End) return from;
      if (token.kind != Token::Punctuation) continue;
      if (token.text == "<") ++level;
      else if (token.text == ">") --level;
      else if (token.text == ">>") level -= 2;
      else if (token.text == ">>>") level -= 3;
      else if (isOneOf(token.text, {"&&", "||", ";", "{", "}", "=", "+=", "]", "[", "?"})) return from;
      else if (token.text == "(") i = closing(i) - 1;
      else if (token.text == ")") return from;
      if (level <= 0) {
        const Token &next = tokens[std::min(i + 1, tokens.size() - 1)];
        bool follows = next.kind == Token::Name || isOneOf(next.text, {"(", "::", "{", "*", "&", ">", ",", ")", ";"});
        return follows ? i + 1 : from;
      }
    }
    return from;
  }

  // ---- types

  /// Reads a type if one stands here and `declares` (a name must follow) or ends it; else leaves the position.
  bool type(TypeName &result, bool mustDeclare) {
    size_t start = at;
    bool named = false;
    while (isName() || is("[[")) {
      std::string_view t = peek().text;
      if (t == "__shared__") result.shared = true;
      if (t == "extern") result.external = true;
      if (t == "__global__") result.global = true;
      if (t == "const" || t == "constexpr") result.constant = true;
      if (isSpecifier(t)) {
        ++at;
        if (t == "extern" && peek().kind == Token::String) ++at;
        continue;
      }
      if (isOneOf(t, {"__launch_bounds__", "__align__", "alignas", "__attribute__", "__maxnreg__", "__cluster_dims__", "__block_size__"})) {
        if (t == "__launch_bounds__") result.launchBounds = true;
        ++at;
        if (is("(")) at = closing(at);
        continue;
      }
      if (isBuiltinType(t)) {
        result.base = t;
        named = true;
        ++at;
        continue;
      }
      if (named || isKeyword(t)) break;
      // A name: a type only if a declarator follows.
      result.base = t;
      named = true;
      ++at;
      at = templateArguments(at);
      while (is("::") && isName(1)) {
        ++at;
        result.base = peek().text;
        ++at;
        at = templateArguments(at);
      }
    }
    if (named)
      while (is("*") || is("&") || is("&&") || is("const") || is("__restrict__") || is("__restrict") || is("restrict") || is("volatile")) {
        if (is("*")) result.pointer = true;
        if (peek().text.find("restrict") != std::string::npos) result.restricted = true;
        ++at;
      }
    // __global__ void f, void __launch_bounds__(256) f
    while (named && is("__launch_bounds__")) {
      result.launchBounds = true;
      ++at;
      if (is("(")) at = closing(at);
    }
    bool good = named && (!mustDeclare || declaratorFollows(at, result.base));
    if (!good) at = start;
    return good;
  }

  bool declaratorFollows(size_t from, std::string_view base) const {
    const Token &name = tokens[from];
    if (name.kind == Token::Punctuation && name.text == "[") return base == "auto"; // auto [a, b] = ...
    if (name.kind == Token::Punctuation && name.text == "(") return isBuiltinType(base) && from + 1 < tokens.size() && (tokens[from + 1].text == "&" || tokens[from + 1].text == "*");
    if (name.kind != Token::Name || isKeyword(name.text)) return false;
    size_t next = from + 1;
    while (next + 1 < tokens.size() && tokens[next].text == "::" && tokens[next + 1].kind == Token::Name) next += 2;
    return tokens[next].kind == Token::End || isOneOf(tokens[next].text, {"=", ";", "[", ",", "(", "{", ":", ")"});
  }

  // ---- statements

  StmtPtr make(Stmt::Kind kind) {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    return stmt;
  }

  StmtPtr block() {
    auto result = make(Stmt::Block);
    accept("{");
    while (!atEnd() && !is("}")) {
      size_t before = at;
      if (StmtPtr child = statement()) result->children.push_back(std::move(child));
      if (at == before) ++at;
    }
    accept("}");
    return result;
  }

  void skipTo(std::string_view text) {
    while (!atEnd() && !is(text)) at = is("(") || is("{") || is("[") ? closing(at) : at + 1;
    accept(text);
  }

  StmtPtr statement() {
    if (++depth > deepest) {
      --depth;
      at = is("{") || is("(") ? closing(at) : at + 1;
      return nullptr;
    }
    StmtPtr result = statementInside();
    --depth;
    return result;
  }

  StmtPtr statementInside() {
    if (peek().kind == Token::Unroll) {
      ++at;
      pendingUnroll = true;
      return statement();
    }
    bool unroll = std::exchange(pendingUnroll, false);
    if (is(";") || is("}") || is(")") || is(":")) {
      ++at;
      return nullptr;
    }
    if (is("{")) return block();
    if (is("for")) return forLoop(unroll);
    if (is("while")) {
      ++at;
      auto loop = make(Stmt::While);
      if (accept("(")) {
        loop->expr = expression();
        accept(")");
      }
      loop->unrolled = unroll;
      loop->body = statement();
      return loop;
    }
    if (is("do")) {
      ++at;
      auto loop = make(Stmt::Do);
      loop->body = statement();
      if (accept("while") && accept("(")) {
        loop->expr = expression();
        accept(")");
      }
      accept(";");
      return loop;
    }
    if (is("if")) {
      ++at;
      accept("constexpr");
      auto branch = make(Stmt::If);
      if (accept("(")) {
        branch->expr = expression();
        accept(")");
      }
      branch->body = statement();
      if (accept("else")) branch->otherwise = statement();
      return branch;
    }
    if (is("else")) {
      ++at;
      return statement();
    }
    if (is("return")) {
      ++at;
      auto result = make(Stmt::Return);
      if (!is(";") && !is("}") && !atEnd()) result->expr = expression();
      accept(";");
      return result;
    }
    if (is("switch")) {
      ++at;
      if (is("(")) at = closing(at);
      return statement();
    }
    if (is("case")) {
      while (!atEnd() && !is(":") && !is(";") && !is("}")) ++at;
      accept(":");
      return nullptr;
    }
    if (is("template")) {
      ++at;
      size_t end = at;
      for (int level = 0; end < tokens.size() - 1; ++end) {
        level += tokens[end].text == "<" ? 1 : tokens[end].text == ">" ? -1 : tokens[end].text == ">>" ? -2 : 0;
        if (level <= 0) break;
      }
      at = std::min(end + 1, tokens.size() - 1);
      return statement();
    }
    if (is("namespace") || is("struct") || is("class") || is("union")) {
      size_t brace = at;
      while (brace < tokens.size() - 1 && !isOneOf(tokens[brace].text, {"{", ";", "=", "("})) ++brace;
      if (tokens[brace].text == "{") {
        at = brace;
        return block();
      }
      ++at;
      return statement();
    }
    if (is("using") || is("typedef") || is("enum") || is("goto") || is("break") || is("continue")) {
      skipTo(";");
      return nullptr;
    }
    if (is("asm") || is("__asm__")) {
      auto result = make(Stmt::Assembly);
      while (!atEnd() && !is("(") && !is(";")) ++at;
      size_t end = is("(") ? closing(at) : at;
      for (; at < end; ++at)
        if (peek().kind == Token::String) result->text += peek().text + "\n";
      accept(";");
      return result;
    }
    if (isName() && is(":", 1) && !is("::", 1)) {
      at += 2; // A label, `public:`, `default:`.
      return nullptr;
    }
    TypeName typeName;
    if (type(typeName, true)) return declaration(typeName);
    auto result = make(Stmt::Expression);
    result->expr = expression();
    accept(";");
    return result;
  }

  StmtPtr forLoop(bool unroll) {
    ++at;
    auto loop = make(Stmt::For);
    loop->unrolled = unroll;
    if (accept("(")) {
      if (!accept(";")) loop->init = statement(); // Takes its semicolon.
      if (accept(":")) expression();              // for (auto x : xs)
      if (!is(";") && !is(")")) loop->expr = expression();
      accept(";");
      if (!is(")")) loop->increment = expression();
      accept(")");
    }
    loop->body = statement();
    return loop;
  }

  StmtPtr declaration(const TypeName &typeName) {
    auto result = make(Stmt::Declaration);
    result->type = typeName;
    do {
      Declarator d;
      while (is("*") || is("&") || is("&&") || is("const") || is("__restrict__")) {
        if (is("*")) d.pointer = true;
        if (is("&")) d.reference = true;
        ++at;
      }
      if (is("[") && result->names.empty()) { // A structured binding.
        at = closing(at);
      } else if (is("(") && (is("&", 1) || is("*", 1))) { // float (*p)[8]
        at += 2;
        if (isName()) d.name = peek().text, ++at;
        d.pointer = true;
        accept(")");
      } else if (isName()) {
        d.name = peek().text;
        ++at;
        while (is("::") && isName(1)) {
          d.name = peek(1).text;
          at += 2;
        }
      }
      if (is("(")) {
        size_t end = closing(at);
        size_t after = end;
        while (after < tokens.size() - 1 && tokens[after].kind == Token::Name) after += tokens[after + 1].text == "(" ? closing(after + 1) - after : 1;
        if (tokens[after].text == "{" && tokens[after].kind == Token::Punctuation) return function(typeName, d.name, end, after);
        ExprPtr call = primaryCallArguments();
        d.init = std::move(call);
      }
      while (is("[")) {
        ++at;
        d.extents.push_back(is("]") ? nullptr : expression());
        accept("]");
      }
      if (accept("=")) d.init = assignment();
      else if (is("{")) d.init = primary();
      result->names.push_back(std::move(d));
    } while (accept(","));
    accept(";");
    return result;
  }

  ExprPtr primaryCallArguments() {
    auto list = node(Expr::List, "");
    arguments(*list, ")");
    return list;
  }

  StmtPtr function(const TypeName &typeName, const std::string &name, size_t parametersEnd, size_t bodyStart) {
    auto result = make(Stmt::Function);
    result->type = typeName;
    result->names.push_back({});
    result->names[0].name = name;
    accept("(");
    while (!atEnd() && at + 1 < parametersEnd) {
      TypeName parameterType;
      size_t before = at;
      if (type(parameterType, false)) {
        Declarator d;
        d.pointer = parameterType.pointer;
        if (isName()) d.name = peek().text, ++at;
        while (is("[")) {
          d.pointer = true;
          at = closing(at);
        }
        result->names.push_back(std::move(d));
        result->parameterTypes.push_back(parameterType);
      }
      while (at + 1 < parametersEnd && !is(",")) at = is("(") ? closing(at) : at + 1;
      accept(",");
      if (at == before) ++at;
    }
    for (size_t i = parametersEnd; i < bodyStart; ++i)
      if (tokens[i].text == "__launch_bounds__") result->type.launchBounds = true;
    at = bodyStart;
    result->body = block();
    return result;
  }

  // ---- expressions

  ExprPtr node(Expr::Kind kind, std::string text) {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->text = std::move(text);
    return expr;
  }
  ExprPtr node(Expr::Kind kind, std::string text, ExprPtr a, ExprPtr b = nullptr) {
    auto expr = node(kind, std::move(text));
    expr->kids.push_back(std::move(a));
    if (b) expr->kids.push_back(std::move(b));
    return expr;
  }

  ExprPtr expression() {
    ExprPtr first = assignment();
    if (!is(",")) return first;
    auto list = node(Expr::List, ",", std::move(first));
    while (accept(",")) list->kids.push_back(assignment());
    return list;
  }

  ExprPtr assignment() {
    if (depth > deepest) {
      at = is("(") || is("[") || is("{") ? closing(at) : at + 1;
      return node(Expr::Opaque, "");
    }
    ++depth;
    ExprPtr left = binary(0);
    if (accept("?")) {
      auto choice = node(Expr::Conditional, "?", std::move(left));
      choice->kids.push_back(assignment());
      accept(":");
      choice->kids.push_back(assignment());
      left = std::move(choice);
    } else if (peek().kind == Token::Punctuation && isOneOf(peek().text, {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})) {
      std::string op = peek().text;
      ++at;
      left = node(Expr::Assign, op, std::move(left), assignment());
    }
    --depth;
    return left;
  }

  int precedence() const {
    if (peek().kind != Token::Punctuation) return 0;
    static const std::map<std::string_view, int> table = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6}, {"!=", 6}, {"<", 7}, {">", 7},
                                                          {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
    auto found = table.find(peek().text);
    return found == table.end() ? 0 : found->second;
  }

  ExprPtr binary(int above) {
    ExprPtr left = unary();
    for (int links = 0; int level = precedence(); ++links) {
      if (level <= above) break;
      if (links > deepest) left = node(Expr::Opaque, "");
      std::string op = peek().text;
      ++at;
      ExprPtr right = binary(level);
      left = node(Expr::Binary, op, std::move(left), std::move(right));
    }
    return left;
  }

  ExprPtr unary() {
    if (depth > deepest) return assignment();
    if (peek().kind == Token::Punctuation && isOneOf(peek().text, {"+", "-", "!", "~", "*", "&", "++", "--"})) {
      std::string op = peek().text;
      ++at;
      ++depth;
      ExprPtr operand = unary();
      --depth;
      return node(Expr::Unary, op, std::move(operand));
    }
    if (is("(")) {
      // A cast: a type alone in parentheses, and an operand behind it.
      size_t start = at++;
      TypeName target;
      if (type(target, false) && is(")")) {
        const Token &next = peek(1);
        bool operand = next.kind == Token::Name || next.kind == Token::Number || next.text == "(" || ((next.text == "&" || next.text == "*" || next.text == "-") && (target.pointer || isBuiltinType(target.base)));
        if (operand && (target.pointer || isBuiltinType(target.base) || next.kind != Token::Punctuation)) {
          ++at;
          ++depth;
          auto cast = node(Expr::Cast, target.base + (target.pointer ? " *" : ""), unary());
          --depth;
          return cast;
        }
      }
      at = start;
    }
    return postfix(primary());
  }

  void arguments(Expr &call, std::string_view close) {
    ++at;
    while (!atEnd() && !is(close) && !is(";") && !is("}")) {
      size_t before = at;
      call.kids.push_back(assignment());
      if (!accept(",") && at == before) ++at;
    }
    accept(close);
  }

  ExprPtr postfix(ExprPtr base) {
    for (int links = 0;; ++links) {
      if (links > deepest) base = node(Expr::Opaque, "");
      if (is("[")) {
        ++at;
        ExprPtr index = is("]") ? node(Expr::Opaque, "") : expression();
        accept("]");
        base = node(Expr::Index, "", std::move(base), std::move(index));
      } else if (is("(")) {
        base = node(Expr::Call, "", std::move(base));
        arguments(*base, ")");
        // fma(a, b, c) is a * b + c: the spelling does not matter.
        if (base->kids.size() == 4 && base->kids[0]->kind == Expr::Name && knownFunction(base->kids[0]->text) == "fma")
          base = node(Expr::Binary, "+", node(Expr::Binary, "*", std::move(base->kids[1]), std::move(base->kids[2])), std::move(base->kids[3]));
      } else if (is("<<<")) {
        auto launch = node(Expr::Call, "<<<", std::move(base));
        Expr configuration;
        arguments(configuration, ">>>");
        if (is("(")) arguments(*launch, ")");
        base = std::move(launch);
      } else if (is(".") || is("->")) {
        ++at;
        accept("template");
        std::string member = isName() ? peek().text : "";
        if (isName()) ++at;
        base = node(Expr::Member, member, std::move(base));
      } else if (is("++") || is("--")) {
        base = node(Expr::Unary, peek().text, std::move(base));
        ++at;
      } else {
        return base;
      }
    }
  }

  ExprPtr primary() {
    const Token token = peek();
    if (token.kind == Token::Number) {
      ++at;
      return node(Expr::Number, token.text);
    }
    if (token.kind == Token::String) {
      ++at;
      return node(Expr::String, token.text);
    }
    if (is("(")) {
      ++at;
      ExprPtr inner = is(")") ? node(Expr::Opaque, "") : expression();
      accept(")");
      return inner;
    }
    if (is("{")) {
      auto list = node(Expr::List, "");
      arguments(*list, "}");
      return list;
    }
    if (is("[")) { // A lambda.
      at = closing(at);
      if (is("(")) at = closing(at);
      auto lambda = node(Expr::Lambda, "");
      while (!atEnd() && !is("{") && !is(";") && !is(")")) ++at;
      if (is("{")) lambda->body = block();
      return lambda;
    }
    if (token.kind == Token::Name && !(isKeyword(token.text) && token.text != "sizeof" && token.text != "new")) {
      ++at;
      if (isOneOf(token.text, {"reinterpret_cast", "static_cast", "const_cast", "dynamic_cast"}) && is("<")) {
        ++at;
        TypeName target;
        type(target, false);
        while (!atEnd() && !is(">") && !is("(")) ++at;
        accept(">");
        auto cast = node(Expr::Cast, target.base + (target.pointer ? " *" : ""));
        if (accept("(")) {
          cast->kids.push_back(expression());
          accept(")");
        } else {
          cast->kids.push_back(node(Expr::Opaque, ""));
        }
        return cast;
      }
      if (isBuiltinType(token.text)) {
        while (isName() && isBuiltinType(peek().text)) ++at;
        if (is("(") || is("{")) {
          auto cast = node(Expr::Cast, token.text);
          arguments(*cast, is("(") ? ")" : "}");
          if (cast->kids.empty()) cast->kids.push_back(node(Expr::Number, "0"));
          return cast;
        }
      }
      std::string text = token.text;
      at = templateArguments(at);
      while (is("::") && isName(1)) {
        text += "::" + peek(1).text;
        at += 2;
        at = templateArguments(at);
      }
      return node(Expr::Name, text);
    }
    if (is(";") || is("}") || is(")") || is("]") || atEnd()) return node(Expr::Opaque, ""); // The owner of the token takes it.
    if (is("::")) {
      ++at;
      return primary();
    }
    if (token.kind == Token::Name) return node(Expr::Opaque, ""); // A keyword: a statement begins here.
    ++at;
    return node(Expr::Opaque, "");
  }
};

} // namespace

StmtPtr parse(std::string_view code) { return Parser(code).all(); }

} // namespace klineage::fragment
