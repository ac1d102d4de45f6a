#include "step/part_fold.h"
#include "step/one_thread_a_row.h"
#include "step/source_text.h"
#include "step/statements.h"
#include <algorithm>

namespace klineage {
using namespace clang;

namespace {

bool holds(const Stmt *outer, const Stmt *inner) {
  bool found = false;
  forEach(outer, [&](const Stmt *stmt) { found = found || stmt == inner; });
  return found;
}

bool mentionsThread(const IndexExpr &expr) {
  for (int kind : {Atom::ThreadIdx, Atom::BlockIdx, Atom::BlockDim, Atom::GridDim})
    if (expr.mentionsKind(kind)) return true;
  return false;
}

bool isNumber(const Expr *expr, double wanted, const ASTContext &ast) {
  Expr::EvalResult result;
  if (!expr || expr->isValueDependent() || !expr->EvaluateAsRValue(result, ast)) return false;
  if (result.Val.isInt()) return result.Val.getInt().getExtValue() == wanted;
  return result.Val.isFloat() && result.Val.getFloat().convertToDouble() == wanted;
}

class FoldFinder {
public:
  explicit FoldFinder(const KernelModel &kernel) : kernel(kernel), body(dyn_cast<CompoundStmt>(kernel.function->getBody())) { fold.kernel = &kernel; }

  PartFoldFinding find() {
    if (!body || exchangeIn(body) || !kernel.barriers.empty() || kernel.loops.empty()) return {};
    fold.parts = guardedRowOf(kernel);
    if (fold.parts && !fold.parts->guard) return {};
    std::vector<const Stmt *> list;
    if (fold.parts) list = fold.parts->statements;
    else if (!oneThread()) return {};
    else list.assign(body->body_begin(), body->body_end());
    for (const Stmt *stmt : list)
      if (!take(stmt)) return answer();
    if (!fold.total || !fold.store) return {};
    if (!checkLoops() || !checkIndices(list) || !checkStore() || !checkStart()) return answer();
    PartFoldFinding found;
    found.found = std::move(fold);
    return found;
  }

private:
  const KernelModel &kernel;
  const CompoundStmt *body;
  PartFold fold;
  std::string why;

  PartFoldFinding answer() const { return {std::nullopt, fold.total ? why : ""}; }
  bool fail(std::string text) {
    why = std::move(text);
    return false;
  }

