#include "step/inlining.h"
#include "step/index_text.h"
#include "step/lockstep.h"
#include "step/source_text.h"
#include "step/tidy.h"

namespace klineage {

using namespace clang;

namespace {

/// What `x`, `y`, ... of a vector that is made of scalars are; empty when the expression is no such vector.
std::vector<const Expr *> lanesOf(const Expr *expr) {
  const auto *call = dyn_cast<CallExpr>(expr->IgnoreImplicit()->IgnoreParenImpCasts());
  if (!call || calleeName(call).rfind("make_", 0) != 0) return {};
  return {call->arg_begin(), call->arg_end()};
}

/// The helper's body with its parameters replaced by the arguments.
std::optional<std::string> bodyFor(const KernelModel &kernel, const CallExpr *call) {
  const FunctionDecl *helper = nullptr;
  if (!call->getDirectCallee() || !call->getDirectCallee()->hasBody(helper) || !helper->getReturnType()->isVoidType() || helper->isTemplateInstantiation()) return std::nullopt;
  struct Shape : RecursiveASTVisitor<Shape> {
    bool returns = false;
    std::vector<const VarDecl *> locals;
    bool VisitReturnStmt(ReturnStmt *) { return returns = true; }
    bool VisitVarDecl(VarDecl *decl) { return decl->isLocalVarDecl() ? locals.push_back(decl) : void(), true; }
  } shape;
  shape.TraverseStmt(helper->getBody());
  if (shape.returns) return std::nullopt;
  const Unit &unit = *kernel.unit;
  std::map<const Stmt *, std::string> replaced;
  for (unsigned i = 0; i < helper->getNumParams(); ++i) {
    const ParmVarDecl *parameter = helper->getParamDecl(i);
    if (i >= call->getNumArgs() || !assignmentsTo(parameter, helper->getBody()).empty() || !isPure(call->getArg(i))) return std::nullopt;
    const Expr *argument = call->getArg(i)->IgnoreImplicit();
    auto lanes = lanesOf(argument);
    for (const DeclRefExpr *use : referencesTo(helper->getBody(), parameter)) {
      if (lanes.empty()) {
        bool word = isa<DeclRefExpr>(argument->IgnoreParenImpCasts()) || isa<IntegerLiteral>(argument->IgnoreParenImpCasts());
        if (!word && !parameter->getType()->isArithmeticType() && !parameter->getType()->isPointerType()) return std::nullopt;
        replaced[use] = word ? unit.text(argument) : "(" + unit.text(argument) + ")";
        continue;
      }
      auto parents = unit.ast(Side::Device).getParents(*use);
      const auto *member = parents.size() == 1 ? parents[0].get<MemberExpr>() : nullptr;
      if (!member) return std::nullopt;
      std::string name = member->getMemberDecl()->getNameAsString();
      size_t lane = name.size() == 1 ? std::string("xyzw").find(name[0]) : std::string::npos;
      if (lane >= lanes.size()) return std::nullopt;
      const Expr *value = lanes[lane]->IgnoreImplicit();
      replaced[member] = Piece{unit.text(value), precedenceOf(value)}.within(Piece::Primary);
    }
  }
  std::set<std::string> taken;
  for (const VarDecl *local : shape.locals) { // a name of the kernel must not come to mean the helper's local
    std::string name = freshName(kernel, local->getNameAsString());
    if (name == local->getNameAsString()) continue;
    return std::nullopt;
  }
  std::string text = unit.textWith(helper->getBody(), replaced);
  return text.empty() ? std::nullopt : std::optional(text);
}

} // namespace

Edits inlineStores(const KernelModel &kernel) {
  std::set<const CallExpr *> calls;
  for (const Access &access : kernel.accesses)
    if (access.space == Space::Global && access.kind == Access::Write && access.calls.size() == 1) calls.insert(access.calls.front());
  Edits edits;
  for (const CallExpr *call : calls) {
    bool array = false;
    for (const VarDecl *local : localsNamedIn(call)) array |= local->getType()->isArrayType();
    if (!array) continue;
    auto body = bodyFor(kernel, call);
    auto place = wholeStatement(*kernel.unit, call);
    if (!body || !place) return {};
    edits.push_back({place->file, place->offset, place->length, *body});
  }
  return edits;
}

} // namespace klineage
