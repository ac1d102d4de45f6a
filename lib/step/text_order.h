// TextOrder: where every node of a function stands in its text, which references only store, and whose address is kept.
#pragma once
#include "step/lockstep.h"

namespace klineage {

class TextOrder {
public:
  explicit TextOrder(const clang::Stmt *root) { visit(root); }
  struct Span { unsigned first, last; };
  std::map<const clang::Stmt *, Span> spans;
  std::vector<std::pair<const clang::DeclRefExpr *, unsigned>> references;
  std::set<const clang::Stmt *> stores;      ///< References that are only written there.
  std::map<const clang::Stmt *, int64_t> constantSubscript; ///< Array reference → its one constant subscript.
  std::set<const clang::ValueDecl *> kept;   ///< Arrays and variables whose address goes elsewhere than into a call: a pointer may name them.

private:
  unsigned next = 0;
  std::set<const clang::Stmt *> passing; ///< Subscripted there, or an argument of a call.

  void note(const clang::Stmt *stmt);
  void visit(const clang::Stmt *stmt);
};

} // namespace klineage
