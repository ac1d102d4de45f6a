// Inside this room only: what an operator sees of a version, and how it plants.
//
// An operator is one .cpp of operators/; the stem is its symbol, and the folder is the registry (CMake writes the table). It matches by the AST: callees,
// attributes, types, constants. Ranges that come from a macro's body have no place in the file, so nothing is planted there.
#pragma once
#include "mutate/mutate.h"
#include "source/unit.h"
#include <span>

namespace klineage::mutate {

/// The body of one function, device or host, with its statements outermost first, in source order.
class Body {
public:
  Body(const Unit &unit, Side side, const clang::FunctionDecl *function);

  const Unit &unit;
  const Side side;
  const clang::FunctionDecl *function;

  const clang::Stmt *parent(const clang::Stmt *stmt) const;
  clang::ASTContext &ast() const { return unit.ast(side); }
  std::string text(clang::SourceRange range) const { return unit.text(range, side); }
  std::string text(const clang::Stmt *stmt) const { return unit.text(stmt, side); }

  template <typename T> void each(const std::function<void(const T *)> &see) const {
    for (const clang::Stmt *stmt : statements)
      if (auto *one = llvm::dyn_cast<T>(stmt)) see(one);
  }

private:
  std::vector<const clang::Stmt *> statements;
  std::map<const clang::Stmt *, const clang::Stmt *> parents;
};

/// A piece of text that is replaced. An empty range end means an insertion before the range.
struct Cut {
  clang::SourceRange range;
  std::string text;
  bool insert = false; ///< Put before the range, which stays.
};

/// Takes what operators find.
class Planter {
public:
  explicit Planter(const Unit &unit) : unit(unit) {}
  /// A mutant with all cuts, or nothing where one of them has no place. `at` is the place that it is named by.
  void plant(const Body &body, const char *operation, clang::SourceRange at, const std::vector<Cut> &cuts, std::vector<std::string> expected = {});
  void replace(const Body &body, const char *operation, const clang::Stmt *stmt, std::string with, std::vector<std::string> expected = {}) {
    plant(body, operation, stmt->getSourceRange(), {{stmt->getSourceRange(), std::move(with)}}, std::move(expected));
  }
  std::vector<Mutant> take();

private:
  const Unit &unit;
  std::vector<std::pair<std::tuple<std::string, unsigned, std::string>, Mutant>> planted;
};

struct Operator {
  const char *summary;
  void (*device)(const Body &body, Planter &planter); ///< Null: nothing on that side.
  void (*host)(const Body &body, Planter &planter);
};

struct RegisteredOperator {
  const char *stem;
  const Operator *what;
};
/// All files of operators/, by name.
std::span<const RegisteredOperator> registeredOperators();

} // namespace klineage::mutate
