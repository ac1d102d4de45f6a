#include "step/block_a_row.h"
#include "step/guarded_row.h"
#include "step/one_thread_a_row.h"
#include "step/part_fold.h"
#include "step/settled.h"
#include "step/source_text.h"
#include "step/statements.h"
#include <algorithm>

namespace klineage {
using namespace clang;

namespace {

bool mentions(const Stmt *stmt, const VarDecl *variable) { return !referencesTo(stmt, variable).empty(); }

std::optional<Combine> assignmentGathers(const BinaryOperator *op, const VarDecl *variable) {
  const Expr *right = op->getRHS();
  if (op->getOpcode() == BO_AddAssign || op->getOpcode() == BO_SubAssign || op->getOpcode() == BO_MulAssign)
    return mentions(right, variable) ? std::nullopt : std::optional(op->getOpcode() == BO_MulAssign ? Combine::Product : Combine::Sum);
  if (op->getOpcode() != BO_Assign) return std::nullopt;
  right = right->IgnoreParenImpCasts();
  if (const auto *inner = dyn_cast<BinaryOperator>(right); inner && (inner->getOpcode() == BO_Add || inner->getOpcode() == BO_Mul)) {
    Combine combine = inner->getOpcode() == BO_Add ? Combine::Sum : Combine::Product;
    for (auto [self, other] : {std::pair(inner->getLHS(), inner->getRHS()), std::pair(inner->getRHS(), inner->getLHS())})
      if (variableNamedBy(self) == variable && !mentions(other, variable)) return combine;
    return std::nullopt;
  }
  if (const auto *call = dyn_cast<CallExpr>(right)) {
    std::string name = calleeName(call);
    bool maximum = name == "fmaxf" || name == "fmax" || name == "max", minimum = name == "fminf" || name == "fmin" || name == "min";
    if ((maximum || minimum) && call->getNumArgs() == 2)
      for (unsigned self : {0u, 1u})
        if (variableNamedBy(call->getArg(self)) == variable && !mentions(call->getArg(1 - self), variable)) return maximum ? Combine::Maximum : Combine::Minimum;
    if ((name == "fmaf" || name == "fma" || name == "__fmaf_rn") && call->getNumArgs() == 3 && variableNamedBy(call->getArg(2)) == variable &&
        !mentions(call->getArg(0), variable) && !mentions(call->getArg(1), variable))
      return Combine::Sum;
  }
  if (const auto *choice = dyn_cast<ConditionalOperator>(right)) { // v > e ? v : e
    const auto *test = dyn_cast<BinaryOperator>(choice->getCond()->IgnoreParenImpCasts());
    if (!test || !test->isRelationalOp()) return std::nullopt;
    bool leftSelf = variableNamedBy(test->getLHS()) == variable, rightSelf = variableNamedBy(test->getRHS()) == variable;
    bool trueSelf = variableNamedBy(choice->getTrueExpr()) == variable, falseSelf = variableNamedBy(choice->getFalseExpr()) == variable;
    if (leftSelf == rightSelf || trueSelf == falseSelf) return std::nullopt;
    bool greater = test->getOpcode() == BO_GT || test->getOpcode() == BO_GE;
    return (greater == leftSelf) == trueSelf ? Combine::Maximum : Combine::Minimum;
  }
  return std::nullopt;
}

} // namespace

std::optional<Combine> gathers(const Stmt *stmt, const VarDecl *variable) {
  std::optional<Combine> combine;
  size_t explained = 0;
  bool fits = true;
  auto take = [&](std::optional<Combine> one, const Stmt *by) {
    if (!one || (combine && *combine != *one)) { fits = false; return; }
    combine = one;
    explained += referencesTo(by, variable).size();
  };
  walk(stmt, [&](const Stmt *inner) {
    if (const auto *branch = dyn_cast<IfStmt>(inner); branch && !branch->getElse()) { // if (e > v) v = e;
      const auto *test = dyn_cast<BinaryOperator>(branch->getCond()->IgnoreParenImpCasts());
      const Stmt *only = branch->getThen();
      if (const auto *body = dyn_cast<CompoundStmt>(only); body && body->size() == 1) only = body->body_front();
      const auto *store = dyn_cast<BinaryOperator>(only);
      if (test && test->isRelationalOp() && store && store->getOpcode() == BO_Assign && variableNamedBy(store->getLHS()) == variable && !mentions(store->getRHS(), variable)) {
        bool leftSelf = variableNamedBy(test->getLHS()) == variable, rightSelf = variableNamedBy(test->getRHS()) == variable;
        if (leftSelf != rightSelf) {
          bool greater = test->getOpcode() == BO_GT || test->getOpcode() == BO_GE;
          take(greater != leftSelf ? Combine::Maximum : Combine::Minimum, inner);
          return false;
        }
      }
    }
    if (const auto *op = dyn_cast<BinaryOperator>(inner); op && op->isAssignmentOp() && variableNamedBy(op->getLHS()) == variable) {
      take(assignmentGathers(op, variable), inner);
      return false;
    }
    return true;
  });
  if (!fits || !combine || explained != referencesTo(stmt, variable).size()) return std::nullopt;
  return combine;
}

namespace {

class RowFinder {
public:
  RowFinder(const Version &version, const KernelModel &kernel) : version(version), unit(version.unit), kernel(kernel) { rows.kernel = &kernel; }

