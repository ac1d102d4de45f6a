// KernelModel: what a kernel does, lifted from its AST: loops, accesses as index maps, barriers, the launch.
#pragma once
#include "model/index_expr.h"
#include "source/unit.h"

namespace klineage {

enum class Space { Global, Shared, Local, Constant, Unknown };

/// A for loop in canonical form: one integer variable, a start, a bound it never writes, a step. `!=` counts as `<` for step 1;
/// decreasing by one is normalised (see descending); what is no `for`, or none of these, is no Loop.
struct Loop {
  const clang::ForStmt *stmt = nullptr;
  const clang::VarDecl *variable = nullptr;
  IndexExpr begin;
  IndexExpr end;             ///< Exclusive: `i <= n` is lifted as n + 1.
  IndexExpr step;            ///< Positive constant or an expression over launch and parameters (grid stride: blockDim * gridDim).
  const Loop *parent = nullptr;
  std::optional<unsigned> unrollPragma; ///< 0: `#pragma unroll` with no count; n: with count n; absent: no pragma.
  clang::SourceRange pragmaRange;       ///< The whole pragma line, when there is one and it stands in the file (no _Pragma in a macro).
  bool descending = false;              ///< Written from high to low: `begin` is the lowest value, `step` the distance.
  bool leavesEarly = false;             ///< A break, return or goto leaves it: the trip count is then an upper bound.
  bool hasContinue = false;
  std::vector<const clang::CallExpr *> calls; ///< Empty in the kernel itself; else the calls that lead to it.
  std::optional<int64_t> tripCount() const;
};

/// An `if` (or an early return, or a conditional operator) that decides whether a statement runs.
struct Guard {
  const clang::Expr *condition = nullptr;
  bool negated = false;      ///< The statement runs when the condition is false (else branch; after `if (c) return;`).
};

/// A fact that a guard gives: `difference` compared with zero.
struct Comparison {
  enum Relation { Equal, NotEqual, Less, LessOrEqual } relation = Equal; ///< difference < 0, and so on.
  IndexExpr difference;                                                   ///< left - right.
};

/// Where a pointer points.
struct Pointee {
  const clang::ValueDecl *buffer = nullptr; ///< Null: not known.
  IndexExpr bytes;                          ///< From the start of the buffer.
  bool exact = false;
};

/// One read or write of memory through a buffer.
struct Access {
  enum Kind { Read, Write, ReadWrite, Atomic };
  Kind kind = Read;
  const clang::Expr *expr = nullptr;            ///< The whole lvalue: `a[i]`, `*p`, `reinterpret_cast<float4 *>(row)[i]`, `s[i][j]`; of an intrinsic, the call.
  const clang::ValueDecl *buffer = nullptr;     ///< The parameter or variable that the pointer was derived from (a field, for a pointer kept in a
                                                ///< structure); null when it is not known: then it may be any.
  Space space = Space::Unknown;
  clang::QualType element;                      ///< The buffer's own scalar element type (float for a float4 view of a float row).
  clang::QualType accessed;                     ///< The type moved by this access (float4 in the example).
  unsigned width = 1;                           ///< Elements moved: sizeof(accessed) / sizeof(element).
  IndexExpr index;                              ///< First element, counted in `element`, flattened, from the start of the buffer.
  std::vector<IndexExpr> subscripts;            ///< For a declared array: one expression a dimension, outermost first.
  std::vector<const Loop *> loops;              ///< Enclosing, outermost first.
  std::vector<Guard> guards;                    ///< Outermost first.
  const clang::Stmt *statement = nullptr;       ///< The full statement that holds it.
  unsigned order = 0;                           ///< Position in the order of evaluation: of `a[i] = b[i]` the read of b comes first.
  bool inOpenLoop = false;                      ///< Inside a loop that is not canonical (a while, say); `loops` names only canonical ones.
  bool isVolatile = false;
  bool exact = true;                            ///< False: the index holds an opaque term or a variable of unknown value, or the buffer is not the only base.
  std::vector<const clang::CallExpr *> calls;   ///< Empty in the kernel itself; else the calls of __device__ functions that lead to it, outermost first.
  const clang::Expr *value = nullptr;           ///< Writes: the expression that is stored (of a copy by an intrinsic: none).
  const Access *asyncSource = nullptr;          ///< Writes by cp.async, __pipeline_memcpy_async or memcpy: the read that feeds it.
};

struct Barrier {
  enum Kind { Block, Warp, GroupSync, AsyncWait };
  Kind kind = Block;
  const clang::CallExpr *call = nullptr;        ///< Null when it is inline assembly.
  const clang::Stmt *stmt = nullptr;            ///< The call, or the inline assembly.
  std::vector<const clang::CallExpr *> calls;   ///< As in Access.
  std::vector<const Loop *> loops;
  std::vector<Guard> guards;
  unsigned order = 0;
};

/// A shared or local array, or a shared pointer into dynamic shared memory.
struct Buffer {
  const clang::ValueDecl *decl = nullptr;
  Space space = Space::Unknown;
  clang::QualType element;
  std::vector<int64_t> extents; ///< Empty for pointers and dynamic shared memory; {1} for a single object.
  unsigned vectorWidth = 1;     ///< Scalars per declared element: 4 for float4 a[8].
  const clang::ValueDecl *origin = nullptr; ///< A typed pointer into dynamic shared memory: the extern array. Else null.
  std::optional<int64_t> bytes; ///< Of the whole declared array.
};

/// The launch of a kernel in the host launcher.
struct Launch {
  const clang::CUDAKernelCallExpr *call = nullptr; ///< In the host AST.
  const clang::FunctionDecl *launcher = nullptr;   ///< In the host AST: the extern "C" function, also when a helper of it holds the call.
  const clang::Expr *grid = nullptr, *block = nullptr, *sharedBytes = nullptr, *stream = nullptr;
  std::vector<const clang::Expr *> arguments;      ///< In the kernel's parameter order.
  std::vector<IndexExpr> values;                   ///< Of the arguments, over the launcher's parameters: integers their value, pointers
                                                   ///< the offset in bytes from the launcher's parameter, others an opaque term.
  std::vector<const clang::ValueDecl *> buffers;   ///< Of the arguments: the launcher's parameter that a pointer derives from, else null.
  std::vector<IndexExpr> blockShape, gridShape;    ///< Three each, over the launcher's parameters; opaque where they cannot be lifted.
  IndexExpr sharedSize;                            ///< Dynamic shared memory in bytes.
  std::vector<Guard> guards;                       ///< What decides whether the launch happens, in the host AST.
  std::vector<Comparison> known;                   ///< What the guards say, over the launcher's parameters.
  std::optional<int64_t> blockSize(unsigned axis) const; ///< When it is a constant.
};

/// One __global__ function (or one instantiation in use).
struct KernelModel {
  const Unit *unit = nullptr;
  const clang::FunctionDecl *function = nullptr;
  std::vector<std::unique_ptr<Loop>> loops;     ///< Source order.
  std::vector<Access> accesses;                 ///< Source order.
  std::vector<Barrier> barriers;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;

