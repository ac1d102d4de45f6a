// Finding kernels with one thread an output, and giving each thread several outputs one after another.
#include "step/coarsening_forward.h"
#include "step/coarsening_lanes.h"
#include "step/launch_text.h"
#include "step/lockstep.h"
#include "step/one_thread_a_row.h"
#include "step/site_building.h"
#include "step/staging.h"
#include "step/tidy.h"
#include <algorithm>

namespace klineage {

using namespace clang;

namespace {

bool onlyReturns(const Stmt *stmt) {
  if (auto *block = dyn_cast<CompoundStmt>(stmt)) return block->size() == 1 && onlyReturns(block->body_front());
  return isa<ReturnStmt>(stmt);
}

int builtinUses(const Stmt *stmt) {
  struct Finder : RecursiveASTVisitor<Finder> {
    int found = 0;
    bool TraversePseudoObjectExpr(PseudoObjectExpr *expr) { found += !threadBuiltin(expr).first.empty(); return true; }
  } finder;
  finder.TraverseStmt(const_cast<Stmt *>(stmt));
  return finder.found;
}

bool writesLocal(const Stmt *root, const VarDecl *local) { return !assignmentsTo(local, root).empty(); }

} // namespace

const OutputCoordinate *SingleOutput::along(unsigned axis) const {
  for (const OutputCoordinate &each : coordinates)
    if (each.axis == axis) return &each;
  return nullptr;
}

SingleOutputFinding findSingleOutput(const Version &version, const KernelModel &kernel) {
  SingleOutput single;
  single.kernel = &kernel;
  const auto *body = dyn_cast<CompoundStmt>(kernel.function->getBody());
  if (!body || body->body_empty()) return {};
  // Coordinates come first; between them only what no thread decides.
  for (const Stmt *stmt : body->body()) {
    const auto *decls = dyn_cast<DeclStmt>(stmt);
    const auto *local = decls && decls->isSingleDecl() ? dyn_cast<VarDecl>(decls->getSingleDecl()) : nullptr;
    if (!local || !local->getInit() || !isInteger(local->getType())) continue;
    IndexExpr value = kernel.lift(local->getInit());
    for (unsigned axis = 0; axis < 2; ++axis) {
      IndexExpr usual = IndexExpr::of(blockIdx(axis)) * IndexExpr::of(blockDim(axis)) + IndexExpr::of(threadIdx(axis));
      if (!(kernel.bound(value) == kernel.bound(usual)) || single.along(axis) || writesLocal(body, local)) continue;
      single.coordinates.push_back({local, decls, axis, kernel.blockSize(axis)});
    }
  }
  if (single.coordinates.empty()) return {};
  std::sort(single.coordinates.begin(), single.coordinates.end(), [](const auto &a, const auto &b) { return a.axis > b.axis; });
  auto no = [&](std::string reason, std::string text) {
    SingleOutputFinding finding;
    finding.decline = declineAt(kernel, std::move(reason), kernel.function, std::move(text));
    return finding;
  };
  std::vector<const Access *> stores;
  for (const Access &access : kernel.accesses) {
    if (access.space == Space::Unknown) return no("opaque_index", "an access through a pointer of unknown origin");
    if (access.kind == Access::Atomic || (access.space == Space::Global && access.kind == Access::ReadWrite)) return no("unsupported_form", "the outputs are updated in place or by atomics");
    if (access.space == Space::Global && access.kind == Access::Write) stores.push_back(&access);
    if (access.space == Space::Local && access.buffer && access.buffer->getType()->isArrayType()) return {}; // a thread with an array has several values already
  }
  if (stores.empty()) return {};
  for (const Access *store : stores) {
    if (!store->calls.empty()) return no("unsupported_form", "the output is written by a helper");
    if (!store->loops.empty() || store->inOpenLoop) return {}; // several outputs already
  }
  if (exchangeIn(kernel.function->getBody()) || !kernel.barriers.empty()) return {};
  if (kernel.function->hasAttr<CUDALaunchBoundsAttr>()) return no("held_by", "the kernel has launch bounds");
  if (kernel.launches.empty()) return no("no_launch", "no launch of the kernel is in sight, and the grid must change with it");
  if (const auto *pattern = kernel.function->getTemplateInstantiationPattern())
    if (std::count_if(version.kernels.begin(), version.kernels.end(), [&](const KernelModel &other) { return other.function->getTemplateInstantiationPattern() == pattern; }) > 1)
      return no("unsupported_form", "several instantiations of the kernel are launched");

  bool started = false;
  for (const Stmt *stmt : body->body()) {
    bool coordinate = std::any_of(single.coordinates.begin(), single.coordinates.end(), [&](const OutputCoordinate &each) { return each.declaration == stmt; });
    if (coordinate) {
      if (started) return no("unsupported_form", "a coordinate is declared after it could have been used");
      continue;
    }
    if (isa<NullStmt>(stmt)) continue;
    const auto *branch = dyn_cast<IfStmt>(stmt);
    if (branch && !branch->getElse() && onlyReturns(branch->getThen()) && single.statements.empty()) {
      for (const Conjunct &part : conjunctsOf(kernel, branch->getCond(), true)) single.guards.push_back(part);
      started = true;
    } else if (branch && !branch->getElse() && !branch->hasVarStorage() && single.statements.empty() && body->body_back() == stmt) {
      for (const Conjunct &part : conjunctsOf(kernel, branch->getCond())) single.guards.push_back(part);
      if (auto *inner = dyn_cast<CompoundStmt>(branch->getThen())) single.statements.assign(inner->body_begin(), inner->body_end());
      else single.statements.push_back(branch->getThen());
    } else {
      single.statements.push_back(stmt);
    }
    started = true;
    if (!single.first) single.first = stmt;
    single.last = stmt;
  }
  if (single.statements.empty()) return {};
  struct Shape : RecursiveASTVisitor<Shape> {
    bool fits = true;
    bool VisitReturnStmt(ReturnStmt *) { return fits = false; }
    bool VisitWhileStmt(WhileStmt *) { return fits = false; }
    bool VisitDoStmt(DoStmt *) { return fits = false; }
    bool VisitSwitchStmt(SwitchStmt *) { return fits = false; }
    bool VisitGCCAsmStmt(GCCAsmStmt *) { return fits = false; }
    bool VisitContinueStmt(ContinueStmt *) { return fits = false; }
    bool VisitBreakStmt(BreakStmt *) { return fits = false; }
  } shape;
  for (const Stmt *stmt : single.statements) shape.TraverseStmt(const_cast<Stmt *>(stmt));
  if (!shape.fits) return no("unsupported_form", "the thread leaves early, or loops until something happens");

  single.otherIndexUses = builtinUses(body);
  for (const OutputCoordinate &each : single.coordinates) single.otherIndexUses -= builtinUses(each.declaration);
  for (const FunctionDecl *function : ownFunctions(version.unit, kernel))
    if (function != kernel.function) single.otherIndexUses += builtinUses(function->getBody());

  LaneDependence depends(single);
  for (const auto &loop : kernel.loops) {
    ++single.loops;
    if (!loop->calls.empty()) continue;
    if (loop->unrollPragma && *loop->unrollPragma != 1) return no("held_by", "a loop is unrolled; take out unroll first");
    if (depends.of(loop->stmt->getCond()).any() || (loop->stmt->getInit() && depends.of(loop->stmt->getInit()).any())) ++single.varyingLoops;
  }
  for (OutputCoordinate &each : single.coordinates) {
    AtomRef probe = each.axis ? threadIdx(1) : threadIdx(0);
    each.open = false;
    for (const Access &access : kernel.accesses) {
      if (access.space != Space::Global || !access.index.mentions(probe)) continue;
      bool bounded = false;
      for (const Comparison &fact : kernel.known(access.guards))
        bounded |= (fact.relation == Comparison::Less || fact.relation == Comparison::LessOrEqual) && fact.difference.coefficient(probe).constant().value_or(0) > 0;
      each.open |= !bounded;
    }
  }
  for (const Access &access : kernel.accesses) {
    if (access.space != Space::Global || access.kind != Access::Read || (access.loops.empty() && !access.inOpenLoop)) continue;
    size_t decides = std::count_if(single.coordinates.begin(), single.coordinates.end(), [&](const OutputCoordinate &each) { return access.index.mentions(threadIdx(each.axis)); });
    single.reused += decides < single.coordinates.size();
  }
  SingleOutputFinding finding;
  finding.found = std::move(single);
  return finding;
}

Result<Edits> toThreadLoop(const Version &version, const SingleOutput &single, int64_t outputs) {
  const OutputCoordinate &along = single.coordinates.front();
  LaneText lanes(version, single, along.axis ? outputs : 1, along.axis ? 1 : outputs);
  std::string name = lanes.counter(along.axis), text;
  text = "for (int " + name + " = 0; " + name + " < " + std::to_string(outputs) + "; ++" + name + ") {\n";
  std::string guard = lanes.guard(LaneSet::all());
  if (!guard.empty()) text += "if (" + guard + ") {\n";
  for (const Stmt *stmt : single.statements) {
    auto one = lanes.plain(stmt);
    if (!one) return one.error();
    text += *one;
  }
  if (!guard.empty()) text += "}\n";
  return lanes.finish(text + "}\n");
}

Detection sitesOfSingleOutputs(const Version &version, bool (*takes)(const SingleOutput &), void (*bind)(Site &, const SingleOutput &), bool says) {
  SiteList sites(version);
  for (const KernelModel &kernel : version.kernels) {
    SingleOutputFinding finding = findSingleOutput(version, kernel);
    if (says && finding.decline) sites.decline(finding.decline->reason, kernel.function->getLocation(), finding.decline->text);
    if (!finding.found || !takes(*finding.found)) continue;
    auto locus = sites.locus("kernel", kernel.function->getNameAsString(), kernel.function->getBody()->getSourceRange());
    if (!locus || !sites.firstAt(*locus)) continue;
    Site site;
    site.locus = *locus;
    site.kernel = &kernel;
    site.carrier = kernel.function->getBody()->getSourceRange();
    bind(site, *finding.found);
    site.keep(std::move(*finding.found));
    sites.add(std::move(site));
  }
  return sites.take();
}

} // namespace klineage
