// Values: what an expression is worth at its place, as far as the text decides it. Inside the model room only.
#pragma once
#include "model/kernel_model.h"

namespace klineage {

/// One activation of a function: the kernel itself, or a call that is looked into.
struct Frame {
  const clang::FunctionDecl *function = nullptr;
  const clang::Expr *call = nullptr;      ///< In the caller; null for the outermost.
  const Frame *caller = nullptr;
  const clang::Expr *self = nullptr;      ///< The object of a member call, in the caller.
  std::map<const clang::ParmVarDecl *, const clang::Expr *> arguments; ///< Each in the caller.
  unsigned depth = 0;
};

/// Where a pointer points. `bytes` counts from the start of `base`.
struct PointerValue {
  const clang::ValueDecl *base = nullptr; ///< Null: not known.
  IndexExpr bytes;
  clang::QualType pointee;
  bool exact = true;
  std::vector<IndexExpr> subscripts;      ///< Of a declared array, as far as they were written.
};

/// A change of a variable (or of one field of it).
struct Change {
  const clang::Expr *expr = nullptr;      ///< The assignment, increment, or whatever else changes it.
  const clang::FieldDecl *field = nullptr;
  enum Kind { Assign, Add, Subtract, Increment, Decrement, Compound, Unclear } kind = Unclear;
  const clang::Expr *amount = nullptr;    ///< The right-hand side.
  const clang::Stmt *stmt = nullptr;      ///< Where it stands (an inline asm is no expression).
};

struct VariableFacts {
  std::vector<Change> changes;
  bool escaped = false;                   ///< Its address or a reference is kept: anything may change it.
};

/// The value of a variable at a place: a base and what was added on the way.
struct Reaching {
  enum Base { Unknown, Value, Entry, LoopIndex, CompoundResult } base = Unknown;
  const clang::Expr *value = nullptr;     ///< Value: this expression, in `frame`. CompoundResult: the compound assignment.
  const Frame *frame = nullptr;
  const clang::FieldDecl *fieldLeft = nullptr; ///< The value is a whole object, of which this field is meant.
  const Loop *loop = nullptr;
  struct Addend {
    const clang::Expr *amount = nullptr;  ///< Null: one.
    const Frame *frame = nullptr;
    int sign = 1;
    IndexExpr times = 1;
  };
  std::vector<Addend> added;
};

class Values {
public:
  Values(clang::ASTContext &context, std::vector<std::unique_ptr<Loop>> &loops) : context(context), loops(loops) {}

  const Frame *enter(const clang::FunctionDecl *function);
  /// The activation that a call makes, or null when the body is not known or the nesting too deep.
  const Frame *enterCall(const clang::Expr *call, const Frame *caller);
  const Frame *frameOf(const clang::Stmt *stmt) const; ///< The outermost or first activation in which the statement stands.

  IndexExpr lift(const clang::Expr *expr, const Frame *frame);
  PointerValue pointer(const clang::Expr *expr, const Frame *frame); ///< Of an expression with pointer type.
  PointerValue object(const clang::Expr *lvalue, const Frame *frame); ///< Of an lvalue: where it stands.
  const Loop *loop(const clang::ForStmt *stmt, const Frame *frame);
  std::optional<IndexExpr> field(const clang::Expr *object, std::string_view name, const Frame *frame);

  const clang::Stmt *parent(const clang::Stmt *stmt) const;
  bool contains(const clang::Stmt *outer, const clang::Stmt *inner) const;
  const VariableFacts &factsOf(const clang::ValueDecl *variable) const;
  bool changedIn(const clang::Stmt *stmt, const clang::ValueDecl *variable, const clang::FieldDecl *field = nullptr) const;
  std::string structure(const clang::Expr *expr, const Frame *frame, IndexExpr &dependsOn);

  void setBlockEnd(unsigned axis, int64_t end) { blockEnd[axis] = end; } ///< A launch constant; gives thread indices their range.
  clang::ASTContext &ast() const { return context; }

private:
  clang::ASTContext &context;
  std::vector<std::unique_ptr<Loop>> &loops;
  std::vector<std::unique_ptr<Frame>> frames;
  std::map<std::pair<const clang::Expr *, const Frame *>, const Frame *> callFrames;
  std::map<const clang::Stmt *, const clang::Stmt *> parents;
  std::map<const clang::Stmt *, const Frame *> bodyFrames;
  std::map<const clang::ValueDecl *, VariableFacts> variables;
  std::set<const clang::FunctionDecl *> indexed;
  std::map<std::pair<const clang::ForStmt *, const Frame *>, const Loop *> loopCache;
  std::set<const clang::ForStmt *> loopsInProgress;
  std::map<std::pair<const clang::Expr *, const Frame *>, IndexExpr> liftCache;
  int64_t blockEnd[3] = {0, 0, 0};
  unsigned depth = 0;

  void index(const clang::FunctionDecl *function);
  Reaching reach(const clang::ValueDecl *variable, const clang::FieldDecl *field, const clang::Stmt *at, const Frame *frame);
  Reaching after(const clang::ValueDecl *variable, const clang::FieldDecl *field, const clang::Stmt *stmt, const Frame *frame);
  bool perIteration(const clang::ValueDecl *variable, const clang::FieldDecl *field, const Loop &loop, const clang::ForStmt *stmt,
                    const Frame *frame, const IndexExpr &times, Reaching &into);
  IndexExpr liftFresh(const clang::Expr *expr, const Frame *frame);
  IndexExpr liftVariable(const clang::DeclRefExpr *ref, const Frame *frame);
  IndexExpr liftReaching(const Reaching &reaching, const clang::ValueDecl *variable, const clang::Stmt *at, const Frame *frame);
  IndexExpr liftBinary(clang::BinaryOperatorKind op, const IndexExpr &left, const IndexExpr &right, const clang::Expr *expr, const Frame *frame);
  IndexExpr liftCall(const clang::CallExpr *call, const Frame *frame);
  IndexExpr opaqueOf(const clang::Expr *expr, const Frame *frame);
  std::optional<std::pair<const clang::Expr *, const Frame *>> fieldValue(const clang::Expr *object, const clang::FieldDecl *field, const Frame *frame);
  std::optional<IndexExpr> liftField(const clang::Expr *object, const clang::FieldDecl *field, const Frame *frame);
  PointerValue pointerOf(const Reaching &reaching, const clang::VarDecl *variable, const clang::Expr *ref, const Frame *frame);
  bool settled(const IndexExpr &value, const clang::Stmt *from, const clang::Stmt *to) const;
  std::unique_ptr<Loop> canonical(const clang::ForStmt *stmt, const Frame *frame);
  std::optional<IndexExpr> builtinDimension(const clang::Expr *expr);
};

/// Without parentheses, implicit nodes and template substitutions; explicit casts stay.
const clang::Expr *bare(const clang::Expr *expr);
/// The expression that a function gives back, when it has exactly one return and it is the last statement.
const clang::Expr *soleReturn(const clang::FunctionDecl *function);
/// The scalar type that elements are counted in, and how many one declared element holds: float and 4 for float4.
std::pair<clang::QualType, unsigned> scalarOf(clang::QualType type, const clang::ASTContext &context);

} // namespace klineage