  /// Every launch is of a single thread, and nothing asks which one it is.
  bool oneThread() const {
    for (const char *name : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
      if (mentionsBuiltin(body, name)) return false;
    return !kernel.launches.empty() && std::all_of(kernel.launches.begin(), kernel.launches.end(), [](const Launch &launch) {
      for (unsigned axis : {0u, 1u, 2u})
        if (launch.gridShape[axis].constant() != 1 || launch.blockShape[axis].constant() != 1) return false;
      return true;
    });
  }

  bool take(const Stmt *stmt) {
    while (const auto *attributed = dyn_cast<AttributedStmt>(stmt)) stmt = attributed->getSubStmt();
    if (isa<DeclStmt, NullStmt>(stmt)) return true;
    if (const auto *loop = dyn_cast<ForStmt>(stmt)) return takeLoop(loop);
    const auto *op = dyn_cast<BinaryOperator>(stmt);
    if (op && op->getOpcode() == BO_Assign && !variableNamedBy(op->getLHS()) && !fold.store) {
      fold.store = op;
      return !fold.total || variableNamedBy(op->getRHS()) == fold.total || fail("the total is changed before it is stored");
    }
    return fail("beside loops and one store there is another statement");
  }

  bool takeLoop(const ForStmt *stmt) {
    const Loop *loop = kernel.loopFor(stmt);
    if (!loop || loop->descending || loop->leavesEarly) return fail("a loop has no plain counter");
    if (fold.store) return fail("a loop follows the store");
    std::set<const VarDecl *> inside, carried;
    forEach(stmt, [&](const Stmt *inner) {
      if (const auto *decls = dyn_cast<DeclStmt>(inner))
        for (const Decl *decl : decls->decls())
          if (const auto *variable = dyn_cast<VarDecl>(decl)) inside.insert(variable);
    });
    forEach(stmt->getBody(), [&](const Stmt *inner) {
      const Expr *target = assignedBy(inner);
      const VarDecl *variable = target ? variableNamedBy(target) : nullptr;
      if (variable && !inside.count(variable)) carried.insert(variable);
    });
    if (carried.size() != 1) return fail("a loop hands on more than one value");
    auto combine = gathers(stmt->getBody(), *carried.begin());
    if (!combine) return fail("a loop hands on " + (*carried.begin())->getNameAsString() + ", and not as a total");
    if (fold.total && (fold.total != *carried.begin() || fold.combine != *combine)) return fail("the loops gather different totals");
    fold.total = *carried.begin();
    fold.combine = *combine;
    fold.loops.push_back(loop);
    return true;
  }

  /// Part p of P takes first + p * c, first + p * c + P * c, ...: for any P the parts together are the range of one part.
  bool checkLoops() {
    for (const Loop *loop : fold.loops) {
      if (!fold.parts) {
        auto step = loop->step.constant();
        if (!step) return fail("a loop's step is no constant");
        fold.strides.push_back(*step);
        continue;
      }
      IndexExpr parts = IndexExpr::of(parameter(fold.count()));
      auto stride = loop->step.coefficient(parameter(fold.count())).constant();
      if (!stride || *stride < 1 || !(loop->step == parts * IndexExpr(*stride))) return fail("a loop does not step over all parts at once");
      IndexExpr first = loop->begin - fold.parts->value * IndexExpr(*stride);
      if (mentionsThread(first) || first.mentions(parameter(fold.count()))) return fail("a loop does not start at its part");
      fold.strides.push_back(*stride);
    }
    return true;
  }

  /// The part's index and the number of parts lead nowhere but to the loops' starts and steps and to the store's place.
  bool checkIndices(const std::vector<const Stmt *> &list) {
    if (!fold.parts) return true;
    std::set<const ValueDecl *> tainted{fold.parts->row, fold.count()};
    fold.indices.push_back(fold.parts->row);
    auto mentionsTainted = [&](const Stmt *stmt) {
      return std::any_of(tainted.begin(), tainted.end(), [&](const ValueDecl *decl) { return !referencesTo(stmt, decl).empty(); });
    };
    std::vector<const Stmt *> allowed{fold.parts->guard->getCond(), fold.store->getLHS()};
    for (const Loop *loop : fold.loops) allowed.insert(allowed.end(), {loop->stmt->getInit(), loop->stmt->getInc()});
    for (const Stmt *stmt : list)
      if (const auto *decls = dyn_cast<DeclStmt>(stmt); decls && mentionsTainted(decls)) {
        const auto *variable = decls->isSingleDecl() ? dyn_cast<VarDecl>(decls->getSingleDecl()) : nullptr;
        if (!variable || !variable->getType()->isIntegerType() || kernel.changesOf(variable) != 0) return fail("the part's index is used for more than its share");
        tainted.insert(variable);
        fold.indices.push_back(variable);
        allowed.push_back(decls);
      }
    for (const ValueDecl *decl : tainted)
      for (const DeclRefExpr *ref : referencesTo(body, decl))
        if (std::none_of(allowed.begin(), allowed.end(), [&](const Stmt *stmt) { return holds(stmt, ref); })) return fail("the part's index is used for more than its share");
    return true;
  }

  bool checkStore() {
    for (const Access &access : kernel.accesses) {
      if (access.space != Space::Global || access.kind == Access::Read) continue;
      if (fold.written || access.kind != Access::Write || !holds(fold.store, access.expr)) return fail("it stores more than its total");
      fold.written = &access;
    }
    if (!fold.written || !fold.written->exact || !isa_and_nonnull<ParmVarDecl>(fold.written->buffer)) return fail("the total's place is not known");
    bool own = fold.parts ? fold.written->index == fold.parts->value : fold.written->index.constant() == 0;
    if (!own) return fail("the total does not go to its part's own element");
    for (const Access &access : kernel.accesses)
      if (access.kind == Access::Read && (!access.buffer || access.buffer == fold.written->buffer)) return fail("it reads what it writes");
    return true;
  }

  bool checkStart() {
    bool weighs = fold.combine == Combine::Sum || fold.combine == Combine::Product;
    if (weighs && !isNumber(fold.total->getInit(), fold.combine == Combine::Product, kernel.unit->ast(Side::Device))) return fail("the total starts from a value that is no identity");
    if (!fold.total->getInit()) return fail("the total's start is not in its declaration");
    return true;
  }
};

/// What a statement adds to the total: the other operand of its one assignment.
const Expr *termOf(const Stmt *stmt, const VarDecl *total) {
  if (const auto *list = dyn_cast<CompoundStmt>(stmt)) return list->size() == 1 ? termOf(list->body_front(), total) : nullptr;
  const auto *op = dyn_cast<BinaryOperator>(stmt);
  if (!op || !op->isAssignmentOp() || variableNamedBy(op->getLHS()) != total) return nullptr;
  if (op->isCompoundAssignmentOp()) return op->getRHS();
  const Expr *right = op->getRHS()->IgnoreParenImpCasts();
  std::vector<const Expr *> operands;
  if (const auto *inner = dyn_cast<BinaryOperator>(right)) operands = {inner->getLHS(), inner->getRHS()};
  else if (const auto *call = dyn_cast<CallExpr>(right)) operands.assign(call->arg_begin(), call->arg_end());
  if (operands.size() != 2) return nullptr;
  return variableNamedBy(operands[0]) == total ? operands[1] : operands[0];
}

std::string spelledStream(const Unit &unit, const Launch &launch) { return launch.stream ? unit.text(launch.stream, Side::Host) : ""; }

} // namespace

std::optional<PartFold::Plain> PartFold::plain() const {
  if (loops.size() != 1) return std::nullopt;
  const Loop &loop = *loops.front();
  const Expr *term = termOf(loop.stmt->getBody(), total);
  if (!term || strides.front() != 1) return std::nullopt;
  IndexExpr first = parts ? loop.begin - parts->value : loop.begin;
  if (!(first.constant() == 0)) return std::nullopt;
  Plain result;
  for (const Access &access : kernel->accesses) {
    if (access.space != Space::Global || access.kind != Access::Read) continue;
    if (result.buffer || access.expr != term->IgnoreParenImpCasts() || !access.exact || access.width != 1) return std::nullopt;
    if (!(access.index == IndexExpr::of(loopVariable(loop.variable)))) return std::nullopt;
    result.buffer = dyn_cast_or_null<ParmVarDecl>(access.buffer);
  }
  for (const ParmVarDecl *one : kernel->function->parameters())
    if (one->getType()->isIntegerType() && loop.end == IndexExpr::of(parameter(one))) result.length = one;
  if (!result.buffer || !result.length || result.length == count()) return std::nullopt;
  return result;
}

PartFoldFinding findPartFold(const KernelModel &kernel) { return FoldFinder(kernel).find(); }

const ValueDecl *bufferGiven(const Launch &launch, unsigned parameter) {
  if (parameter >= launch.buffers.size()) return nullptr;
  if (launch.buffers[parameter]) return launch.buffers[parameter];
  const VarDecl *local = variableNamedBy(launch.arguments[parameter]);
  return local && local->isLocalVarDecl() && local->getType()->isPointerType() ? local : nullptr;
}

TwoPhasesFinding findSecondPhase(const Version &version, const PartFold &first, const Launch &launch) {
  const Unit &unit = version.unit;
  unsigned out = cast<ParmVarDecl>(first.written->buffer)->getFunctionScopeIndex();
  TwoPhases phases;
  phases.first = first;
  phases.firstLaunch = &launch;
  phases.scratch = bufferGiven(launch, out);
  if (!phases.scratch) return {std::nullopt, "where the totals go is not known on the host"};
  const KernelModel *reader = nullptr;
  for (const KernelModel &kernel : version.kernels)
    for (const Launch &other : kernel.launches) {
      bool takes = false;
      for (unsigned i = 0; i < other.buffers.size(); ++i) takes = takes || bufferGiven(other, i) == phases.scratch;
      if (&other == &launch || !takes) continue;
      if (reader) return {std::nullopt, "more than one other launch takes the totals"};
      reader = &kernel;
      phases.secondLaunch = &other;
    }
  if (!reader) return {};
  const Launch &second = *phases.secondLaunch;
  if (second.launcher != launch.launcher || second.call->getBeginLoc() < launch.call->getBeginLoc()) return {std::nullopt, "the totals' reader is not launched after them by the same launcher"};
  if (spelledStream(unit, second) != spelledStream(unit, launch)) return {std::nullopt, "the two launches go to different streams"};
  auto finding = findPartFold(*reader);
  if (!finding.found) return {std::nullopt, "what reads the totals folds them in no way that is known" + (finding.why.empty() ? "" : ": " + finding.why)};
  phases.second = std::move(*finding.found);
  auto plain = phases.second.plain();
  if (!plain || phases.second.combine != first.combine) return {std::nullopt, "what reads the totals does more than combine them as they were made"};
  auto given = [](const Launch &at, const ParmVarDecl *parameter) { return at.values[parameter->getFunctionScopeIndex()]; };
  if (bufferGiven(second, plain->buffer->getFunctionScopeIndex()) != phases.scratch) return {std::nullopt, "what reads the totals folds another buffer"};
  if (phases.second.parts && given(second, phases.second.count()).constant() != 1) return {std::nullopt, "what reads the totals leaves more than one"};
  if (!first.parts || !(given(second, plain->length) == given(launch, first.count()))) return {std::nullopt, "the second launch does not take exactly the totals of the first"};
  for (auto [index, at] : {std::pair(out, &launch), std::pair(plain->buffer->getFunctionScopeIndex(), &second)})
    if (at->buffers[index] && !(at->values[index].constant() == 0)) return {std::nullopt, "the totals do not start at the buffer's begin"};
  if (!ASTContext::hasSameUnqualifiedType(first.total->getType(), phases.second.total->getType())) return {std::nullopt, "the two launches keep their totals in different types"};
  if (first.combine == Combine::Maximum || first.combine == Combine::Minimum) {
    const Expr *one = first.total->getInit(), *other = phases.second.total->getInit();
    if (!one || !other || unit.text(one) != unit.text(other)) return {std::nullopt, "the two launches start from different values"};
  }
  TwoPhasesFinding found;
  found.found = std::move(phases);
  return found;
}

} // namespace klineage
