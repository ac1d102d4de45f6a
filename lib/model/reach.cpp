// Reaching values: which assignment a use of a variable sees, walking backwards from the use through structured code.
#include "model/values.h"

namespace klineage {

using namespace clang;

namespace {

/// Finds every change of every variable of a body, and who keeps its address.
class ChangeFinder : public RecursiveASTVisitor<ChangeFinder> {
public:
  ChangeFinder(const Values &values, std::map<const ValueDecl *, VariableFacts> &into) : values(values), into(into) {}

  bool VisitDeclRefExpr(DeclRefExpr *ref) {
    auto *variable = dyn_cast<VarDecl>(ref->getDecl());
    if (!variable) return true;
    const Stmt *use = ref;
    const FieldDecl *field = nullptr;
    const Stmt *up = skip(use);
    while (auto *member = dyn_cast_or_null<MemberExpr>(up)) {
      if (member->isArrow()) return true; // Through a pointer: the pointer is only read.
      if (!isa<FieldDecl>(member->getMemberDecl())) break;
      if (!field) field = cast<FieldDecl>(member->getMemberDecl());
      use = member;
      up = skip(use);
    }
    classify(variable, field, use, up);
    return true;
  }

private:
  const Values &values;
  std::map<const ValueDecl *, VariableFacts> &into;

