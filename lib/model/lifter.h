// Lifter: walks a kernel in the order of evaluation and notes every access, barrier and buffer. Inside the model room only.
#pragma once
#include "model/values.h"

namespace klineage {

struct KernelModel::State {
  std::vector<std::unique_ptr<Loop>> loops; ///< Found so far; handed to the model when lifting ends.
  mutable std::unique_ptr<Values> values;
  const Frame *root = nullptr;
  std::set<const clang::ValueDecl *> written;
  bool writesAnywhere = false;              ///< A write through a pointer of unknown origin.
};

class Lifter {
public:
  Lifter(const Unit *unit, clang::ASTContext &context, KernelModel &model);
  void run(const clang::FunctionDecl *kernel);

private:
  const Unit *unit;
  clang::ASTContext &context;
  KernelModel &model;
  std::shared_ptr<KernelModel::State> state;
  Values &values;
  std::vector<std::pair<size_t, size_t>> asyncPairs; ///< Write and the read that feeds it, by position.
  unsigned order = 0;

  void statement(const clang::Stmt *stmt, const Frame *frame);
  void value(const clang::Expr *expr, const Frame *frame);
  void lvalue(const clang::Expr *expr, Access::Kind kind, const Frame *frame, const clang::Expr *stored = nullptr);
  void parts(const clang::Expr *lvalue, const Frame *frame);
  void call(const clang::CallExpr *call, const Frame *frame);
  bool intrinsic(const clang::CallExpr *call, const clang::FunctionDecl *callee, const Frame *frame);
  void assembly(const clang::GCCAsmStmt *stmt, const Frame *frame);
  void copy(const clang::Expr *to, const clang::Expr *from, std::optional<int64_t> bytes, bool async, const clang::Expr *expr,
            const clang::Stmt *stmt, const Frame *frame);
  Access *record(const PointerValue &at, Access::Kind kind, clang::QualType accessed, const clang::Expr *expr, const clang::Stmt *stmt,
                 const Frame *frame);
  void barrier(Barrier::Kind kind, const clang::CallExpr *call, const clang::Stmt *stmt, const Frame *frame);
  void buffer(const clang::VarDecl *decl);
  bool isOurs(const clang::FunctionDecl *function) const;
  template <typename Place> void place(Place &into, const clang::Stmt *stmt, const Frame *frame);
};

/// The conditions on the way to a statement within one function, outermost first.
std::vector<Guard> localGuards(const Values &values, const clang::Stmt *stmt);
/// What a guard says about integers, appended to `into`.
void compare(Values &values, const Guard &guard, const Frame *frame, std::vector<Comparison> &into);
std::vector<const clang::CallExpr *> callsOf(const Frame *frame);
Space spaceOf(const clang::ValueDecl *decl);
/// Launches of the kernel in the host AST, with shapes lifted.
std::vector<Launch> findLaunches(const Unit &unit, const clang::FunctionDecl *kernel);

} // namespace klineage
