// Uniformity: what is the same in every thread of a block, as far as it can be shown.
#include "model/lifter.h"

namespace klineage {

using namespace clang;

namespace {

class Uniformity {
public:
  Uniformity(const KernelModel &model, Values &values, const std::set<const ValueDecl *> &written, bool writesAnywhere)
      : model(model), values(values), written(written), writesAnywhere(writesAnywhere) {}

  bool index(const IndexExpr &expr) {
    for (const auto &[key, term] : expr.terms())
      for (const AtomRef &atom : term.first)
        if (!quantity(*atom)) return false;
    return true;
  }

  bool expression(const Expr *expr, const Frame *frame) {
    expr = bare(expr);
    if (expr->getType()->isIntegralOrEnumerationType() && !isa<BinaryOperator>(expr) && !isa<UnaryOperator>(expr)) return index(values.lift(expr, frame));
    if (auto *op = dyn_cast<BinaryOperator>(expr)) {
      bool integers = op->getLHS()->getType()->isIntegralOrEnumerationType() && op->getRHS()->getType()->isIntegralOrEnumerationType();
      // What both sides share cancels.
      if (op->isComparisonOp() && integers && index(values.lift(op->getLHS(), frame) - values.lift(op->getRHS(), frame))) return true;
      if (integers && !op->isComparisonOp() && !op->isLogicalOp() && index(values.lift(expr, frame))) return true;
      return expression(op->getLHS(), frame) && expression(op->getRHS(), frame);
    }
    if (auto *op = dyn_cast<UnaryOperator>(expr)) {
      if (op->getOpcode() == UO_Deref) return load(op, frame);
      return op->getOpcode() != UO_AddrOf && expression(op->getSubExpr(), frame);
    }
    if (auto *op = dyn_cast<ConditionalOperator>(expr))
      return expression(op->getCond(), frame) && expression(op->getTrueExpr(), frame) && expression(op->getFalseExpr(), frame);
    if (auto *op = dyn_cast<ExplicitCastExpr>(expr)) return expression(op->getSubExpr(), frame);
    if (isa<ArraySubscriptExpr>(expr)) return load(expr, frame);
    if (auto *ref = dyn_cast<DeclRefExpr>(expr)) {
      auto *var = dyn_cast<VarDecl>(ref->getDecl());
      if (!var) return true;
      if (auto *parm = dyn_cast<ParmVarDecl>(var); parm && frame)
        if (auto it = frame->arguments.find(parm); it != frame->arguments.end() && values.factsOf(parm).changes.empty())
          return expression(it->second, frame->caller);
      return variable(var);
    }
    if (auto *call = dyn_cast<CallExpr>(expr)) {
      auto *callee = call->getDirectCallee();
      if (!callee) return false;
      StringRef name = callee->getDeclName().isIdentifier() ? callee->getName() : "";
      if (name == "__syncthreads_or" || name == "__syncthreads_and" || name == "__syncthreads_count") return true;
      if (name == "__ldg" && call->getNumArgs() == 1) return loadThrough(values.pointer(call->getArg(0), frame));
      if (name.starts_with("__shfl") || name.starts_with("atomic") || name.starts_with("__ballot") || name.starts_with("__activemask") || name.starts_with("clock")) return false;
      for (const Expr *argument : call->arguments())
        if (argument->getType()->isPointerType() || argument->isGLValue() || !expression(argument, frame)) return false;
      return callee->isConstexpr() || callee->hasAttr<ConstAttr>() || callee->hasAttr<PureAttr>() || callee->getBuiltinID() != 0 || name.ends_with("f") || name == "sqrt" || name == "exp";
    }
    return isa<FloatingLiteral>(expr) || isa<IntegerLiteral>(expr) || isa<CXXBoolLiteralExpr>(expr);
  }

  bool guard(const Guard &guard) { return expression(guard.condition, values.frameOf(guard.condition)); }

