// Lockstep: statements.
#include "step/lockstep.h"
#include <algorithm>
#include <cmath>

namespace klineage {
using namespace clang;

Lockstep::Lockstep(const ASTContext &ast, std::array<int64_t, 3> blockShape, unsigned seed, bool negative)
    : context(ast), shape(blockShape), count(size_t(blockShape[0] * blockShape[1] * blockShape[2])), negative(negative),
      state(0x9e3779b97f4a7c15ull * (seed + 1)), active(count, 1), returnedMask(count, 0), broken(count, 0), continued(count, 0) {}

double Lockstep::random() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  double value = double((1 << 22) / 5 * 4 + int64_t((state >> 11) % ((1 << 22) / 20 * 9))) / (1 << 22); // sums of a block are exact
  return negative ? -value : value;
}

bool Lockstep::stop(std::string why) {
  if (reason.empty()) reason = std::move(why);
  return false;
}

bool Lockstep::any(const Mask &mask) const {
  return std::any_of(mask.begin(), mask.end(), [](char on) { return on != 0; });
}

std::vector<char> Lockstep::activeWhere(const Expr *condition, bool negated) {
  if (!condition) return active;
  auto values = value(condition);
  if (!values) return active;
  Mask mask = active;
  for (size_t t = 0; t < count; ++t)
    if ((*values)[t].known() && truth(condition, (*values)[t]) == negated) mask[t] = 0;
  return mask;
}

std::optional<Samples> Lockstep::value(const Expr *expr) {
  std::string before = reason;
  Samples samples = evaluate(expr);
  bool failed = reason != before;
  reason = before;
  if (failed || std::none_of(samples.begin(), samples.end(), [](const Sample &s) { return s.known(); })) return std::nullopt;
  return samples;
}

std::optional<Samples> Lockstep::variable(const ValueDecl *decl) const {
  auto found = variables.find(decl);
  if (found == variables.end()) return std::nullopt;
  return found->second;
}

std::optional<Sample> Lockstep::element(const ValueDecl *array, int64_t index) const {
  auto found = storageOf.find(array);
  if (found == storageOf.end()) return std::nullopt;
  const auto &cells = memories[found->second].cells;
  auto cell = cells.find(index);
  if (cell == cells.end() || memories[found->second].perThread) return std::nullopt;
  return cell->second;
}

std::map<int64_t, Samples> Lockstep::ownElements(const ValueDecl *array) const {
  std::map<int64_t, Samples> found;
  auto known = storageOf.find(array);
  if (known == storageOf.end() || !memories[known->second].perThread) return found;
  const Memory &memory = memories[known->second];
  for (int64_t index : memory.stored) {
    Samples &values = found[index] = uniform({});
    for (size_t t = 0; t < count; ++t)
      if (auto cell = memory.cells.find(index * int64_t(count) + int64_t(t)); cell != memory.cells.end()) values[t] = cell->second;
  }
  return found;
}

bool Lockstep::run(const Stmt *statement) { return reason.empty() && execute(statement) && reason.empty(); }

void Lockstep::declare(const VarDecl *decl) {
  if (decl->hasAttr<CUDASharedAttr>()) { storage(decl); return; }
  if (decl->getType()->isReferenceType() && decl->getInit()) {
    aliases[decl] = place(decl->getInit());
    return;
  }
  if (decl->getType()->isArrayType()) {
    int id = storage(decl);
    memories[id].cells.clear();
    memories[id].before = nullptr;
    written.insert(decl);
    if (const auto *list = dyn_cast_or_null<InitListExpr>(decl->getInit())) fill(id, 0, list);
    return;
  }
  Samples values = decl->getInit() ? exchangeIn(decl->getInit()) ? evaluate(decl->getInit()) : handed(decl->getInit()) : uniform({});
  Place at;
  at.variable = decl;
  variables[decl] = uniform({});
  if (decl->getInit()) write(at, values, decl->getType());
}

void Lockstep::fill(int id, int64_t first, const InitListExpr *list) {
  int64_t each = innermostCount(context.getAsArrayType(list->getType())->getElementType(), context), all = innermostCount(list->getType(), context);
  for (unsigned i = 0; i < list->getNumInits(); ++i) {
    if (const auto *inner = dyn_cast<InitListExpr>(list->getInit(i)); inner && inner->getType()->isArrayType()) {
      fill(id, first + i * each, inner);
      continue;
    }
    Samples values = evaluate(list->getInit(i));
    for (size_t t = 0; t < count; ++t) memories[id].cells[(first + i) * int64_t(count) + int64_t(t)] = values[t];
    memories[id].stored.insert(first + i);
  }
  QualType type = innermostType(list->getType());
  if (!type->isArithmeticType()) return;
  for (int64_t i = list->getNumInits() * each; i < all; ++i) { // what no initializer names is zero
    for (size_t t = 0; t < count; ++t)
      memories[id].cells[(first + i) * int64_t(count) + int64_t(t)] = type->isIntegerType() ? Sample::of(int64_t(0)) : Sample::of(0.0);
    memories[id].stored.insert(first + i);
  }
}