  ThreadRowFinding find() {
    auto alone = loneThreadOf(kernel);
    auto guarded = alone ? std::nullopt : guardedRowOf(kernel);
    if ((!alone && !guarded) || exchangeIn(kernel.function->getBody())) return {};
    if (guarded) {
      rows.row = guarded->declaration;
      rows.count = guarded->count;
    }
    const auto &list = guarded ? guarded->statements : *alone;
    if (guarded && !guarded->guard) return refuse("unsupported_form", "no guard bounds the row by a parameter of the kernel");
    bool anyLoop = std::any_of(list.begin(), list.end(), [](const Stmt *stmt) { return isa<ForStmt>(stmt) || isa<IfStmt>(stmt) || isa<AttributedStmt>(stmt); });
    if (!anyLoop) return {};
    if (guarded) findParts();
    scan(list, nullptr);
    if (decline.empty()) checkCounters();
    if (decline.empty()) gather(list);
    if (!decline.empty()) return refuse("unsupported_form", decline);
    if (rows.loops.empty() || rows.gathered.empty()) return {};
    if (kernel.launches.empty()) return refuse("no_launch", "no launch of the kernel is in sight, and the grid must change with it");
    countCarried();
    ThreadRowFinding finding;
    finding.found = std::move(rows);
    return finding;
  }

private:
  const Version &version;
  const Unit &unit;
  const KernelModel &kernel;
  ThreadRow rows;
  std::string decline;
  std::map<const VarDecl *, std::vector<const Stmt *>> accumulating; // loops by variable

  ThreadRowFinding refuse(std::string reason, std::string text) {
    ThreadRowFinding finding;
    finding.decline = Decline{std::move(reason), unit.where(kernel.function->getLocation()), std::move(text)};
    return finding;
  }

  /// A thread may fold a part of a range instead of a row of its own. Which elements a part takes may change when only the total of all parts is wanted.
  void findParts() {
    auto fold = findPartFold(kernel);
    if (!fold.found || !fold.found->parts) return;
    for (const Launch &launch : kernel.launches)
      if (launch.values[fold.found->parts->count].constant() != 1 && !findSecondPhase(version, *fold.found, launch).found) return;
    for (size_t i = 0; i < fold.found->loops.size(); ++i) {
      const Loop *loop = fold.found->loops[i];
      IndexExpr own = fold.found->parts->value * IndexExpr(fold.found->strides[i]);
      if (loop->begin == own) rows.parts[loop] = fold.found->strides[i];
    }
  }

