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
  /// References that do more than read a variable's value: they assign it, step it, or bind or point to it.
  std::vector<std::pair<const clang::DeclRefExpr *, unsigned>> changes;
  bool changedIn(const clang::ValueDecl *variable, unsigned first, unsigned last) const;
  /// Something may have changed the variable since its declaration when the node at this place is reached, whatever loops stand around both.
  bool changedBefore(const clang::ValueDecl *variable, unsigned place) const;
  std::set<const clang::ValueDecl *> kept;   ///< Arrays and variables whose address goes elsewhere than into a call: a pointer may name them.

private:
  unsigned next = 0;
  std::vector<const clang::Stmt *> loops;
  std::map<const clang::Decl *, unsigned> declared;
  std::set<const clang::Stmt *> onlyRead;
  std::set<const clang::Stmt *> passing; ///< Subscripted there, or an argument of a call.

  void note(const clang::Stmt *stmt);
  void visit(const clang::Stmt *stmt);
};

} // namespace klineage
