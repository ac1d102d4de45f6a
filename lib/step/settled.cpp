#include "step/settled.h"
#include "step/vector_access.h"
#include <algorithm>

namespace klineage {
namespace {
using namespace clang;

/// What may get a value under a statement, and what jumps out of it.
class Writes : public RecursiveASTVisitor<Writes> {
public:
  std::set<const VarDecl *> targets, declared;
  bool throughPointer = false, calls = false, jumps = false, assembly = false;

  bool VisitBinaryOperator(BinaryOperator *op) {
    if (op->isAssignmentOp()) note(op->getLHS());
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) {
    if (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf) note(op->getSubExpr());
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *call) {
    if (call->isAssignmentOp() || call->getOperator() == OO_PlusPlus || call->getOperator() == OO_MinusMinus) note(call->getArg(0));
    return true;
  }
  bool VisitCallExpr(CallExpr *call) {
    if (isa<CXXOperatorCallExpr>(call)) return true;
    calls = true;
    const FunctionDecl *callee = call->getDirectCallee();
    for (unsigned i = 0; i < call->getNumArgs(); ++i) {
      QualType type = callee && i < callee->getNumParams() ? callee->getParamDecl(i)->getType() : QualType();
      bool byReference = !type.isNull() && type->isReferenceType() && !type.getNonReferenceType().isConstQualified();
      bool array = call->getArg(i)->IgnoreParenImpCasts()->getType()->isArrayType();
      bool readOnly = !type.isNull() && type->isPointerType() && type->getPointeeType().isConstQualified();
      if (byReference || (array && !readOnly)) note(call->getArg(i));
    }
    if (const auto *member = dyn_cast<CXXMemberCallExpr>(call))
      if (const auto *method = member->getMethodDecl(); method && !method->isConst() && !method->isStatic()) note(member->getImplicitObjectArgument());
    return true;
  }
  bool VisitVarDecl(VarDecl *variable) {
    declared.insert(variable);
    return true;
  }
  bool VisitAsmStmt(AsmStmt *) { return assembly = true; }
  bool VisitReturnStmt(ReturnStmt *) { return jumps = true; }
  bool VisitGotoStmt(GotoStmt *) { return jumps = true; }
  bool VisitBreakStmt(BreakStmt *) {
    jumps |= depth == 0;
    return true;
  }
  bool VisitContinueStmt(ContinueStmt *) {
    jumps |= loopDepth == 0;
    return true;
  }
  bool TraverseForStmt(ForStmt *loop) { return inLoop([&] { return RecursiveASTVisitor::TraverseForStmt(loop); }); }
  bool TraverseWhileStmt(WhileStmt *loop) { return inLoop([&] { return RecursiveASTVisitor::TraverseWhileStmt(loop); }); }
  bool TraverseDoStmt(DoStmt *loop) { return inLoop([&] { return RecursiveASTVisitor::TraverseDoStmt(loop); }); }
  bool TraverseSwitchStmt(SwitchStmt *choice) {
    ++depth;
    bool go = RecursiveASTVisitor::TraverseSwitchStmt(choice);
    --depth;
    return go;
  }
  bool TraverseLambdaExpr(LambdaExpr *) { return true; } // its returns are its own; a call of it counts as a call

private:
  template <typename Body> bool inLoop(Body body) {
    ++depth, ++loopDepth;
    bool go = body();
    --depth, --loopDepth;
    return go;
  }
  void note(const Expr *target) {
    if (const VarDecl *variable = localBehind(target)) targets.insert(variable);
    else throughPointer = true;
  }
  unsigned depth = 0, loopDepth = 0;
};

Writes writesUnder(const Stmt *statement) {
  Writes writes;
  writes.TraverseStmt(const_cast<Stmt *>(statement));
  return writes;
}

/// The variables in an expression, each once, in the order of its text.
std::vector<const VarDecl *> namesIn(const Expr *expr) {
  struct Names : RecursiveASTVisitor<Names> {
    std::vector<const VarDecl *> all;
    bool VisitDeclRefExpr(DeclRefExpr *ref) {
      const auto *variable = dyn_cast<VarDecl>(ref->getDecl());
      if (variable && std::find(all.begin(), all.end(), variable) == all.end()) all.push_back(variable);
      return true;
    }
  } names;
  names.TraverseStmt(const_cast<Expr *>(expr));
  return names.all;
}

/// The statements behind the one that declares a variable, in the block that holds it.
struct BehindDeclaration : RecursiveASTVisitor<BehindDeclaration> {
  const VarDecl *anchor = nullptr;
  std::vector<const Stmt *> behind;
  bool found = false;
  bool VisitCompoundStmt(CompoundStmt *block) {
    bool here = false;
    for (const Stmt *one : block->body()) {
      if (here) behind.push_back(one);
      if (const auto *declaration = dyn_cast<DeclStmt>(one))
        for (const Decl *each : declaration->decls()) here |= each == anchor;
    }
    found |= here;
    return true;
  }
};

/// Follows the names that are visible down to a place.
class Scope {
public:
  std::map<std::string, const VarDecl *> visible;
  bool reach(const Stmt *at, const Stmt *place) {
    if (at == place) return true;
    auto outer = visible;
    for (const Stmt *child : at->children())
      if (child && reach(child, place)) return true;
    if (const auto *declaration = dyn_cast<DeclStmt>(at)) {
      for (const Decl *each : declaration->decls())
        if (const auto *variable = dyn_cast<VarDecl>(each)) visible[variable->getNameAsString()] = variable;
    } else if (isa<CompoundStmt, ForStmt, IfStmt, WhileStmt, DoStmt, SwitchStmt>(at)) {
      visible = outer;
    }
    return false;
  }
};

} // namespace

const VarDecl *localBehind(const Expr *expr) {
  expr = expr->IgnoreParenImpCasts();
  if (const auto *member = dyn_cast<MemberExpr>(expr)) return member->isArrow() ? nullptr : localBehind(member->getBase());
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
    const Expr *base = subscript->getBase()->IgnoreParenImpCasts();
    return base->getType()->isArrayType() ? localBehind(base) : nullptr;
  }
  const auto *ref = dyn_cast<DeclRefExpr>(expr);
  const auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  return variable && !variable->hasAttr<CUDASharedAttr>() ? variable : nullptr;
}