  /// Sorts the statements of a list that all threads of the block are to run: loops to stride, stores for one thread.
  void scan(const std::vector<const Stmt *> &list, const Stmt *) {
    for (const Stmt *stmt : list) {
      if (!decline.empty()) return;
      const Stmt *inner = stmt;
      while (const auto *attributed = dyn_cast<AttributedStmt>(inner)) inner = attributed->getSubStmt();
      if (const auto *loop = dyn_cast<ForStmt>(inner)) { scanLoop(loop); continue; }
      if (const auto *branch = dyn_cast<IfStmt>(inner)) {
        for (const Stmt *side : {branch->getThen(), branch->getElse()}) {
          if (!side) continue;
          std::vector<const Stmt *> statements{side};
          if (const auto *body = dyn_cast<CompoundStmt>(side)) statements.assign(body->body_begin(), body->body_end());
          scan(statements, side);
        }
        continue;
      }
      if (const auto *body = dyn_cast<CompoundStmt>(inner)) { scan({body->body_begin(), body->body_end()}, body); continue; }
      if (isa<DeclStmt>(inner) || isa<NullStmt>(inner)) continue;
      if (const auto *expr = dyn_cast<Expr>(inner)) {
        const Expr *target = assignedBy(expr);
        if (target && !variableNamedBy(target)) rows.singleStores.push_back(stmt);
        else if (!target) decline = "a statement outside the loops calls something whose effect is not known";
        continue;
      }
      decline = "a statement outside the loops is neither a loop nor a plain assignment";
    }
  }

  void scanLoop(const ForStmt *stmt) {
    const Loop *loop = kernel.loopFor(stmt);
    if (!loop || loop->descending || loop->leavesEarly || !(loop->step.constant() || rows.parts.count(loop))) { decline = "a loop over the row has no plain counter"; return; }
    std::set<const VarDecl *> inside, carried;
    walk(stmt, [&](const Stmt *inner) {
      if (const auto *decls = dyn_cast<DeclStmt>(inner))
        for (const Decl *decl : decls->decls())
          if (const auto *variable = dyn_cast<VarDecl>(decl)) inside.insert(variable);
      return true;
    });
    walk(stmt->getBody(), [&](const Stmt *inner) {
      const Expr *target = assignedBy(inner);
      if (!target) return true;
      target = target->IgnoreParenImpCasts();
      if (const VarDecl *variable = variableNamedBy(target)) {
        if (!inside.count(variable)) carried.insert(variable);
      } else if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(target)) {
        const VarDecl *array = variableNamedBy(subscript->getBase());
        if (array && array->getType()->isArrayType() && !inside.count(array)) decline = "a loop fills a local array";
      }
      return true;
    });
    if (!decline.empty()) return;
    for (const VarDecl *variable : carried) {
      if (!gathers(stmt->getBody(), variable)) {
        decline = "the loop hands " + variable->getNameAsString() + " from one iteration to the next, and not as a total";
        return;
      }
      accumulating[variable].push_back(stmt);
    }
    for (const Access &access : kernel.accesses) {
      if (access.kind == Access::Read || access.space != Space::Global) continue;
      if (std::find(access.loops.begin(), access.loops.end(), loop) == access.loops.end()) continue;
      if (!access.index.mentions(loopVariable(loop->variable))) { decline = "a loop over the row stores again and again in one place"; return; }
    }
    rows.loops.push_back(loop);
  }

  /// A counter ends at another number in each thread, so nothing but its loops may ask for it.
  void checkCounters() {
    std::map<const VarDecl *, size_t> inLoops;
    for (const Loop *loop : rows.loops) inLoops[loop->variable] += referencesTo(loop->stmt, loop->variable).size();
    for (const auto &[variable, count] : inLoops)
      if (count != referencesTo(kernel.function->getBody(), variable).size()) decline = "the counter of a loop over the row is used beside the loop";
  }