  /// The value of an integer expression at its place, with single-assignment locals resolved.
  IndexExpr lift(const clang::Expr *expr) const;
  /// The same inside the activation that `calls` lead to (Access::calls): a helper's parameters are what that call gave them. An
  /// expression of one of the callers, an outer guard say, is lifted there.
  IndexExpr lift(const clang::Expr *expr, const std::vector<const clang::CallExpr *> &calls) const;
  const Loop *loopOf(const clang::Stmt *stmt) const; ///< Innermost canonical loop around it, or null.
  const Loop *loopFor(const clang::ForStmt *stmt) const;
  const Buffer *bufferOf(const clang::ValueDecl *decl) const;
  std::vector<const Access *> accessesOf(const clang::ValueDecl *buffer) const;
  std::vector<Guard> guardsOf(const clang::Stmt *stmt) const; ///< What decides whether it runs, outermost first.
  /// What integer guards say where all of them hold: `if (i < n && j % 4 == 0)` gives i - n < 0 and j % 4 = 0. Others give nothing.
  std::vector<Comparison> known(const std::vector<Guard> &guards) const;
  Pointee pointsTo(const clang::Expr *pointer) const;         ///< Of an expression of pointer (or array) type.
  /// How often a local is changed after its declaration; -1 when its address is kept, so that anything may change it.
  int changesOf(const clang::ValueDecl *variable) const;
  const clang::Stmt *parent(const clang::Stmt *stmt) const;
  /// Block dimensions replaced by the launch's constants where all launches agree; other atoms stay.
  IndexExpr bound(const IndexExpr &expr) const;
  std::optional<int64_t> blockSize(unsigned axis) const; ///< Of all launches, when it is one constant.
  /// The expression as C++ text at the kernel's place; empty when an opaque term has no text. `names` gives other text for atoms by key.
  std::optional<std::string> spelled(const IndexExpr &expr, const std::map<std::string, std::string> &names = {}) const;
  bool isUniform(const Loop &loop) const;        ///< All threads of a block run the same iterations.
  bool isUniform(const std::vector<Guard> &guards) const;
  bool isUniform(const Barrier &barrier) const;  ///< Reached by all threads of a block or by none.
  bool isUniform(const clang::Expr *expr) const; ///< The same value in every thread of a block, as far as can be shown.

private:
  friend class Lifter;
  struct State;
  std::shared_ptr<const State> state;
};

/// Lifts every kernel of the unit. Never fails: what cannot be modelled is opaque (Access::exact, Atom::Opaque).
std::vector<KernelModel> liftKernels(const Unit &unit);

} // namespace klineage
