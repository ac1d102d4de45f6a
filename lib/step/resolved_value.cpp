#include "step/resolved_value.h"

namespace klineage {
namespace {

using namespace clang;

/// A choice between two values, or one value; `unset` where nothing was stored yet (zero is as good as what lies there).
struct Node {
  Alternative::Condition condition;
  std::shared_ptr<Node> yes, no;
  LocatedExpr value;
  bool unset = false;
};
using Tree = std::shared_ptr<Node>;

const Expr *core(const Expr *expr) {
  for (;;) {
    const Expr *inner = expr->IgnoreParenImpCasts();
    if (auto *full = dyn_cast<FullExpr>(inner)) inner = full->getSubExpr();
    if (auto *temporary = dyn_cast<MaterializeTemporaryExpr>(inner)) inner = temporary->getSubExpr();
    if (auto *bound = dyn_cast<CXXBindTemporaryExpr>(inner)) inner = bound->getSubExpr();
    if (inner == expr) return expr;
    expr = inner;
  }
}

template <typename Kind> bool contains(const Stmt *stmt) {
  if (!stmt) return false;
  if (isa<Kind>(stmt)) return true;
  for (const Stmt *child : stmt->children())
    if (contains<Kind>(child)) return true;
  return false;
}

/// Follows one value backward. Each question is asked in an activation.
class Follower {
public:
  explicit Follower(const KernelModel &kernel) : kernel(kernel) {}
  Tree value(const Expr *expr, const FieldDecl *field, const Activation &calls);
  std::string problem;

private:
  const KernelModel &kernel;
  unsigned steps = 0;

  /// A variable, or one component of it.
  struct Place {
    const VarDecl *variable = nullptr;
    const FieldDecl *field = nullptr;
  };
  enum class Touch { No, Stores, Unclear };

