#include "step/thread_tests.h"
#include "step/source_text.h"
#include "step/guarded_row.h"
#include "step/statements.h"
#include <algorithm>

namespace klineage {
using namespace clang;

namespace {

/// How a condition divides the threads of each group.
enum class Division { Same, FirstOnly, AllButFirst, Other };

class ThreadTests {
public:
  ThreadTests(const RowBlock &rows, int64_t group) : rows(rows), kernel(*rows.kernel), group(size_t(group)) {}

  std::optional<ThreadTest> look(const Stmt *root, const std::set<const Stmt *> &reductions) {
    walk(root, [&](const Stmt *stmt) {
      if (found || reductions.count(stmt)) return false;
      if (const auto *branch = dyn_cast<IfStmt>(stmt)) judgeBranch(*branch);
      if (const auto *choice = dyn_cast<ConditionalOperator>(stmt)) judgeUniform(choice->getCond());
      if (const auto *loop = dyn_cast<ForStmt>(stmt)) judgeUniform(loop->getCond());
      if (const auto *loop = dyn_cast<WhileStmt>(stmt)) judgeUniform(loop->getCond());
      if (const auto *loop = dyn_cast<DoStmt>(stmt)) judgeUniform(loop->getCond());
      if (const auto *choice = dyn_cast<SwitchStmt>(stmt)) judgeUniform(choice->getCond());
      note(stmt);
      if (const auto *cast = dyn_cast<CastExpr>(stmt); cast && cast->getCastKind() == CK_IntegralToFloating && asksThread(cast->getSubExpr()))
        found = ThreadTest{cast, "the thread's index enters the value " + kernel.unit->text(cast->getSubExpr())};
      return true;
    });
    for (const auto &[variable, start] : starts)
      for (const Stmt *change : changes[variable])
        if (!found && !strides(variable, start, change))
          found = ThreadTest{change, "the threads of a row do not stride over it together by " + kernel.unit->text(change)};
    return found;
  }

private:
  const RowBlock &rows;
  const KernelModel &kernel;
  size_t group;
  std::optional<ThreadTest> found;
  std::map<const VarDecl *, const Expr *> starts;               // of variables that begin at the thread's index
  std::map<const VarDecl *, std::vector<const Stmt *>> changes;
  std::set<const Stmt *> increments;                            // parts of the increments of for loops

  void start(const VarDecl *variable, const Expr *value) {
    QualType type = variable->getType();
    bool asks = value && (type->isPointerType() ? mentionsBuiltin(value, "threadIdx") : type->isIntegerType() && !type->isBooleanType() && asksThread(value));
    if (asks) starts[variable] = value;
  }

  void note(const Stmt *stmt) {
    if (const auto *loop = dyn_cast<ForStmt>(stmt)) walk(loop->getInc(), [&](const Stmt *part) { return increments.insert(part).second; });
    if (const auto *decls = dyn_cast<DeclStmt>(stmt))
      for (const Decl *decl : decls->decls())
        if (const auto *variable = dyn_cast<VarDecl>(decl)) start(variable, variable->getInit());
    const auto *op = dyn_cast<BinaryOperator>(stmt);
    const auto *step = dyn_cast<UnaryOperator>(stmt);
    const VarDecl *variable = op && op->isAssignmentOp() ? variableNamedBy(op->getLHS()) : step && step->isIncrementDecrementOp() ? variableNamedBy(step->getSubExpr()) : nullptr;
    if (!variable) return;
    if (op && op->getOpcode() == BO_Assign && referencesTo(op->getRHS(), variable).empty()) start(variable, op->getRHS());
    else changes[variable].push_back(stmt);
  }

  /// From the thread's index on, by the whole group at once, the way in which the threads stand; and the text says the group where it is made one.
  bool strides(const VarDecl *variable, const Expr *start, const Stmt *change) const {
    const auto *op = dyn_cast<BinaryOperator>(change);
    if (!op) return false;
    bool down = op->getOpcode() == BO_SubAssign;
    const Expr *by = op->getRHS();
    if (op->getOpcode() == BO_Assign) {
      const auto *sum = dyn_cast<BinaryOperator>(by->IgnoreParenImpCasts());
      if (!sum || !sum->isAdditiveOp() || variableNamedBy(sum->getLHS()) != variable) return false;
      down = sum->getOpcode() == BO_Sub;
      by = sum->getRHS();
    } else if (!down && op->getOpcode() != BO_AddAssign) {
      return false;
    }
    auto each = variable->getType()->isPointerType() ? std::optional<int64_t>(1) : ofThread(kernel.lift(start)).coefficient(threadIdx(0)).constant();
    if (!each || *each == 0 || (*each < 0) != down) return false;
    IndexExpr distance = number(by), whole = rows.shape.known || rows.warps ? IndexExpr(int64_t(group)) : IndexExpr::of(blockDim(0));
    if (rows.shape.known) distance = distance.substitute(blockDim(0), IndexExpr(rows.shape.extent[0]));
    const VarDecl *named = variableNamedBy(by); // a stride that was computed before
    const Expr *written = named && named->getInit() && kernel.changesOf(named) == 0 ? named->getInit() : by;
    bool said = mentionsBuiltin(written, "blockDim") || mentionsBuiltin(written, "gridDim");
    walk(by, [&](const Stmt *part) {
      const auto *expr = dyn_cast<Expr>(part);
      said = said || (expr && increments.count(change) && expr->getType()->isIntegerType() && number(expr).constant() == int64_t(group));
      return !said;
    });
    IndexExpr once = whole * IndexExpr(std::abs(*each));
    const ParmVarDecl *blocks = rowCount(kernel);
    return said && (distance == once || distance == once * IndexExpr::of(gridDim(0)) || (blocks && distance == once * IndexExpr::of(parameter(blocks)))); // of one block, or of all
  }