  /// Where each total is complete: after the last loop that adds to it, before the first other use.
  void gather(const std::vector<const Stmt *> &list) {
    for (const auto &[variable, loops] : accumulating) {
      const Stmt *last = nullptr;
      bool identity = false, started = false;
      for (const Stmt *stmt : list) {
        auto references = referencesTo(stmt, variable);
        std::optional<Combine> combine;
        size_t inLoops = 0;
        for (const Stmt *loop : loops) {
          bool here = false;
          walk(stmt, [&](const Stmt *inner) { here = here || inner == loop; return !here; });
          if (!here) continue;
          inLoops += referencesTo(loop, variable).size();
          combine = gathers(cast<ForStmt>(loop)->getBody(), variable);
        }
        bool declares = false;
        if (const auto *decls = dyn_cast<DeclStmt>(stmt)) declares = std::find(decls->decl_begin(), decls->decl_end(), variable) != decls->decl_end();
        if (combine) {
          if (inLoops != references.size()) { decline = "a total is used in the statement that gathers it"; return; }
          if (last && rows.gathered.back().combine != *combine) { decline = "a total is gathered in two ways"; return; }
          if (!last && (*combine == Combine::Sum || *combine == Combine::Product) && !identity) {
            decline = "a sum starts from a value other than zero";
            return;
          }
          if (last) rows.gathered.back().after = stmt;
          else rows.gathered.push_back({variable, *combine, stmt});
          last = stmt;
          started = true;
        } else if (declares || !references.empty()) {
          const Expr *start = declares ? variable->getInit() : nullptr;
          if (const auto *op = dyn_cast<BinaryOperator>(stmt); op && op->getOpcode() == BO_Assign && variableNamedBy(op->getLHS()) == variable) start = op->getRHS();
          identity = start && isConstant(start, isProduct(loops, variable) ? 1 : 0);
          last = nullptr;
        }
      }
      if (!started) decline = "a total is gathered out of sight";
    }
  }

  bool isProduct(const std::vector<const Stmt *> &loops, const VarDecl *variable) {
    return gathers(cast<ForStmt>(loops.front())->getBody(), variable) == Combine::Product;
  }

  bool isConstant(const Expr *expr, int64_t wanted) {
    Expr::EvalResult result;
    if (expr->isValueDependent() || !expr->EvaluateAsRValue(result, unit.ast(Side::Device))) return false;
    if (result.Val.isInt()) return result.Val.getInt().getExtValue() == wanted;
    return result.Val.isFloat() && result.Val.getFloat().convertToDouble() == double(wanted);
  }

  /// An index with the loop's own counter, and those of loops inside it, under common names.
  static IndexExpr common(const Access &access, const std::vector<const Loop *> &strided) {
    static const AtomRef names[] = {threadIdx(2), blockIdx(2), gridDim(2), blockDim(2)};
    IndexExpr index = access.index;
    size_t depth = 0;
    for (const Loop *loop : access.loops) {
      if (depth == 0 && std::find(strided.begin(), strided.end(), loop) == strided.end()) continue;
      if (depth < 4) index = index.substitute(loopVariable(loop->variable), IndexExpr::of(names[depth++]));
    }
    return index;
  }

  /// One thread stores in it and all threads come to it: nothing between the two makes the one wait for the others.
  bool sharedWithOneThread(const ValueDecl *buffer) const {
    bool one = false, all = false;
    for (const Access &access : kernel.accesses) {
      if (access.buffer != buffer || access.space != Space::Global) continue;
      bool alone = std::any_of(rows.singleStores.begin(), rows.singleStores.end(), [&](const Stmt *store) { return isInside(kernel, access.expr, store); });
      if (!alone) all = true;
      else if (access.kind != Access::Read) one = true;
    }
    return one && all;
  }

  void countCarried() {
    std::set<const ValueDecl *> written;
    for (const Access &access : kernel.accesses)
      if (access.space == Space::Global && access.kind != Access::Read) written.insert(access.buffer);
    for (const ValueDecl *buffer : written) {
      std::optional<IndexExpr> first;
      bool carried = buffer == nullptr || sharedWithOneThread(buffer);
      for (const Access &access : kernel.accesses) {
        if (access.buffer != buffer || access.space != Space::Global) continue;
        IndexExpr index = common(access, rows.loops);
        bool strided = std::any_of(access.loops.begin(), access.loops.end(), [&](const Loop *loop) { return std::find(rows.loops.begin(), rows.loops.end(), loop) != rows.loops.end(); });
        if (!strided && access.kind != Access::Read) continue; // one thread's store
        if (first && !(*first == index)) carried = true;
        if (!first) first = index;
      }
      rows.carriedBuffers += carried;
    }
  }
};

} // namespace

ThreadRowFinding findThreadRow(const Version &version, const KernelModel &kernel) { return RowFinder(version, kernel).find(); }

