#include "source/view_alignment.h"

namespace klineage {
using namespace clang;

namespace {

/// The variable that an lvalue or a pointer made from one is a part of; null where it comes through a pointer.
const VarDecl *declaredVariable(const Expr *expr) {
  for (;;) {
    expr = expr->IgnoreParens();
    if (const auto *cast = dyn_cast<CastExpr>(expr)) {
      if (cast->getCastKind() == CK_LValueToRValue) return nullptr;
      expr = cast->getSubExpr();
    } else if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
      expr = subscript->getBase();
    } else if (const auto *member = dyn_cast<MemberExpr>(expr)) {
      expr = member->getBase();
    } else if (const auto *op = dyn_cast<UnaryOperator>(expr); op && (op->getOpcode() == UO_AddrOf || op->getOpcode() == UO_Deref)) {
      expr = op->getSubExpr();
    } else if (const auto *sum = dyn_cast<BinaryOperator>(expr); sum && sum->getType()->isPointerType() && sum->isAdditiveOp()) {
      expr = sum->getLHS()->getType()->isPointerType() ? sum->getLHS() : sum->getRHS();
    } else {
      const auto *ref = dyn_cast<DeclRefExpr>(expr);
      return ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
    }
  }
}

class Aligner : public RecursiveASTVisitor<Aligner> {
public:
  explicit Aligner(ASTContext &context) : context(context) {}
  bool shouldVisitTemplateInstantiations() const { return true; }

  bool VisitExplicitCastExpr(ExplicitCastExpr *cast) {
    Expr *from = cast->getSubExpr();
    bool isReference = cast->getCastKind() == CK_LValueBitCast;
    if (cast->getCastKind() != CK_BitCast && !isReference) return true;
    QualType to = isReference ? cast->getType() : cast->getType()->getPointeeType();
    if (to.isNull() || to->isDependentType() || to->isIncompleteType() || to->isFunctionType() || from->isInstantiationDependent()) return true;
    QualType source = isReference ? from->getType() : from->getType()->getPointeeType();
    if (source.isNull() || source->isVoidType() || source->isIncompleteType() || context.getTypeAlign(source) >= context.getTypeAlign(to)) return true;
    const VarDecl *variable = declaredVariable(from);
    if (!variable || !variable->hasGlobalStorage()) return true;
    if (!isReference) {
      cast->setSubExpr(implicit(from, context.VoidPtrTy));
      return true;
    }
    Expr *address = UnaryOperator::Create(context, from, UO_AddrOf, context.getPointerType(from->getType()), VK_PRValue, OK_Ordinary, from->getExprLoc(), false, {});
    Expr *view = implicit(implicit(address, context.VoidPtrTy), context.getPointerType(to));
    cast->setSubExpr(UnaryOperator::Create(context, view, UO_Deref, to, VK_LValue, OK_Ordinary, from->getExprLoc(), false, {}));
    return true;
  }

private:
  ASTContext &context;
  Expr *implicit(Expr *from, QualType type) { return ImplicitCastExpr::Create(context, type, CK_BitCast, from, nullptr, VK_PRValue, {}); }
};

} // namespace

void alignViewsByTheirType(Decl *declaration, ASTContext &context) { Aligner(context).TraverseDecl(declaration); }

} // namespace klineage