  /// The threads that come to `at` come together: its guards, the loops around it and the ways out before it are uniform.
  bool place(const Stmt *at, const Frame *frame) {
    if (!placesInProgress.insert(at).second) return true;
    struct Pop { std::set<const Stmt *> &set; const Stmt *at; ~Pop() { set.erase(at); } } pop{placesInProgress, at};
    for (const Frame *f = frame; f && at; at = f->call, f = f->caller) {
      for (const Guard &g : localGuards(values, at))
        if (!guard(g)) return false;
      const Stmt *child = at, *outermostLoop = nullptr, *top = at;
      for (const Stmt *up = values.parent(at); up; child = up, up = values.parent(up)) {
        top = up;
        if (auto *loopStmt = dyn_cast<ForStmt>(up); loopStmt && child != loopStmt->getInit()) {
          outermostLoop = up;
          if (const Loop *canon = values.loop(loopStmt, f)) { if (!loop(*canon)) return false; }
          else if (loopStmt->getCond() && !expression(loopStmt->getCond(), f)) return false;
        } else if (auto *whileStmt = dyn_cast<WhileStmt>(up)) {
          outermostLoop = up;
          if (!expression(whileStmt->getCond(), f)) return false;
        } else if (auto *doStmt = dyn_cast<DoStmt>(up)) {
          outermostLoop = up;
          if (!expression(doStmt->getCond(), f)) return false;
        } else if (auto *choice = dyn_cast<SwitchStmt>(up)) {
          if (!expression(choice->getCond(), f)) return false;
        }
      }
      if (!exits(top, at, outermostLoop, f)) return false;
    }
    return true;
  }

  bool loop(const Loop &loop) { return index(loop.begin) && index(loop.end) && index(loop.step); }

private:
  const KernelModel &model;
  Values &values;
  const std::set<const ValueDecl *> &written;
  bool writesAnywhere;
  std::set<const ValueDecl *> variablesInProgress;
  std::set<const Stmt *> placesInProgress;

  bool quantity(const Atom &atom) {
    switch (atom.kind) {
    case Atom::ThreadIdx: return false;
    case Atom::BlockIdx: case Atom::BlockDim: case Atom::GridDim: case Atom::Parameter: return true;
    case Atom::LoopVariable: {
      // In step with the other threads as long as they run: the loop's end is asked of the loop, not of the value.
      if (!atom.hasRange) return false;
      if (!index(atom.left)) return false;
      for (const auto &known : model.loops)
        if (known->variable == atom.decl) return index(known->step);
      return true;
    }
    case Atom::Variable: return atom.decl && variable(cast<VarDecl>(atom.decl));
    case Atom::Opaque: return atom.expr && !isa<DeclRefExpr>(bare(atom.expr)) && expressionOfOpaque(atom.expr);
    default: return index(atom.left) && index(atom.right);
    }
  }

  bool expressionOfOpaque(const Expr *expr) {
    const Frame *frame = values.frameOf(expr);
    const Expr *inner = bare(expr);
    if (isa<BinaryOperator>(inner) || isa<UnaryOperator>(inner) || isa<ConditionalOperator>(inner) || isa<ArraySubscriptExpr>(inner) || isa<ExplicitCastExpr>(inner)) {
      if (auto *op = dyn_cast<BinaryOperator>(inner)) return expression(op->getLHS(), frame) && expression(op->getRHS(), frame);
      return expression(inner, frame);
    }
    if (auto *call = dyn_cast<CallExpr>(inner)) {
      auto *callee = call->getDirectCallee();
      if (!callee || !callee->getDeclName().isIdentifier()) return false;
      StringRef name = callee->getName();
      if (name == "__syncthreads_or" || name == "__syncthreads_and" || name == "__syncthreads_count") return true;
      if (name == "__ldg" && call->getNumArgs() == 1) return loadThrough(values.pointer(call->getArg(0), frame));
    }
    return false;
  }

  bool load(const Expr *lvalue, const Frame *frame) { return loadThrough(values.object(lvalue, frame)); }

  bool loadThrough(const PointerValue &at) {
    if (!at.base || !at.exact || !index(at.bytes)) return false;
    Space space = spaceOf(at.base);
    if (space == Space::Constant) return true;
    // Memory that this kernel writes may change between two threads' reads.
    return space == Space::Global && !written.count(at.base) && !writesAnywhere;
  }