Result<Edits> toBlock(const Version &version, const ThreadRow &rows, int64_t threads) {
  const Unit &unit = version.unit;
  const KernelModel &kernel = *rows.kernel;
  Edits edits;
  auto replace = [&](const Stmt *stmt, const std::string &text, Side side = Side::Device) -> Status {
    auto place = unit.place(stmt, side);
    if (!place) return place.error();
    edits.push_back({place->file, place->offset, place->length, text});
    return Done{};
  };
  if (rows.row)
    if (Status done = replace(cast<VarDecl>(rows.row->getSingleDecl())->getInit(), "blockIdx.x"); !done) return done.error();
  for (const Loop *loop : rows.loops) {
    const Expr *begin = loop->variable->getInit();
    if (const auto *init = dyn_cast_or_null<BinaryOperator>(loop->stmt->getInit())) begin = init->getRHS();
    if (!begin) return refusal("a loop's counter starts in another place", unit.where(loop->stmt->getBeginLoc()));
    if (auto part = rows.parts.find(loop); part != rows.parts.end()) { // neighbouring threads take neighbouring elements
      std::string times = part->second == 1 ? "" : std::to_string(part->second) + " * ", row = cast<VarDecl>(rows.row->getSingleDecl())->getNameAsString();
      std::string first = row + " * blockDim.x + threadIdx.x", count = kernel.function->getParamDecl(rows.count)->getNameAsString();
      if (Status done = replace(begin, times.empty() ? first : times + "(" + first + ")"); !done) return done.error();
      if (Status done = replace(loop->stmt->getInc(), loop->variable->getNameAsString() + " += " + times + count + " * blockDim.x"); !done) return done.error();
      continue;
    }
    int64_t step = *loop->step.constant();
    std::string thread = step == 1 ? "threadIdx.x" : std::to_string(step) + " * threadIdx.x";
    bool zero = loop->begin.constant() == 0;
    if (Status done = replace(begin, zero ? thread : unit.text(begin) + " + " + thread); !done) return done.error();
    std::string stride = step == 1 ? "blockDim.x" : std::to_string(step) + " * blockDim.x";
    if (Status done = replace(loop->stmt->getInc(), loop->variable->getNameAsString() + " += " + stride); !done) return done.error();
  }
  std::set<std::string> taken;
  BlockShape shape;
  shape.extent = {threads, 1, 1};
  shape.known = true;
  std::map<const Stmt *, std::string> after; // totals that are complete at one place are combined there one after another
  for (const auto &gathered : rows.gathered) {
    CombineForm form;
    CombineForm::Value value;
    value.variable = gathered.variable->getNameAsString();
    value.slots = freshName(unit, value.variable + "Slots", taken);
    value.type = gathered.variable->getType().getUnqualifiedType();
    value.combine = gathered.combine;
    if (!value.type->isArithmeticType()) return refusal("the total has no plain arithmetic type", unit.where(gathered.after->getBeginLoc()));
    form.values.push_back(std::move(value));
    form.shape = shape;
    form.group = threads;
    after[gathered.after] += "\n" + throughShared(form);
  }
  for (const auto &[stmt, text] : after) {
    auto place = wholeStatement(unit, stmt);
    if (!place) return place.error();
    edits.push_back({place->file, place->offset + place->length, 0, text.substr(0, text.size() - 1)});
  }
  for (const Stmt *stmt : rows.singleStores) {
    auto place = wholeStatement(unit, stmt);
    if (!place) return place.error();
    edits.push_back({place->file, place->offset, 0, "if (threadIdx.x == 0) "});
  }
  for (const Launch &launch : kernel.launches) {
    if (rows.row && rows.count >= launch.arguments.size()) return refusal("the launch gives no number of rows", unit.where(launch.call->getBeginLoc(), Side::Host));
    if (rows.row)
      if (Status done = replace(launch.grid, unit.text(launch.arguments[rows.count], Side::Host), Side::Host); !done) return done.error();
    if (Status done = replace(launch.block, std::to_string(threads), Side::Host); !done) return done.error();
  }
  if (Status done = removeUnused(version, kernel.function, edits, {}); !done) return done.error();
  return edits;
}

} // namespace klineage
