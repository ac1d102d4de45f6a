// Launches: host code is followed from the launcher to each <<<...>>> of a kernel, with shapes over the launcher's parameters.
#include "model/lifter.h"

namespace klineage {

using namespace clang;

namespace {

const FunctionDecl *functionOf(const Expr *callee) {
  callee = bare(callee);
  if (auto *op = dyn_cast<UnaryOperator>(callee); op && op->getOpcode() == UO_AddrOf) callee = bare(op->getSubExpr());
  if (auto *castExpr = dyn_cast<ExplicitCastExpr>(callee)) return functionOf(castExpr->getSubExpr());
  auto *ref = dyn_cast<DeclRefExpr>(callee);
  if (!ref) return nullptr;
  if (auto *function = dyn_cast<FunctionDecl>(ref->getDecl())) return function;
  auto *var = dyn_cast<VarDecl>(ref->getDecl());
  return var && var->getInit() ? functionOf(var->getInit()) : nullptr;
}

/// Name with template arguments: the same on both sides.
std::string identity(const FunctionDecl *function) {
  std::string name;
  llvm::raw_string_ostream out(name);
  PrintingPolicy policy(LangOptions{});
  policy.SuppressTagKeyword = true;
  policy.Bool = true;
  function->getNameForDiagnostic(out, policy, true);
  const FunctionDecl *definition = nullptr;
  if (!function->hasBody(definition)) definition = function;
  for (const ParmVarDecl *parm : definition->parameters()) out << "," << parm->getType().getCanonicalType().getAsString(policy);
  return out.str();
}

class LaunchFinder {
public:
  LaunchFinder(const Unit &unit, std::string kernel) : unit(unit), kernel(std::move(kernel)), values(unit.ast(Side::Host), loops) {}

  std::vector<Launch> run() {
    struct Roots : RecursiveASTVisitor<Roots> {
      std::vector<const FunctionDecl *> found;
      bool shouldVisitTemplateInstantiations() const { return true; }
      bool VisitFunctionDecl(FunctionDecl *function) {
        if (function->doesThisDeclarationHaveABody() && !function->isDependentContext() && !function->hasAttr<CUDAGlobalAttr>() &&
            !(function->hasAttr<CUDADeviceAttr>() && !function->hasAttr<CUDAHostAttr>()))
          found.push_back(function);
        return true;
      }
    } roots;
    const auto &sources = unit.manager(Side::Host);
    for (Decl *decl : unit.ast(Side::Host).getTranslationUnitDecl()->noload_decls())
      if (!decl->isFromASTFile() && !sources.isInSystemHeader(sources.getExpansionLoc(decl->getLocation()))) roots.TraverseDecl(decl);
    std::stable_sort(roots.found.begin(), roots.found.end(), [](auto *a, auto *b) { return a->isExternC() > b->isExternC(); });
    for (const FunctionDecl *root : roots.found) {
      launcher = root;
      walk(root->getBody(), values.enter(root));
    }
    return std::move(launches);
  }

private:
  const Unit &unit;
  std::string kernel;
  std::vector<std::unique_ptr<Loop>> loops;
  Values values;
  const FunctionDecl *launcher = nullptr;
  std::vector<Launch> launches;
  std::set<const CUDAKernelCallExpr *> seen;

  void walk(const Stmt *stmt, const Frame *frame) {
    if (!stmt) return;
    if (auto *branch = dyn_cast<IfStmt>(stmt)) {
      bool taken;
      if (!branch->getCond()->isValueDependent() && branch->getCond()->EvaluateAsBooleanCondition(taken, values.ast()))
        return walk(taken ? branch->getThen() : branch->getElse(), frame);
    }
    if (auto *call = dyn_cast<CUDAKernelCallExpr>(stmt)) {
      const FunctionDecl *callee = functionOf(call->getCallee());
      // A launch in a helper counts once, as seen from the first launcher that leads to it.
      if (callee && identity(callee) == kernel && (frame->caller == nullptr ? seen.insert(call).second : (seen.insert(call), true))) add(call, frame);
      return;
    }
    if (auto *call = dyn_cast<CallExpr>(stmt); call && call->getDirectCallee()) {
      const FunctionDecl *definition = nullptr;
      const auto &sources = unit.manager(Side::Host);
      if (call->getDirectCallee()->hasBody(definition) && !sources.isInSystemHeader(sources.getExpansionLoc(definition->getLocation())) &&
          !cast<Decl>(definition)->isFromASTFile())
        if (const Frame *inner = values.enterCall(call, frame)) walk(inner->function->getBody(), inner);
    }
    if (auto *lambda = dyn_cast<LambdaExpr>(stmt); lambda) return;
    for (const Stmt *child : stmt->children()) walk(child, frame);
  }

  IndexExpr shape(const Expr *expr, const char *axis, const Frame *frame) {
    if (auto value = values.field(expr, axis, frame)) return *value;
    return IndexExpr::of(opaque(expr, std::string(axis) + "@" + std::to_string(expr->getBeginLoc().getRawEncoding()), {}));
  }

  void add(const CUDAKernelCallExpr *call, const Frame *frame) {
    Launch launch;
    launch.call = call;
    launch.launcher = launcher;
    const CallExpr *config = call->getConfig();
    auto argument = [&](unsigned i) -> const Expr * {
      return i < config->getNumArgs() && !isa<CXXDefaultArgExpr>(config->getArg(i)) ? config->getArg(i) : nullptr;
    };
    launch.grid = argument(0);
    launch.block = argument(1);
    launch.sharedBytes = argument(2);
    launch.stream = argument(3);
    for (const char *axis : {"x", "y", "z"}) {
      launch.gridShape.push_back(shape(launch.grid, axis, frame));
      launch.blockShape.push_back(shape(launch.block, axis, frame));
    }
    launch.sharedSize = launch.sharedBytes ? values.lift(launch.sharedBytes, frame) : IndexExpr(0);
    for (const Expr *e : call->arguments()) {
      launch.arguments.push_back(e);
      if (e->getType()->isPointerType()) {
        PointerValue at = values.pointer(e, frame);
        launch.buffers.push_back(at.exact ? at.base : nullptr);
        launch.values.push_back(at.exact ? at.bytes : IndexExpr::of(opaque(e, "pointer@" + std::to_string(e->getBeginLoc().getRawEncoding()), {})));
      } else {
        launch.buffers.push_back(nullptr);
        IndexExpr dependsOn;
        bool integral = e->getType()->isIntegralOrEnumerationType();
        launch.values.push_back(integral ? values.lift(e, frame) : IndexExpr::of(opaque(e, values.structure(e, frame, dependsOn), dependsOn)));
      }
    }
    const Stmt *at = call;
    for (const Frame *f = frame; f && at; at = f->call, f = f->caller) {
      auto own = localGuards(values, at);
      launch.guards.insert(launch.guards.begin(), own.begin(), own.end());
      for (const Guard &guard : own) compare(values, guard, f, launch.known);
    }
    launches.push_back(std::move(launch));
  }
};

} // namespace

std::vector<Launch> findLaunches(const Unit &unit, const FunctionDecl *kernel) { return LaunchFinder(unit, identity(kernel)).run(); }

} // namespace klineage