  Tree fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return nullptr;
  }
  Tree leaf(const Expr *expr, const Activation &calls) {
    auto node = std::make_shared<Node>();
    node->value = {expr, calls};
    return node;
  }
  Tree choice(const Expr *condition, const Activation &calls, Tree yes, Tree no) {
    if (!yes || !no) return nullptr;
    auto node = std::make_shared<Node>();
    node->condition = {{condition, calls}, false};
    node->yes = std::move(yes), node->no = std::move(no);
    return node;
  }
  const Stmt *parentOf(const Stmt *stmt) const {
    if (const Stmt *known = kernel.parent(stmt)) return known;
    // A function that the model never entered (make_float4): its parents are known to the AST alone.
    auto parents = kernel.unit->ast(Side::Device).getParents(*stmt);
    return parents.empty() ? nullptr : parents[0].get<Stmt>();
  }
  Touch touchAt(const DeclRefExpr *ref, const Place &place) const;
  Touch touches(const Stmt *stmt, const Place &place) const;
  Tree before(const Stmt *stmt, const Place &place, const Activation &calls);
  Tree afterList(const CompoundStmt *block, size_t count, const Place &place, const Activation &calls);
  Tree after(const Stmt *stmt, const Place &place, const Activation &calls);
  Tree afterBody(const Stmt *stmt, const Place &place, const Activation &calls);
  Tree returned(std::vector<const Stmt *> rest, const FieldDecl *field, const Activation &calls);
  Tree call(const CallExpr *call, const FieldDecl *field, const Activation &calls);
};

Follower::Touch Follower::touchAt(const DeclRefExpr *ref, const Place &place) const {
  const Stmt *at = ref;
  for (const Stmt *up = parentOf(at); up; at = up, up = parentOf(up)) {
    if (isa<ParenExpr>(up)) continue;
    if (auto *member = dyn_cast<MemberExpr>(up); member && !member->isArrow()) {
      if (place.field && isa<FieldDecl>(member->getMemberDecl()) && member->getMemberDecl() != place.field) return Touch::No;
      continue;
    }
    if (auto *cast = dyn_cast<ImplicitCastExpr>(up)) {
      if (cast->getCastKind() == CK_LValueToRValue || cast->getType().isConstQualified()) return Touch::No;
      if (cast->getCastKind() == CK_NoOp) continue;
      return Touch::Unclear;
    }
    if (auto *op = dyn_cast<BinaryOperator>(up)) {
      if (op->getLHS() != at || !op->isAssignmentOp()) return Touch::No;
      return op->getOpcode() == BO_Assign ? Touch::Stores : Touch::Unclear;
    }
    if (auto *made = dyn_cast<CXXConstructExpr>(up)) return made->getConstructor()->isCopyOrMoveConstructor() ? Touch::No : Touch::Unclear;
    if (auto *op = dyn_cast<CXXOperatorCallExpr>(up); op && op->getOperator() == OO_Equal && op->getNumArgs() == 2)
      return op->getArg(0) == at ? Touch::Stores : Touch::No;
    if (auto *stmt = dyn_cast<ReturnStmt>(up)) return stmt->getRetValue()->isGLValue() ? Touch::Unclear : Touch::No;
    return Touch::Unclear;
  }
  return Touch::Unclear;
}

Follower::Touch Follower::touches(const Stmt *stmt, const Place &place) const {
  if (!stmt) return Touch::No;
  if (auto *declares = dyn_cast<DeclStmt>(stmt))
    for (const Decl *each : declares->decls())
      if (each == place.variable) return Touch::Stores;
  Touch most = Touch::No;
  if (auto *ref = dyn_cast<DeclRefExpr>(stmt); ref && ref->getDecl() == place.variable) most = touchAt(ref, place);
  for (const Stmt *child : stmt->children()) most = std::max(most, touches(child, place));
  return most;
}

Tree Follower::before(const Stmt *stmt, const Place &place, const Activation &calls) {
  if (++steps > 4000) return fail("its value takes too many steps to follow");
  const Stmt *up = parentOf(stmt);
  if (!up) {
    auto *parameter = dyn_cast<ParmVarDecl>(place.variable);
    const Expr *argument = parameter ? argumentFor(calls, parameter) : nullptr;
    if (!argument) return fail("what " + place.variable->getNameAsString() + " is at first is not known");
    return value(argument, place.field, Activation(calls.begin(), calls.end() - 1));
  }
  if (auto *block = dyn_cast<CompoundStmt>(up)) {
    size_t at = std::find(block->body_begin(), block->body_end(), stmt) - block->body_begin();
    return afterList(block, at, place, calls);
  }
  bool loops = isa<ForStmt>(up) || isa<WhileStmt>(up) || isa<DoStmt>(up) || isa<CXXForRangeStmt>(up);
  if (loops && touches(up, place) != Touch::No) return fail(place.variable->getNameAsString() + " is carried from one turn of a loop to the next");
  if (isa<SwitchStmt>(up)) return fail("the value is chosen by a switch");
  return before(up, place, calls);
}

Tree Follower::afterList(const CompoundStmt *block, size_t count, const Place &place, const Activation &calls) {
  while (count > 0) {
    const Stmt *each = block->body_begin()[--count];
    switch (touches(each, place)) {
    case Touch::No: continue;
    case Touch::Stores: return after(each, place, calls);
    case Touch::Unclear: return fail(place.variable->getNameAsString() + " is changed in a way that is not followed");
    }
  }
  return before(block, place, calls);
}

Tree Follower::after(const Stmt *stmt, const Place &place, const Activation &calls) {
  if (++steps > 4000) return fail("its value takes too many steps to follow");
  if (isa<DeclStmt>(stmt)) {
    const Expr *init = place.variable->getInit();
    if (init && init->getType()->isDependentType()) return fail("a template's value is not known");
    auto *made = dyn_cast_or_null<CXXConstructExpr>(init ? core(init) : nullptr);
    if (init && !(made && made->getNumArgs() == 0 && made->getConstructor()->isTrivial())) return value(init, place.field, calls);
    Tree node = leaf(nullptr, calls);
    node->unset = true;
    return node;
  }
  if (auto *op = dyn_cast<BinaryOperator>(stmt); op && op->getOpcode() == BO_Assign) {
    const Expr *target = op->getLHS()->IgnoreParens();
    if (isa<DeclRefExpr>(target) && touches(target, place) != Touch::No) return value(op->getRHS(), place.field, calls);
    if (auto *member = dyn_cast<MemberExpr>(target); member && isa<DeclRefExpr>(member->getBase()->IgnoreParens()) && member->getMemberDecl() == place.field)
      return value(op->getRHS(), nullptr, calls);
  }
  if (auto *op = dyn_cast<CXXOperatorCallExpr>(stmt); op && op->getOperator() == OO_Equal && op->getNumArgs() == 2 && isa<DeclRefExpr>(op->getArg(0)->IgnoreParens()))
    return value(op->getArg(1), place.field, calls);
  if (auto *block = dyn_cast<CompoundStmt>(stmt)) return afterList(block, block->size(), place, calls);
  if (auto *branch = dyn_cast<IfStmt>(stmt); branch && !branch->hasInitStorage() && !branch->hasVarStorage()) {
    if (touches(branch->getCond(), place) != Touch::No) return fail("a condition changes the value");
    bool taken;
    if (!branch->getCond()->isValueDependent() && branch->getCond()->EvaluateAsBooleanCondition(taken, kernel.unit->ast(Side::Device))) {
      const Stmt *way = taken ? branch->getThen() : branch->getElse();
      return way ? afterBody(way, place, calls) : before(branch, place, calls);
    }
    // A way that returns never comes back here.
    if (contains<ReturnStmt>(branch->getThen())) return branch->getElse() ? afterBody(branch->getElse(), place, calls) : before(branch, place, calls);
    if (contains<ReturnStmt>(branch->getElse())) return afterBody(branch->getThen(), place, calls);
    Tree no = branch->getElse() ? afterBody(branch->getElse(), place, calls) : before(branch, place, calls);
    return no ? choice(branch->getCond(), calls, afterBody(branch->getThen(), place, calls), no) : nullptr;
  }
  if (isa<FullExpr>(stmt)) return after(cast<FullExpr>(stmt)->getSubExpr(), place, calls);
  return fail(place.variable->getNameAsString() + " is set by a statement that is not followed");
}

Tree Follower::afterBody(const Stmt *stmt, const Place &place, const Activation &calls) {
  switch (touches(stmt, place)) {
  case Touch::No: return before(stmt, place, calls);
  case Touch::Stores: return after(stmt, place, calls);
  case Touch::Unclear: break;
  }
  return fail(place.variable->getNameAsString() + " is changed in a way that is not followed");
}

/// What the statements give back, run one after another.
Tree Follower::returned(std::vector<const Stmt *> rest, const FieldDecl *field, const Activation &calls) {
  if (++steps > 4000) return fail("its value takes too many steps to follow");
  while (!rest.empty()) {
    const Stmt *first = rest.front();
    rest.erase(rest.begin());
    if (!contains<ReturnStmt>(first)) continue;
    if (auto *back = dyn_cast<ReturnStmt>(first)) return back->getRetValue() ? value(back->getRetValue(), field, calls) : fail("it returns nothing");
    if (auto *block = dyn_cast<CompoundStmt>(first)) {
      rest.insert(rest.begin(), block->body_begin(), block->body_end());
      continue;
    }
    auto *branch = dyn_cast<IfStmt>(first);
    if (!branch) return fail("a return stands inside a loop or a switch");
    std::vector<const Stmt *> yes = rest, no = rest;
    yes.insert(yes.begin(), branch->getThen());
    if (branch->getElse()) no.insert(no.begin(), branch->getElse());
    bool taken;
    if (!branch->getCond()->isValueDependent() && branch->getCond()->EvaluateAsBooleanCondition(taken, kernel.unit->ast(Side::Device))) return returned(taken ? yes : no, field, calls);
    Tree then = returned(yes, field, calls);
    return then ? choice(branch->getCond(), calls, then, returned(no, field, calls)) : nullptr;
  }
  return fail("it may end without a return");
}

Tree Follower::call(const CallExpr *call, const FieldDecl *field, const Activation &calls) {
  const FunctionDecl *callee = call->getDirectCallee(), *definition = nullptr;
  if (!callee || !callee->hasBody(definition)) return fail("the body of " + (callee ? callee->getNameAsString() : std::string("a call")) + " is not known");
  if (calls.size() > 5) return fail("the calls are nested too deep");
  Activation inside = calls;
  inside.push_back(call);
  return returned({definition->getBody()}, field, inside);
}

Tree Follower::value(const Expr *expr, const FieldDecl *field, const Activation &calls) {
  if (++steps > 4000) return fail("its value takes too many steps to follow");
  const Expr *inner = core(expr);
  if (auto *pick = dyn_cast<ConditionalOperator>(inner)) {
    Tree yes = value(pick->getTrueExpr(), field, calls);
    return yes ? choice(pick->getCond(), calls, yes, value(pick->getFalseExpr(), field, calls)) : nullptr;
  }
  if (auto *ref = dyn_cast<DeclRefExpr>(inner)) {
    auto *variable = dyn_cast<VarDecl>(ref->getDecl());
    bool own = variable && variable->hasLocalStorage() && (!isa<ParmVarDecl>(variable) || !calls.empty());
    if (own && variable->getType()->isReferenceType()) return fail(variable->getNameAsString() + " is a reference");
    if (own && !isa<ParmVarDecl>(variable) && !variable->getType()->isRecordType() && !variable->getType()->isFloatingType()) return leaf(inner, calls);
    if (own) return before(ref, {variable, field}, calls);
    return field ? fail("what " + ref->getDecl()->getNameAsString() + " holds is not known") : leaf(inner, calls);
  }
  if (auto *call = dyn_cast<CallExpr>(inner); call && !isa<CXXOperatorCallExpr>(call) && !isa<CXXMemberCallExpr>(call)) {
    const FunctionDecl *callee = call->getDirectCallee();
    const SourceManager &manager = kernel.unit->manager(Side::Device);
    bool ours = callee && callee->hasBody() && !manager.isInSystemHeader(manager.getExpansionLoc(callee->getLocation()));
    // Of a call into the toolkit's headers only what it puts into a component is looked at (make_float4).
    return ours || field ? this->call(call, field, calls) : leaf(inner, calls);
  }
  if (!field) {
    auto *member = dyn_cast<MemberExpr>(inner);
    auto *component = member && !member->isArrow() ? dyn_cast<FieldDecl>(member->getMemberDecl()) : nullptr;
    if (!component) return leaf(inner, calls);
    const Expr *base = core(member->getBase());
    auto *ref = dyn_cast<DeclRefExpr>(base);
    bool kept = ref && isa<VarDecl>(ref->getDecl()) && cast<VarDecl>(ref->getDecl())->hasLocalStorage();
    return kept || isa<CallExpr>(base) ? value(base, component, calls) : leaf(inner, calls);
  }
  if (auto *made = dyn_cast<CXXConstructExpr>(inner); made && made->getNumArgs() == 1 && made->getConstructor()->isCopyOrMoveConstructor()) return value(made->getArg(0), field, calls);
  if (auto *cast = dyn_cast<ExplicitCastExpr>(inner); cast && cast->getType().getCanonicalType() == cast->getSubExpr()->getType().getCanonicalType()) return value(cast->getSubExpr(), field, calls);
  if (auto *list = dyn_cast<InitListExpr>(inner)) {
    if (list->isSyntacticForm() && list->getSemanticForm()) list = list->getSemanticForm();
    unsigned at = field->getFieldIndex();
    if (at >= list->getNumInits()) return fail("a component is not initialized");
    return isa<ImplicitValueInitExpr>(list->getInit(at)) ? leaf(nullptr, {}) : value(list->getInit(at), nullptr, calls);
  }
  if (isa<CXXScalarValueInitExpr>(inner)) return leaf(nullptr, {});
  if (isa<ArraySubscriptExpr>(inner) || isa<UnaryOperator>(inner)) return fail("several elements are loaded at once; take out vector_load first");
  return fail("a component of this form is not followed");
}

bool isNumber(const LocatedExpr &value) { return !value.expr || isa<FloatingLiteral>(core(value.expr)) || isa<IntegerLiteral>(core(value.expr)); }

ResolvedValue flattened(const Tree &tree) {
  if (!tree->yes) return {{{}, tree->value}};
  ResolvedValue yes = flattened(tree->yes), no = flattened(tree->no), all;
  // `outside ? 0 : a[i]` is told as the load under its conditions.
  if (yes.size() == 1 && no.size() == 1 && isNumber(yes[0].value) && !isNumber(no[0].value)) {
    Alternative::Condition inside = tree->condition;
    inside.negated = !inside.negated;
    no[0].when = {inside};
    return {no[0], yes[0]};
  }
  bool alike = yes.back().value == no.back().value && (no.size() == 1 || yes.size() == 1);
  if (yes.size() == 1 && no.size() == 1 && alike) return no;
  if (yes.size() == 1 && alike) { // The default is met in both ways: the others hold where the condition does not.
    for (Alternative one : no) {
      if (!one.when.empty()) {
        Alternative::Condition not_ = tree->condition;
        not_.negated = !not_.negated;
        one.when.insert(one.when.begin(), not_);
      }
      all.push_back(one);
    }
    return all;
  }
  for (size_t i = 0; i < yes.size(); ++i) {
    if (i + 1 == yes.size() && alike) continue; // falls through to the same value
    Alternative one = yes[i];
    one.when.insert(one.when.begin(), tree->condition);
    all.push_back(one);
  }
  all.insert(all.end(), no.begin(), no.end());
  return all;
}

} // namespace

const Expr *argumentFor(const Activation &calls, const ParmVarDecl *parameter) {
  if (calls.empty()) return nullptr;
  const FunctionDecl *callee = calls.back()->getDirectCallee(), *definition = nullptr;
  if (!callee || !callee->hasBody(definition)) return nullptr;
  for (unsigned i = 0; i < definition->getNumParams() && i < calls.back()->getNumArgs(); ++i)
    if (definition->getParamDecl(i)->getCanonicalDecl() == parameter->getCanonicalDecl() || definition->getParamDecl(i) == parameter) return calls.back()->getArg(i);
  return nullptr;
}

Result<ResolvedValue> resolvedValue(const KernelModel &kernel, const Expr *value) {
  Follower follower(kernel);
  Tree tree = follower.value(value, nullptr, {});
  if (!tree) return refusal(follower.problem);
  if (tree->unset) return refusal("nothing was ever stored in it");
  return flattened(tree);
}

} // namespace klineage
