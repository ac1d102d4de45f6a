// Whether code means the same at another place: what is written on the way there, what leaves the way, what a name means there.
#pragma once
#include "model/kernel_model.h"

namespace klineage {

/// The local behind `v`, `v.x`, `v[2].y`: what an assignment to it changes, wholly or in part. Null when a pointer is followed on the way.
const clang::VarDecl *localBehind(const clang::Expr *expr);

/// What a stretch of statements does to the code around it, as far as its own text shows.
class Changes {
public:
  Changes(const KernelModel &kernel, const std::vector<const clang::Stmt *> &statements);

  /// A local that `expr` reads and that is declared in the stretch or may get another value there (`except` apart); null when there is none.
  const clang::VarDecl *of(const clang::Expr *expr, const clang::VarDecl *except = nullptr) const;
  /// Why not all of the stretch runs in one go: a jump out of it, a barrier, a call that cannot be looked into. Empty when it does.
  const std::string &interruption() const { return interrupted; }

private:
  const KernelModel &kernel;
  std::set<const clang::VarDecl *> changed;
  bool callsOrStores = false; ///< What has its address kept may change too.
  std::string interrupted;
};

/// The statements of the list that directly holds both, from one to the other; empty when no list does.
std::vector<const clang::Stmt *> stretch(const KernelModel &kernel, const clang::Stmt *first, const clang::Stmt *last);

/// A variable in `expr` that may be changed after the declaration of `anchor` while the block that holds it goes on (the whole function counts when
/// `anchor` stands in no block of statements); null when there is none.
const clang::VarDecl *changedAfter(const clang::Expr *expr, const clang::VarDecl *anchor);

/// A name in `expr` that means another variable at `place`; null when there is none.
const clang::VarDecl *shadowedAt(const clang::FunctionDecl *function, const clang::Expr *expr, const clang::Stmt *place);

bool isInside(const KernelModel &kernel, const clang::Stmt *inner, const clang::Stmt *outer);
/// The statement holds the code itself or one of the calls that lead to it.
bool runsInside(const KernelModel &kernel, const clang::Stmt *code, const std::vector<const clang::CallExpr *> &calls, const clang::Stmt *statement);

/// Locals and parameters from outside that the statement assigns, and buffers that it writes: what the code behind it sees of it.
std::set<const clang::ValueDecl *> writtenBy(const KernelModel &kernel, const clang::Stmt *statement);

} // namespace klineage
