// Seeing that a block, or a warp, works on one row.
#include "step/one_thread_a_row.h"
#include "step/statements.h"
#include "step/thread_tests.h"
#include <algorithm>

namespace klineage {
using namespace clang;

namespace {

/// One more parameter changes no code but the kernel and its launches: no other instantiation, specialization or declaration has to agree.
bool takesParameters(const FunctionDecl *kernel) {
  const FunctionTemplateDecl *pattern = kernel->getPrimaryTemplate();
  if (pattern && std::distance(pattern->spec_begin(), pattern->spec_end()) > 1) return false;
  const Decl *one = pattern ? static_cast<const Decl *>(pattern) : kernel;
  return std::distance(one->redecls_begin(), one->redecls_end()) == 1;
}

/// A library's function (a block-wide load, say) that is called under the statement and asks for the thread's index; null: there is none.
const FunctionDecl *findsElementsItself(const Stmt *root) {
  const FunctionDecl *found = nullptr;
  std::set<const FunctionDecl *> visited;
  std::function<bool(const Stmt *, bool)> asks;
  auto enter = [&](const FunctionDecl *function, bool library) {
    const FunctionDecl *body = nullptr;
    if (!function || !function->hasBody(body) || inCooperativeGroups(body) || body->getNameAsString().compare(0, 2, "__") == 0 || !visited.insert(body).second) return false;
    bool inside = library || body->getASTContext().getSourceManager().isInSystemHeader(body->getLocation());
    bool answer = asks(body->getBody(), inside);
    if (const auto *constructor = dyn_cast<CXXConstructorDecl>(body))
      for (const CXXCtorInitializer *init : constructor->inits()) answer = answer || asks(init->getInit(), inside);
    if (answer && inside && !library) found = body;
    return answer;
  };
  asks = [&](const Stmt *stmt, bool library) {
    if (!stmt || found) return false;
    if (const auto *expr = dyn_cast<Expr>(stmt); expr && !threadBuiltin(expr).first.empty()) return library && threadBuiltin(expr).first == "threadIdx";
    bool answer = false;
    if (const auto *call = dyn_cast<CallExpr>(stmt)) answer = enter(call->getDirectCallee(), library);
    if (const auto *made = dyn_cast<CXXConstructExpr>(stmt)) answer = enter(made->getConstructor(), library);
    for (const Stmt *child : stmt->children()) answer = asks(child, library) || answer;
    return answer;
  };
  asks(root, false);
  return found;
}

} // namespace

const ParmVarDecl *rowCount(const KernelModel &kernel) {
  if (kernel.launches.empty()) return nullptr;
  for (unsigned i = 0; i < kernel.function->getNumParams() && i < kernel.launches.front().values.size(); ++i) {
    const ParmVarDecl *parameter = kernel.function->getParamDecl(i);
    bool same = parameter->getType()->isIntegerType();
    for (const Launch &one : kernel.launches) same = same && i < one.values.size() && one.gridShape.size() == 3 && one.values[i] == one.gridShape[0];
    if (same) return parameter;
  }
  return nullptr;
}

RowBlockFinding findRowBlock(const Version &version, const KernelModel &kernel) {
  RowBlockFinding finding;
  RowBlock rows;
  rows.kernel = &kernel;
  rows.shape = blockShapeOf(kernel);
  auto declined = [&](std::string reason, std::string text) {
    finding.decline = Decline{std::move(reason), version.unit.where(kernel.function->getLocation()), std::move(text)};
    return finding;
  };
  auto regions = findReductions(version, kernel);
  rows.warps = rows.shape.extent[0] == 32 && rows.shape.extent[1] > 1 && rows.shape.extent[2] == 1;
  auto combines = [&](int64_t group) {
    return std::any_of(regions.begin(), regions.end(), [&](const ReductionRegion &region) { return region.group == group; });
  };
  if (!rows.warps && rows.shape.known && rows.shape.extent[0] == rows.shape.size() && rows.shape.size() > 32 && rows.shape.size() % 32 == 0 &&
      !combines(rows.shape.size()) && combines(32))
    rows.warps = rows.flat = true;
  int64_t group = rows.warps ? 32 : rows.shape.size();
  if (!combines(group)) return finding;
  if (exchangeIn(kernel.function->getBody()).shuffle)
    return declined("held_by", "the threads still combine by shuffles: warp_shuffle_reduce goes first");
  if (kernel.launches.empty()) return declined("no_launch", "no launch of the kernel is in sight, and the grid must change with it");
  if (!rows.shape.known)
    for (const Launch &launch : kernel.launches)
      for (unsigned axis : {1u, 2u})
        if (launch.blockShape.size() != 3 || launch.blockShape[axis].constant() != 1) return declined("unsupported_form", "the block's shape is chosen at run time");
  if (!rows.warps && rows.shape.extent[0] != rows.shape.size()) return declined("unsupported_form", "the block has more than one dimension");
  for (const Launch &launch : kernel.launches)
    for (unsigned axis : {1u, 2u})
      rows.alone |= !rows.warps && launch.gridShape.size() == 3 && launch.gridShape[axis].constant() != 1;
  rows.alone |= !rows.warps && !rowCount(kernel) && !takesParameters(kernel.function);
  if (const FunctionDecl *hidden = findsElementsItself(kernel.function->getBody()))
    return declined("unsupported_form", hidden->getQualifiedNameAsString() + " finds the elements of a thread by its index, out of sight");
  // A thread reaches its elements by loops that stride over the row; an element found by the thread's index alone would be lost with the threads.
  for (const Access &access : kernel.accesses) {
    if (access.space != Space::Global) continue;
    IndexExpr index = access.index;
    if (rows.flat)
      for (const AtomRef &atom : quotient(IndexExpr::of(threadIdx(0)), IndexExpr(int64_t(32))).atoms())
        if (atom->kind == Atom::Quotient) index = index.substitute(atom, IndexExpr(int64_t(0)));
    if (!index.mentions(threadIdx(0))) continue;
    // Element threadIdx.x + threads * i of round i: a thread counts its rounds, often to keep its part of the row in registers.
    for (const Loop *loop : access.loops)
      if (index.coefficient(threadIdx(0)).constant() == 1 && index.coefficient(loopVariable(loop->variable)).constant() == group)
        return declined("unsupported_form", "the threads count rounds (" + version.unit.text(access.expr) + " is element threadIdx.x + " + std::to_string(group) + " * " +
                                                loop->variable->getNameAsString() + " of the row), and rounds are not turned into a loop over the row");
    return declined("unsupported_form", "the place of " + version.unit.text(access.expr) + " depends on the thread beside a loop that strides over the row");
  }
  std::set<const Stmt *> covered;
  for (ReductionRegion &region : regions) {
    if (region.function != kernel.function || region.ownedByHelper) continue;
    if (region.group != group) return declined("unsupported_form", "a part of the row's threads combines on its own");
    covered.insert(region.statements.begin(), region.statements.end());
    rows.regions.push_back(region);
  }
  if (auto unsure = unsureThreadTest(rows, group, covered)) {
    finding.decline = Decline{"unsupported_form", version.unit.where(unsure->at->getBeginLoc()), unsure->why};
    return finding;
  }
  std::optional<Decline> problem;
  std::set<const ValueDecl *> totals;
  for (const ReductionRegion &region : rows.regions)
    for (const Total &total : region.totals)
      if (total.place.element) totals.insert(total.place.decl);
  walk(kernel.function->getBody(), [&](const Stmt *stmt) {
    if (covered.count(stmt) || problem) return false;
    auto hold = [&](std::string text) { problem = Decline{"held_by", version.unit.where(stmt->getBeginLoc()), std::move(text)}; };
    if (const auto *call = dyn_cast<CallExpr>(stmt)) {
      const FunctionDecl *body = nullptr;
      if (call->getDirectCallee() && call->getDirectCallee()->hasBody(body) && !isBarrier(call) && calleeName(call).compare(0, 2, "__") != 0 &&
          exchangeIn(body->getBody())) {
        auto reduction = reductionOf(body, kernel, rows.shape);
        if (!reduction || reduction->total.group != group) hold("a helper shares values between threads and is no reduction");
        else {
          rows.helperCalls[call] = reduction->parameter;
          rows.helpers.insert(body);
        }
        return false;
      }
    }
    if (const auto *decls = dyn_cast<DeclStmt>(stmt))
      for (const Decl *decl : decls->decls())
        if (decl->hasAttr<CUDASharedAttr>() && !cast<VarDecl>(decl)->getType()->isArrayType()) rows.sharedScalars.push_back(decls);
    if (const auto *ref = dyn_cast<DeclRefExpr>(stmt))
      if (ref->getDecl()->hasAttr<CUDASharedAttr>() && ref->getDecl()->getType()->isArrayType() && !totals.count(ref->getDecl()))
        hold("the shared array " + ref->getDecl()->getNameAsString() + " holds more than the parts of a total");
    return true;
  });
  if (problem) {
    finding.decline = problem;
    return finding;
  }
  finding.found = std::move(rows);
  return finding;
}

} // namespace klineage