bool Lockstep::loop(const Expr *condition, const Stmt *body, const Expr *increment, bool bodyFirst) {
  Mask before = active, outerBroken = broken, outerContinued = continued;
  std::fill(broken.begin(), broken.end(), 0);
  std::fill(continued.begin(), continued.end(), 0);
  bool first = bodyFirst;
  while (any(active) && reason.empty()) {
    if (budget-- == 0) return stop("the loop is too long to follow");
    if (condition && !first) {
      Samples go = evaluate(condition);
      for (size_t t = 0; t < count; ++t) {
        if (!active[t]) continue;
        if (!go[t].known()) return stop("a loop's end depends on a value that is not known here");
        if (!truth(condition, go[t])) active[t] = 0;
      }
      if (!any(active)) break;
    }
    first = false;
    Mask round = active;
    if (!execute(body)) return false;
    for (size_t t = 0; t < count; ++t) active[t] = round[t] && !returnedMask[t] && !broken[t];
    std::fill(continued.begin(), continued.end(), 0);
    if (increment && any(active)) evaluate(increment);
  }
  broken = outerBroken;
  continued = outerContinued;
  for (size_t t = 0; t < count; ++t) active[t] = before[t] && !returnedMask[t];
  return reason.empty();
}

bool Lockstep::execute(const Stmt *stmt) {
  if (!stmt || !reason.empty()) return reason.empty();
  if (budget-- == 0) return stop("the code is too long to follow");
  if (const auto *compound = dyn_cast<CompoundStmt>(stmt)) {
    for (const Stmt *child : compound->body()) {
      if (!any(active)) break;
      if (!execute(child)) return false;
    }
    return true;
  }
  if (const auto *attributed = dyn_cast<AttributedStmt>(stmt)) return execute(attributed->getSubStmt());
  if (isa<NullStmt>(stmt)) return true;
  if (const auto *decls = dyn_cast<DeclStmt>(stmt)) {
    for (const Decl *decl : decls->decls())
      if (const auto *var = dyn_cast<VarDecl>(decl)) declare(var);
    return reason.empty();
  }
  if (const auto *branchStmt = dyn_cast<IfStmt>(stmt)) {
    if (branchStmt->getInit() && !execute(branchStmt->getInit())) return false;
    if (branchStmt->isConstexpr()) {
      auto known = constant(branchStmt->getCond());
      if (!known) return stop("a constexpr condition that is not known here");
      return execute(known->integer ? branchStmt->getThen() : branchStmt->getElse());
    }
    Samples condition = evaluate(branchStmt->getCond());
    Mask before = active, yes = active, no = active;
    for (size_t t = 0; t < count; ++t) {
      if (!active[t]) continue;
      if (!condition[t].known()) return stop("a branch depends on a value that is not known here");
      (truth(branchStmt->getCond(), condition[t]) ? no : yes)[t] = 0;
    }
    active = yes;
    if (any(active) && !execute(branchStmt->getThen())) return false;
    active = no;
    if (branchStmt->getElse() && any(active) && !execute(branchStmt->getElse())) return false;
    for (size_t t = 0; t < count; ++t) active[t] = before[t] && !returnedMask[t] && !broken[t] && !continued[t];
    return true;
  }
  if (const auto *loopStmt = dyn_cast<ForStmt>(stmt)) {
    if (loopStmt->getInit() && !execute(loopStmt->getInit())) return false;
    return loop(loopStmt->getCond(), loopStmt->getBody(), loopStmt->getInc(), false);
  }
  if (const auto *loopStmt = dyn_cast<WhileStmt>(stmt)) return loop(loopStmt->getCond(), loopStmt->getBody(), nullptr, false);
  if (const auto *loopStmt = dyn_cast<DoStmt>(stmt)) return loop(loopStmt->getCond(), loopStmt->getBody(), nullptr, true);
  if (const auto *returns = dyn_cast<ReturnStmt>(stmt)) {
    if (result.size() != count) result = uniform({});
    if (returns->getRetValue()) {
      Samples values = evaluate(returns->getRetValue());
      for (size_t t = 0; t < count; ++t)
        if (active[t]) result[t] = values[t];
    }
    for (size_t t = 0; t < count; ++t)
      if (active[t]) { returnedMask[t] = 1; active[t] = 0; }
    return reason.empty();
  }
  if (isa<BreakStmt>(stmt) || isa<ContinueStmt>(stmt)) {
    for (size_t t = 0; t < count; ++t)
      if (active[t]) { (isa<BreakStmt>(stmt) ? broken : continued)[t] = 1; active[t] = 0; }
    return true;
  }
  if (const auto *expr = dyn_cast<Expr>(stmt)) {
    evaluate(expr);
    return reason.empty();
  }
  return stop("a kind of statement that is not followed");
}

Samples Lockstep::branch(const Expr *condition, const std::function<Samples()> &yes, const std::function<Samples()> &no) {
  Samples decided = evaluate(condition);
  Mask before = active, left = active, right = active;
  for (size_t t = 0; t < count; ++t) {
    if (!decided[t].known()) left[t] = right[t] = 0;
    else if (active[t]) (truth(condition, decided[t]) ? right : left)[t] = 0;
  }
  Samples out = uniform({});
  auto take = [&](Mask &mask, const std::function<Samples()> &side) {
    active = mask;
    if (!any(active)) return;
    Samples values = side();
    for (size_t t = 0; t < count; ++t)
      if (mask[t]) out[t] = values[t];
  };
  take(left, yes);
  take(right, no);
  active = before;
  return out;
}

} // namespace klineage