  const Stmt *skip(const Stmt *&use) const {
    const Stmt *up = values.parent(use);
    while (isa_and_nonnull<ParenExpr>(up)) { use = up; up = values.parent(up); }
    return up;
  }
  void add(const VarDecl *variable, const FieldDecl *field, const Expr *expr, Change::Kind kind, const Expr *amount, const Stmt *stmt) {
    into[variable].changes.push_back({expr, field, kind, amount, stmt});
  }
  void classify(const VarDecl *variable, const FieldDecl *field, const Stmt *use, const Stmt *up) {
    if (!up) return;
    if (auto *castExpr = dyn_cast<ImplicitCastExpr>(up)) {
      auto kind = castExpr->getCastKind();
      // Arrays are memory, not values; what is read by a cast is only read.
      if (kind == CK_LValueToRValue || kind == CK_ArrayToPointerDecay || castExpr->getType().isConstQualified()) return;
      if (kind == CK_NoOp || kind == CK_DerivedToBase) return;
    }
    if (auto *op = dyn_cast<BinaryOperator>(up)) {
      if (op->isAssignmentOp() && op->getLHS()->IgnoreParens() == cast<Expr>(use)->IgnoreParens()) {
        // x = x + e adds as x += e does.
        if (auto *sum = dyn_cast<BinaryOperator>(bare(op->getRHS())); op->getOpcode() == BO_Assign && sum && !field && sum->isAdditiveOp()) {
          auto isSelf = [&](const Expr *e) { auto *r = dyn_cast<DeclRefExpr>(bare(e)); return r && r->getDecl() == variable; };
          if (isSelf(sum->getLHS())) {
            add(variable, field, op, sum->getOpcode() == BO_Add ? Change::Add : Change::Subtract, sum->getRHS(), op);
            return;
          }
          if (sum->getOpcode() == BO_Add && isSelf(sum->getRHS())) {
            add(variable, field, op, Change::Add, sum->getLHS(), op);
            return;
          }
        }
        auto kind = op->getOpcode() == BO_Assign ? Change::Assign : op->getOpcode() == BO_AddAssign ? Change::Add
                    : op->getOpcode() == BO_SubAssign ? Change::Subtract : Change::Compound;
        add(variable, field, op, kind, op->getRHS(), op);
      }
      return;
    }
    if (auto *op = dyn_cast<UnaryOperator>(up)) {
      if (op->isIncrementDecrementOp())
        add(variable, field, op, op->isIncrementOp() ? Change::Increment : Change::Decrement, nullptr, op);
      else if (op->getOpcode() == UO_AddrOf && !variable->getType()->isArrayType())
        into[variable].escaped = true;
      return;
    }
    if (auto *call = dyn_cast<CXXOperatorCallExpr>(up); call && call->isAssignmentOp() && call->getArg(0) == use) {
      if (call->getOperator() == OO_Equal) add(variable, field, call, Change::Assign, call->getArg(1), call);
      else add(variable, field, call, Change::Unclear, nullptr, call);
      return;
    }
    if (auto *call = dyn_cast<CallExpr>(up)) {
      // Handed over by reference: changed there, unless the parameter is const.
      if (auto *callee = call->getDirectCallee())
        for (unsigned i = 0; i < call->getNumArgs(); ++i) {
          unsigned shift = isa<CXXOperatorCallExpr>(call) && isa<CXXMethodDecl>(callee) && cast<CXXMethodDecl>(callee)->isInstance();
          if (call->getArg(i) != use) continue;
          if (i < shift) { // The object of an operator.
            if (cast<CXXMethodDecl>(callee)->isConst()) return;
          } else if (i - shift < callee->getNumParams()) {
            QualType type = callee->getParamDecl(i - shift)->getType();
            if (!type->isReferenceType() || type->getPointeeType().isConstQualified()) return;
          }
        }
      if (variable->getType()->isArrayType()) return;
      add(variable, field, call, Change::Unclear, nullptr, call);
      return;
    }
    if (auto *member = dyn_cast<MemberExpr>(up)) { // A method's object.
      auto *method = dyn_cast<CXXMethodDecl>(member->getMemberDecl());
      if (method && !method->isConst() && !method->isStatic()) into[variable].escaped = true;
      return;
    }
    if (isa<GCCAsmStmt>(up)) {
      if (!variable->getType()->isArrayType()) add(variable, field, nullptr, Change::Unclear, nullptr, up);
      return;
    }
    if (isa<DeclStmt>(up) && !variable->getType()->isArrayType()) {
      // Bound to a reference: kept, unless that reference only reads.
      for (const Decl *decl : cast<DeclStmt>(up)->decls())
        if (auto *bound = dyn_cast<VarDecl>(decl); bound && bound->getInit() && bound->getInit()->IgnoreParens() == cast<Expr>(use)->IgnoreParens())
          if (bound->getType()->isReferenceType() && !bound->getType()->getPointeeType().isConstQualified()) into[variable].escaped = true;
    }
  }
};

void recordParents(const Stmt *stmt, std::map<const Stmt *, const Stmt *> &parents) {
  std::vector<const Stmt *> work{stmt};
  auto visit = [&](const Stmt *child, const Stmt *of) {
    if (!child || !parents.emplace(child, of).second) return;
    work.push_back(child);
  };
  while (!work.empty()) {
    const Stmt *at = work.back();
    work.pop_back();
    // A property such as threadIdx.x is known by how it is written.
    if (auto *pseudo = dyn_cast<PseudoObjectExpr>(at)) {
      visit(pseudo->getSyntacticForm(), at);
      continue;
    }
    if (auto *property = dyn_cast<MSPropertyRefExpr>(at)) visit(property->getBaseExpr(), at);
    if (auto *lambda = dyn_cast<LambdaExpr>(at)) visit(lambda->getBody(), at);
    for (const Stmt *child : at->children()) visit(child, at);
  }
}

const VarDecl *declaredIn(const Stmt *stmt, const ValueDecl *variable) {
  if (auto *decls = dyn_cast_or_null<DeclStmt>(stmt))
    for (const Decl *decl : decls->decls())
      if (decl == variable) return cast<VarDecl>(decl);
  return nullptr;
}

} // namespace

void Values::index(const FunctionDecl *function) {
  if (!indexed.insert(function).second || !function->getBody()) return;
  recordParents(function->getBody(), parents);
  if (auto *constructor = dyn_cast<CXXConstructorDecl>(function))
    for (const auto *init : constructor->inits())
      if (init->getInit()) recordParents(init->getInit(), parents);
  ChangeFinder(*this, variables).TraverseStmt(function->getBody());
}

const VariableFacts &Values::factsOf(const ValueDecl *variable) const {
  static const VariableFacts none;
  auto it = variables.find(variable);
  return it == variables.end() ? none : it->second;
}

bool Values::changedIn(const Stmt *stmt, const ValueDecl *variable, const FieldDecl *field) const {
  for (const Change &change : factsOf(variable).changes)
    if ((!field || !change.field || change.field == field) && contains(stmt, change.stmt)) return true;
  return false;
}

Reaching Values::reach(const ValueDecl *variable, const FieldDecl *field, const Stmt *at, const Frame *frame) {
  Reaching result;
  result.frame = frame;
  const VariableFacts &facts = factsOf(variable);
  if (facts.escaped) return result;
  auto initialised = [&](const VarDecl *decl) {
    if (!decl->getInit()) return result;
    Reaching value;
    value.base = Reaching::Value;
    value.value = decl->getInit();
    value.frame = frame;
    value.fieldLeft = field;
    return value;
  };
  for (const Stmt *current = at;;) {
    const Stmt *up = parent(current);
    if (!up) {
      if (auto *parm = dyn_cast<ParmVarDecl>(variable)) {
        auto it = frame ? frame->arguments.find(parm) : std::map<const ParmVarDecl *, const Expr *>::const_iterator();
        if (frame && it != frame->arguments.end()) {
          result.base = Reaching::Value;
          result.value = it->second;
          result.frame = frame->caller;
          result.fieldLeft = field;
          return result;
        }
        if (frame && frame->function) {
          bool isOwn = false;
          for (const ParmVarDecl *own : frame->function->parameters()) isOwn |= own == parm;
          if (isOwn) { result.base = Reaching::Entry; return result; }
        }
      }
      // Captured by a lambda that was called from the frame's caller.
      if (frame && frame->call) return reach(variable, field, frame->call, frame->caller);
      return result;
    }
    if (auto *lambda = dyn_cast<LambdaExpr>(up); lambda && frame && frame->call && frame->function == lambda->getCallOperator()) {
      auto *parm = dyn_cast<ParmVarDecl>(variable);
      if (parm) if (auto it = frame->arguments.find(parm); it != frame->arguments.end()) {
        result.base = Reaching::Value;
        result.value = it->second;
        result.frame = frame->caller;
        result.fieldLeft = field;
        return result;
      }
      return reach(variable, field, frame->call, frame->caller);
    }
    if (auto *block = dyn_cast<CompoundStmt>(up)) {
      std::vector<const Stmt *> before;
      for (const Stmt *child : block->body()) {
        if (child == current) break;
        before.push_back(child);
      }
      for (auto it = before.rbegin(); it != before.rend(); ++it) {
        if (changedIn(*it, variable, field)) return after(variable, field, *it, frame);
        if (const VarDecl *decl = declaredIn(*it, variable)) return initialised(decl);
      }
    } else if (auto *decls = dyn_cast<DeclStmt>(up)) {
      for (const Decl *decl : decls->decls()) {
        auto *var = dyn_cast<VarDecl>(decl);
        if (var && var->getInit() == current) break;
        if (decl == variable) return initialised(cast<VarDecl>(decl));
      }
    } else if (auto *loopStmt = dyn_cast<ForStmt>(up)) {
      if (current != loopStmt->getInit()) {
        const Loop *canon = loop(loopStmt, frame);
        if (canon && canon->variable == variable) {
          result.base = Reaching::LoopIndex;
          result.loop = canon;
          return result;
        }
        if (changedIn(loopStmt, variable, field) && (!loopStmt->getInit() || !changedIn(loopStmt->getInit(), variable, field))) {
          if (!canon || current != loopStmt->getBody() || !canon->step.terms().size()) return result;
          IndexExpr index = IndexExpr::of(loopVariable(canon->variable, canon->begin, canon->end));
          Reaching base = declaredIn(loopStmt->getInit(), variable)
                              ? initialised(cast<VarDecl>(variable)) : reach(variable, field, loopStmt, frame);
          if (!perIteration(variable, field, *canon, loopStmt, frame, index - canon->begin, base)) return result;
          return base;
        }
        if (changedIn(loopStmt, variable, field)) return result;
        if (const VarDecl *decl = declaredIn(loopStmt->getInit(), variable)) return initialised(decl);
      }
    } else if (isa<WhileStmt>(up) || isa<DoStmt>(up) || isa<CXXForRangeStmt>(up) || isa<SwitchStmt>(up)) {
      if (changedIn(up, variable, field)) return result;
    } else if (auto *branch = dyn_cast<IfStmt>(up)) {
      if (branch->getInit() && current != branch->getInit()) {
        if (changedIn(branch->getInit(), variable, field)) return result;
        if (const VarDecl *decl = declaredIn(branch->getInit(), variable)) return initialised(decl);
      }
      if (current != branch->getCond() && branch->getCond() && changedIn(branch->getCond(), variable, field)) return result;
    } else if (auto *op = dyn_cast<BinaryOperator>(up); op && op->getOpcode() == BO_Comma) {
      if (current == op->getRHS() && changedIn(op->getLHS(), variable, field)) return after(variable, field, op->getLHS(), frame);
    } else if (isa<Expr>(up)) {
      for (const Stmt *child : up->children())
        if (child && child != current && !isa<LambdaExpr>(child) && changedIn(child, variable, field)) return result;
    }
    current = up;
  }
}

Reaching Values::after(const ValueDecl *variable, const FieldDecl *field, const Stmt *stmt, const Frame *frame) {
  Reaching unknown;
  unknown.frame = frame;
  if (auto *attributed = dyn_cast<AttributedStmt>(stmt)) stmt = attributed->getSubStmt();
  if (auto *expr = dyn_cast<Expr>(stmt)) stmt = bare(expr);
  for (const Change &change : factsOf(variable).changes) {
    if (change.stmt != stmt || (field && change.field && change.field != field)) continue;
    if (change.field && !field) return unknown; // A part of the object that is asked for whole.
    bool whole = !change.field;
    switch (change.kind) {
    case Change::Assign: {
      if (changedIn(change.amount, variable, field)) return unknown;
      Reaching value;
      value.base = Reaching::Value;
      value.value = change.amount;
      value.frame = frame;
      value.fieldLeft = whole ? field : nullptr;
      return value;
    }
    case Change::Add: case Change::Subtract: case Change::Increment: case Change::Decrement: {
      if (change.amount && changedIn(change.amount, variable, field)) return unknown;
      Reaching value = reach(variable, field, stmt, frame);
      int sign = change.kind == Change::Add || change.kind == Change::Increment ? 1 : -1;
      if (value.base != Reaching::Unknown) value.added.push_back({change.amount, frame, sign, 1});
      return value;
    }
    case Change::Compound: {
      Reaching value;
      value.base = Reaching::CompoundResult;
      value.value = change.expr;
      value.frame = frame;
      return value;
    }
    case Change::Unclear: return unknown;
    }
  }
  if (auto *block = dyn_cast<CompoundStmt>(stmt)) {
    const Stmt *last = nullptr;
    for (const Stmt *child : block->body())
      if (changedIn(child, variable, field)) last = child;
    return last ? after(variable, field, last, frame) : unknown;
  }
  if (auto *op = dyn_cast<BinaryOperator>(stmt); op && op->getOpcode() == BO_Comma)
    return changedIn(op->getRHS(), variable, field) ? after(variable, field, op->getRHS(), frame) : after(variable, field, op->getLHS(), frame);
  if (auto *branch = dyn_cast<IfStmt>(stmt)) {
    bool taken;
    if (!branch->getCond()->isValueDependent() && branch->getCond()->EvaluateAsBooleanCondition(taken, context)) {
      const Stmt *way = taken ? branch->getThen() : branch->getElse();
      return way && changedIn(way, variable, field) ? after(variable, field, way, frame) : reach(variable, field, stmt, frame);
    }
    return unknown;
  }
  if (auto *loopStmt = dyn_cast<ForStmt>(stmt)) {
    const Loop *canon = loop(loopStmt, frame);
    if (!canon || canon->variable == variable || canon->leavesEarly) return unknown;
    // Whole iterations only; a loop that may run zero times is right too, because then end - begin is taken for zero.
    if (!isNonNegative(canon->end - canon->begin)) return unknown;
    auto trips = exactQuotient(canon->end - canon->begin, canon->step);
    if (!trips) return unknown;
    Reaching base = reach(variable, field, stmt, frame);
    if (!perIteration(variable, field, *canon, loopStmt, frame, canon->end - canon->begin, base)) return unknown;
    return base;
  }
  return unknown;
}

/// Adds what the loop's earlier iterations add to the variable: `span` is the distance of the loop variable from its start.
bool Values::perIteration(const ValueDecl *variable, const FieldDecl *field, const Loop &loop, const ForStmt *stmt, const Frame *frame,
                          const IndexExpr &span, Reaching &into) {
  if (into.base == Reaching::Unknown || loop.descending) return false;
  std::vector<const Stmt *> places; // Statements that run once in every iteration.
  if (auto *block = dyn_cast<CompoundStmt>(stmt->getBody()))
    for (const Stmt *child : block->body()) places.push_back(child);
  else
    places.push_back(stmt->getBody());
  std::vector<const Expr *> commas;
  if (stmt->getInc()) commas.push_back(stmt->getInc());
  while (!commas.empty()) {
    const Expr *e = bare(commas.back());
    commas.pop_back();
    if (auto *op = dyn_cast<BinaryOperator>(e); op && op->getOpcode() == BO_Comma) {
      commas.push_back(op->getLHS());
      commas.push_back(op->getRHS());
    } else places.push_back(e);
  }
  auto isPlace = [&](const Stmt *s) {
    for (const Stmt *place : places)
      if (place == s || (isa<Expr>(place) && bare(cast<Expr>(place)) == s)) return true;
    return false;
  };
  for (const Change &change : factsOf(variable).changes) {
    if (!contains(stmt, change.stmt) || (field && change.field && change.field != field)) continue;
    bool adds = change.kind == Change::Add || change.kind == Change::Subtract || change.kind == Change::Increment || change.kind == Change::Decrement;
    if (!adds || !isPlace(change.stmt) || (loop.hasContinue && !contains(stmt->getInc(), change.stmt))) return false;
    int sign = change.kind == Change::Add || change.kind == Change::Increment ? 1 : -1;
    IndexExpr amount = change.amount ? lift(change.amount, frame) : IndexExpr(1);
    if (amount.mentions(loopVariable(loop.variable)) || amount.mentionsOpaque() || amount.mentionsKind(Atom::Variable)) return false;
    // amount * (span / step): what the step divides is written without a quotient.
    IndexExpr times;
    if (auto each = exactQuotient(amount, loop.step)) {
      into.added.push_back({nullptr, frame, sign, *each * span});
      continue;
    }
    if (auto whole = exactQuotient(span, loop.step)) times = *whole;
    else times = quotient(span, loop.step);
    into.added.push_back({nullptr, frame, sign, amount * times});
  }
  return true;
}

/// No variable that the value rests on changes between where it was computed and where it is used.
bool Values::settled(const IndexExpr &value, const Stmt *from, const Stmt *to) const {
  const auto &sources = context.getSourceManager();
  for (const AtomRef &atom : value.atoms()) {
    if (atom->kind != Atom::Variable) continue;
    const VariableFacts &facts = factsOf(atom->decl);
    if (facts.escaped) return false;
    for (const Change &change : facts.changes) {
      SourceLocation at = change.stmt->getBeginLoc();
      if (sources.isBeforeInTranslationUnit(from->getBeginLoc(), at) && sources.isBeforeInTranslationUnit(at, to->getBeginLoc())) return false;
      for (const Stmt *up = parent(to); up; up = parent(up))
        if ((isa<ForStmt>(up) || isa<WhileStmt>(up) || isa<DoStmt>(up)) && !contains(up, from) && contains(up, change.stmt)) return false;
    }
  }
  return true;
}

IndexExpr Values::liftReaching(const Reaching &reaching, const ValueDecl *decl, const Stmt *at, const Frame *frame) {
  IndexExpr base;
  switch (reaching.base) {
  case Reaching::Unknown: return IndexExpr::of(variable(decl));
  case Reaching::Entry: base = IndexExpr::of(parameter(cast<ParmVarDecl>(decl))); break;
  case Reaching::LoopIndex:
    base = loopsInProgress.count(reaching.loop->stmt) ? IndexExpr::of(loopVariable(reaching.loop->variable)) : IndexExpr::of(loopVariable(reaching.loop->variable, reaching.loop->begin, reaching.loop->end));
    break;
  case Reaching::Value: {
    if (reaching.fieldLeft) {
      auto value = liftField(reaching.value, reaching.fieldLeft, reaching.frame);
      if (!value) return IndexExpr::of(variable(decl));
      base = *value;
    } else {
      base = lift(reaching.value, reaching.frame);
    }
    if (!settled(base, reaching.value, at)) return IndexExpr::of(variable(decl));
    break;
  }
  case Reaching::CompoundResult: base = lift(reaching.value, reaching.frame); break;
  }
  for (const auto &addend : reaching.added) {
    IndexExpr amount = addend.amount ? lift(addend.amount, addend.frame) : IndexExpr(1);
    if (addend.amount && !settled(amount, addend.amount, at)) return IndexExpr::of(variable(decl));
    base = base + amount * addend.times * IndexExpr(addend.sign);
  }
  return base;
}

IndexExpr Values::liftVariable(const DeclRefExpr *ref, const Frame *frame) {
  auto *decl = dyn_cast<VarDecl>(ref->getDecl());
  if (!decl) return opaqueOf(ref, frame);
  if (decl->getName() == "warpSize" && decl->hasExternalStorage()) return 32;
  QualType type = decl->getType();
  if (type->isReferenceType()) {
    // A reference stands for what it was bound to.
    if (auto *parm = dyn_cast<ParmVarDecl>(decl))
      if (frame)
        if (auto it = frame->arguments.find(parm); it != frame->arguments.end()) return lift(it->second, frame->caller);
    if (decl->getInit() && bare(decl->getInit())->getType()->isIntegralOrEnumerationType()) {
      IndexExpr value = lift(decl->getInit(), frame);
      if (settled(value, decl->getInit(), ref)) return value;
    }
    return IndexExpr::of(variable(decl));
  }
  if (!type->isIntegralOrEnumerationType()) return opaqueOf(ref, frame);
  if (decl->hasGlobalStorage()) return IndexExpr::of(variable(decl));
  return liftReaching(reach(decl, nullptr, ref, frame), decl, ref, frame);
}

} // namespace klineage
