// Walking the statements and expressions under a statement, outermost first, in source order. What a thread index is made of inside is skipped.
#pragma once
#include "source/clang_headers.h"
#include <functional>

namespace klineage {

/// Goes below a statement only where `enter` says so.
inline void walk(const clang::Stmt *stmt, const std::function<bool(const clang::Stmt *)> &enter) {
  if (!stmt || !enter(stmt) || llvm::isa<clang::PseudoObjectExpr>(stmt)) return;
  for (const clang::Stmt *child : stmt->children()) walk(child, enter);
}

inline void forEach(const clang::Stmt *stmt, const std::function<void(const clang::Stmt *)> &see) {
  walk(stmt, [&](const clang::Stmt *inner) {
    see(inner);
    return true;
  });
}

} // namespace klineage