  bool variable(const VarDecl *var) {
    if (isa<ParmVarDecl>(var) && values.factsOf(var).changes.empty() && !values.factsOf(var).escaped)
      return values.frameOf(model.function->getBody())->function == var->getDeclContext();
    if (var->hasGlobalStorage()) return var->getType().isConstQualified() || var->hasAttr<CUDAConstantAttr>();
    if (var->getType()->isArrayType() || var->getType()->isReferenceType()) return false;
    const VariableFacts &facts = values.factsOf(var);
    if (facts.escaped) return false;
    if (!variablesInProgress.insert(var).second) return true; // A cycle adds nothing that is not asked elsewhere on it.
    struct Pop { std::set<const ValueDecl *> &set; const ValueDecl *var; ~Pop() { set.erase(var); } } pop{variablesInProgress, var};
    if (var->getInit() && !expression(var->getInit(), values.frameOf(var->getInit()))) return false;
    for (const Change &change : facts.changes) {
      if (change.kind == Change::Unclear) return false;
      const Frame *frame = values.frameOf(change.stmt);
      if (change.amount && !expression(change.amount, frame)) return false;
      if (!place(change.stmt, frame)) return false;
    }
    return true;
  }

  struct ExitFinder : RecursiveASTVisitor<ExitFinder> {
    std::vector<const Stmt *> found;
    bool VisitReturnStmt(ReturnStmt *s) { found.push_back(s); return true; }
    bool VisitBreakStmt(BreakStmt *s) { found.push_back(s); return true; }
    bool VisitContinueStmt(ContinueStmt *s) { found.push_back(s); return true; }
    bool VisitGotoStmt(GotoStmt *s) { found.push_back(s); return true; }
    bool TraverseLambdaExpr(LambdaExpr *) { return true; }
  };

  bool exits(const Stmt *top, const Stmt *at, const Stmt *outermostLoop, const Frame *frame) {
    ExitFinder finder;
    finder.TraverseStmt(const_cast<Stmt *>(top));
    const auto &sources = values.ast().getSourceManager();
    for (const Stmt *exit : finder.found) {
      bool shares = outermostLoop && values.contains(outermostLoop, exit);
      bool before = sources.isBeforeInTranslationUnit(exit->getBeginLoc(), at->getBeginLoc());
      if (!shares && !(before && isa<ReturnStmt>(exit))) continue;
      if (isa<BreakStmt>(exit) || isa<ContinueStmt>(exit)) {
        // Only the loop that it belongs to matters, and only when that loop holds `at`.
        const Stmt *owner = values.parent(exit);
        while (owner && !isa<ForStmt>(owner) && !isa<WhileStmt>(owner) && !isa<DoStmt>(owner) && !(isa<SwitchStmt>(owner) && isa<BreakStmt>(exit))) owner = values.parent(owner);
        if (!owner || isa<SwitchStmt>(owner) || !values.contains(owner, at)) continue;
        if (isa<ContinueStmt>(exit) && !before) continue;
      }
      for (const Guard &g : localGuards(values, exit))
        if (!guard(g)) return false;
    }
    return true;
  }
};

} // namespace

bool KernelModel::isUniform(const Expr *expr) const {
  return Uniformity(*this, *state->values, state->written, state->writesAnywhere).expression(expr, state->values->frameOf(expr));
}
bool KernelModel::isUniform(const Loop &loop) const {
  return Uniformity(*this, *state->values, state->written, state->writesAnywhere).loop(loop);
}
bool KernelModel::isUniform(const std::vector<Guard> &guards) const {
  Uniformity uniformity(*this, *state->values, state->written, state->writesAnywhere);
  for (const Guard &guard : guards)
    if (!uniformity.guard(guard)) return false;
  return true;
}
bool KernelModel::isUniform(const Barrier &barrier) const {
  return Uniformity(*this, *state->values, state->written, state->writesAnywhere).place(barrier.stmt, state->values->frameOf(barrier.stmt));
}

} // namespace klineage