Changes::Changes(const KernelModel &kernel, const std::vector<const Stmt *> &statements) : kernel(kernel) {
  for (const Stmt *statement : statements) {
    Writes writes = writesUnder(statement);
    changed.insert(writes.targets.begin(), writes.targets.end());
    changed.insert(writes.declared.begin(), writes.declared.end());
    callsOrStores |= writes.calls || writes.throughPointer || writes.assembly;
    if (writes.jumps) interrupted = "a jump leaves the statements between";
    if (writes.assembly) interrupted = "inline assembly stands between";
    for (const auto &barrier : kernel.barriers)
      if (runsInside(kernel, barrier.stmt, barrier.calls, statement)) interrupted = "a barrier stands between";
  }
}

const VarDecl *Changes::of(const Expr *expr, const VarDecl *except) const {
  for (const VarDecl *variable : namesIn(expr)) {
    if (variable == except) continue;
    if (changed.count(variable)) return variable;
    if (callsOrStores && variable->isLocalVarDeclOrParm() && !variable->hasAttr<CUDASharedAttr>() && !variable->getType()->isArrayType() && kernel.changesOf(variable) < 0) return variable;
  }
  return nullptr;
}

bool isInside(const KernelModel &kernel, const Stmt *inner, const Stmt *outer) {
  for (const Stmt *at = inner; at; at = kernel.parent(at))
    if (at == outer) return true;
  return false;
}

bool runsInside(const KernelModel &kernel, const Stmt *code, const std::vector<const CallExpr *> &calls, const Stmt *statement) {
  if (code && isInside(kernel, code, statement)) return true;
  return std::any_of(calls.begin(), calls.end(), [&](const CallExpr *call) { return isInside(kernel, call, statement); });
}

std::vector<const Stmt *> stretch(const KernelModel &kernel, const Stmt *first, const Stmt *last) {
  Siblings from = siblingsOf(kernel, first), to = siblingsOf(kernel, last);
  if (from.all.empty() || from.all != to.all || from.at > to.at) return {};
  return {from.all.begin() + long(from.at), from.all.begin() + long(to.at) + 1};
}

const VarDecl *changedAfter(const Expr *expr, const VarDecl *anchor) {
  std::vector<const VarDecl *> names = namesIn(expr);
  const auto *function = dyn_cast_or_null<FunctionDecl>(anchor->getParentFunctionOrMethod());
  if (!function || !function->getBody()) return names.empty() ? nullptr : names.front();
  BehindDeclaration search;
  search.anchor = anchor;
  search.TraverseStmt(function->getBody());
  if (!search.found) search.behind = {function->getBody()};
  std::set<const VarDecl *> targets;
  for (const Stmt *statement : search.behind) targets.merge(writesUnder(statement).targets);
  for (const VarDecl *variable : names)
    if (variable->isLocalVarDeclOrParm() && targets.count(variable)) return variable;
  return nullptr;
}

const VarDecl *shadowedAt(const FunctionDecl *function, const Expr *expr, const Stmt *place) {
  Scope scope;
  for (const ParmVarDecl *parameter : function->parameters()) scope.visible[parameter->getNameAsString()] = parameter;
  if (!scope.reach(function->getBody(), place)) return nullptr;
  for (const VarDecl *variable : namesIn(expr)) {
    if (!variable->isLocalVarDeclOrParm()) continue;
    auto there = scope.visible.find(variable->getNameAsString());
    if (there == scope.visible.end() || there->second->getCanonicalDecl() != variable->getCanonicalDecl()) return variable;
  }
  return nullptr;
}

std::set<const ValueDecl *> writtenBy(const KernelModel &kernel, const Stmt *statement) {
  std::set<const ValueDecl *> written;
  Writes writes = writesUnder(statement);
  for (const VarDecl *variable : writes.targets)
    if (!writes.declared.count(variable)) written.insert(variable);
  for (const Access &access : kernel.accesses) {
    if (access.kind == Access::Read || access.space == Space::Local) continue;
    if (runsInside(kernel, access.expr, access.calls, statement)) written.insert(access.buffer);
  }
  return written;
}

} // namespace klineage