  /// In a flat block the row's own part of the index is left out, and what stays is the lane.
  IndexExpr ofThread(IndexExpr value) const {
    if (!rows.flat) return value;
    IndexExpr thread = IndexExpr::of(threadIdx(0));
    for (const AtomRef &atom : quotient(thread, IndexExpr(int64_t(32))).atoms())
      if (atom->kind == Atom::Quotient) value = value.substitute(atom, IndexExpr(int64_t(0)));
    for (const AtomRef &atom : bitwise(Atom::And, thread, IndexExpr(int64_t(31))).atoms()) value = value.substitute(atom, thread);
    return value;
  }

  /// The value of a number, also where it is a name of the language's own such as warpSize.
  IndexExpr number(const Expr *expr) const {
    Expr::EvalResult known;
    if (!expr->isValueDependent() && expr->getType()->isIntegerType() && expr->EvaluateAsInt(known, kernel.unit->ast(Side::Device))) return IndexExpr(known.Val.getInt().getExtValue());
    return kernel.lift(expr);
  }

  /// It depends on which thread of its group asks; the row's own part of the index does not count.
  bool asksThread(const Expr *expr) const {
    bool asks = false;
    walk(expr, [&](const Stmt *stmt) {
      const auto *part = dyn_cast<Expr>(stmt);
      if (!part || asks) return false;
      const auto *op = dyn_cast<BinaryOperator>(part->IgnoreParenImpCasts());
      bool number = part->getType()->isIntegerType() && !part->getType()->isBooleanType() && !(op && (op->isComparisonOp() || op->isLogicalOp() || op->isAssignmentOp()));
      if (!number) {
        const auto *ref = dyn_cast<DeclRefExpr>(part); // a flag that was computed before
        const auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
        if (variable && variable->isLocalVarDecl() && variable->getType()->isBooleanType() && variable->getInit()) asks = asksThread(variable->getInit());
        return true;
      }
      IndexExpr value = ofThread(kernel.lift(part));
      asks = value.mentions(threadIdx(0)) || (!rows.warps && (value.mentions(threadIdx(1)) || value.mentions(threadIdx(2))));
      return !asks;
    });
    return asks;
  }

  Division division(const Expr *condition) const {
    Lockstep run(kernel.unit->ast(Side::Device), rows.shape.extent, 1, false);
    auto values = run.value(condition);
    if (!values) return Division::Other;
    bool same = true, firstOnly = true, allButFirst = true;
    for (size_t first = 0; first + group <= values->size(); first += group)
      for (size_t t = first; t < first + group; ++t) {
        const Sample &value = (*values)[t];
        bool holds = value.known() && value.number() != 0, fails = value.known() && !holds;
        const Sample &leader = (*values)[first];
        same = same && value.known() && leader.known() && holds == (leader.number() != 0);
        firstOnly = firstOnly && (t == first || fails);
        allButFirst = allButFirst && (t == first ? fails : holds);
      }
    return same ? Division::Same : firstOnly ? Division::FirstOnly : allButFirst ? Division::AllButFirst : Division::Other;
  }

  static bool leaves(const Stmt *stmt) {
    if (const auto *list = dyn_cast<CompoundStmt>(stmt)) return list->size() == 1 && leaves(list->body_front());
    return isa<ReturnStmt>(stmt);
  }

  void judgeBranch(const IfStmt &branch) {
    if (!asksThread(branch.getCond())) return;
    Division how = division(branch.getCond());
    bool fits = how == Division::Same || (how == Division::FirstOnly && !branch.getElse()) || (how == Division::AllButFirst && !branch.getElse() && leaves(branch.getThen()));
    if (!fits) decline(branch.getCond());
  }

  void judgeUniform(const Expr *condition) {
    if (condition && asksThread(condition) && division(condition) != Division::Same) decline(condition);
  }

  void decline(const Expr *condition) {
    if (!found) found = ThreadTest{condition, "the threads of a row take different ways at " + kernel.unit->text(condition) + ", and one thread cannot stand in for all of them"};
  }
};

} // namespace

std::optional<ThreadTest> unsureThreadTest(const RowBlock &rows, int64_t group, const std::set<const Stmt *> &reductions) {
  return ThreadTests(rows, group).look(rows.kernel->function->getBody(), reductions);
}

} // namespace klineage
