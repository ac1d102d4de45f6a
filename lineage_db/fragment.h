// Fragment: a tolerant reading of a piece of CUDA, for the shape index alone. It never fails: what it does not understand becomes an
// opaque node and reading goes on at the next token. Clang is not used here, because a piece cut out of a kernel has neither its
// headers nor its declarations, and Clang's recovery drops just the expressions that a search needs.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace klineage::fragment {

struct Token {
  enum Kind { Name, Number, String, Punctuation, Unroll, End };
  Kind kind = End;
  std::string text; ///< Unroll: the count, or empty.
};

/// Comments and preprocessor lines are dropped, except `#pragma unroll`.
std::vector<Token> lex(std::string_view code);

struct Stmt;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;

struct Expr {
  enum Kind {
    Number,      ///< text
    Name,        ///< text, with its `::` and without template arguments
    String,      ///< text
    Member,      ///< kids[0] . text
    Index,       ///< kids[0] [ kids[1] ]
    Call,        ///< kids[0] ( kids[1..] ); a launch is a call too
    Cast,        ///< (text) kids[0]
    Unary,       ///< text kids[0]; "++" and "--" also when they stand behind
    Binary,      ///< kids[0] text kids[1]
    Assign,      ///< kids[0] text kids[1]
    Conditional, ///< kids[0] ? kids[1] : kids[2]
    List,        ///< { kids } and a, b
    Lambda,      ///< body
    Opaque
  };
  Kind kind = Opaque;
  std::string text;
  std::vector<ExprPtr> kids;
  StmtPtr body;
};

struct Declarator {
  std::string name;
  bool pointer = false, reference = false;
  std::vector<ExprPtr> extents; ///< An empty pair of brackets is a null.
  ExprPtr init;
};

struct TypeName {
  std::string base;    ///< The last name of it: float4, scalar_t, int.
  bool pointer = false, shared = false, external = false, global = false, constant = false, restricted = false, launchBounds = false;
};

struct Stmt {
  enum Kind { Block, For, While, Do, If, Declaration, Expression, Return, Function, Assembly };
  Kind kind = Block;
  TypeName type;                     ///< Declaration, Function.
  std::vector<Declarator> names;     ///< Declaration; Function: the first is its name, then its parameters.
  std::vector<TypeName> parameterTypes;
  StmtPtr init, body, otherwise;     ///< For, While, Do, If, Function.
  ExprPtr expr, increment;           ///< The condition, the expression, the value.
  std::vector<StmtPtr> children;     ///< Block.
  bool unrolled = false;             ///< For: a pragma stands before it.
  std::string text;                  ///< Assembly: all its strings.
};

/// A block with everything in it.
StmtPtr parse(std::string_view code);

/// 2, 4, ... for CUDA's own vector types (float4, half2), else 1.
int vectorWidth(std::string_view typeName);

} // namespace klineage::fragment
