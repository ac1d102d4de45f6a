// Pointers and objects: which buffer an lvalue lies in, and how many bytes from its start.
#include "model/values.h"
#include "clang/AST/RecordLayout.h"

namespace klineage {

using namespace clang;

namespace {

bool isExternShared(const ValueDecl *decl) {
  auto *var = dyn_cast_or_null<VarDecl>(decl);
  return var && var->hasAttr<CUDASharedAttr>() && var->hasExternalStorage();
}

} // namespace

PointerValue Values::object(const Expr *lvalue, const Frame *frame) {
  PointerValue none;
  none.pointee = lvalue->getType();
  none.exact = false;
  const Expr *expr = bare(lvalue);
  auto withType = [&](PointerValue value) {
    value.pointee = expr->getType();
    return value;
  };
  if (auto *ref = dyn_cast<DeclRefExpr>(expr)) {
    auto *decl = dyn_cast<VarDecl>(ref->getDecl());
    if (!decl) return none;
    if (decl->getType()->isReferenceType()) {
      if (auto *parm = dyn_cast<ParmVarDecl>(decl)) {
        for (const Frame *f = frame; f; f = f->caller)
          if (auto it = f->arguments.find(parm); it != f->arguments.end()) return withType(object(it->second, f->caller));
        return none;
      }
      if (!decl->getInit()) return none;
      PointerValue at = object(decl->getInit(), frame);
      if (!settled(at.bytes, decl->getInit(), ref)) { at.exact = false; at.bytes = IndexExpr::of(variable(decl)); }
      return withType(at);
    }
    if (auto *parm = dyn_cast<ParmVarDecl>(decl); parm && frame && decl->getType()->isRecordType())
      if (auto it = frame->arguments.find(parm); it != frame->arguments.end()) return withType(object(it->second, frame->caller));
    PointerValue value;
    value.base = decl;
    return withType(value);
  }
  if (auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
    PointerValue at = pointer(subscript->getBase(), frame);
    IndexExpr index = lift(subscript->getIdx(), frame);
    bool direct = isa<ImplicitCastExpr>(subscript->getBase()->IgnoreParens()) &&
                  cast<ImplicitCastExpr>(subscript->getBase()->IgnoreParens())->getCastKind() == CK_ArrayToPointerDecay;
    if (!direct) at.subscripts.clear();
    if (direct) at.subscripts.push_back(index);
    if (expr->getType()->isIncompleteType()) return none;
    at.bytes = at.bytes + index * IndexExpr(context.getTypeSizeInChars(expr->getType()).getQuantity());
    return withType(at);
  }
  if (auto *op = dyn_cast<UnaryOperator>(expr)) {
    if (op->getOpcode() == UO_Deref) {
      PointerValue at = pointer(op->getSubExpr(), frame);
      at.subscripts.clear();
      return withType(at);
    }
    if (op->getOpcode() == UO_PreInc || op->getOpcode() == UO_PreDec) return object(op->getSubExpr(), frame);
    return none;
  }
  if (auto *op = dyn_cast<BinaryOperator>(expr)) {
    if (op->isAssignmentOp()) return object(op->getLHS(), frame);
    return op->getOpcode() == BO_Comma ? object(op->getRHS(), frame) : none;
  }
  if (auto *member = dyn_cast<MemberExpr>(expr)) {
    auto *fieldDecl = dyn_cast<FieldDecl>(member->getMemberDecl());
    if (!fieldDecl) return none;
    if (fieldDecl->getType()->isReferenceType()) {
      auto value = fieldValue(member->getBase(), fieldDecl, frame);
      return value ? withType(object(value->first, value->second)) : none;
    }
    PointerValue at = member->isArrow() ? pointer(member->getBase(), frame) : object(member->getBase(), frame);
    if (!at.base || fieldDecl->getParent()->isDependentContext()) return none;
    const auto &layout = context.getASTRecordLayout(fieldDecl->getParent());
    at.bytes = at.bytes + IndexExpr(int64_t(layout.getFieldOffset(fieldDecl->getFieldIndex()) / 8));
    return withType(at);
  }
  if (auto *castExpr = dyn_cast<ExplicitCastExpr>(expr)) {
    PointerValue at = object(castExpr->getSubExpr(), frame);
    at.subscripts.clear();
    return withType(at);
  }
  if (isa<CallExpr>(expr) && expr->isGLValue())
    if (const Frame *inner = enterCall(expr, frame))
      if (const Expr *value = soleReturn(inner->function)) return withType(object(value, inner));
  if (auto *choice = dyn_cast<ConditionalOperator>(expr); choice && expr->isGLValue()) {
    bool taken;
    if (!choice->getCond()->isValueDependent() && choice->getCond()->EvaluateAsBooleanCondition(taken, context))
      return withType(object(taken ? choice->getTrueExpr() : choice->getFalseExpr(), frame));
  }
  return none;
}

PointerValue Values::pointer(const Expr *expr, const Frame *frame) {
  PointerValue none;
  none.exact = false;
  if (expr->getType()->isPointerType()) none.pointee = expr->getType()->getPointeeType();
  if (depth > 60) return none;
  auto sizeOf = [&](QualType type) -> int64_t {
    return type->isVoidType() || type->isIncompleteType() || type->isFunctionType() ? 1 : context.getTypeSizeInChars(type).getQuantity();
  };
  auto pointee = [&](PointerValue value) {
    if (expr->getType()->isPointerType()) value.pointee = expr->getType()->getPointeeType();
    return value;
  };
  expr = expr->IgnoreParens();
  if (auto *castExpr = dyn_cast<CastExpr>(expr)) {
    if (castExpr->getCastKind() == CK_ArrayToPointerDecay) return pointee(object(castExpr->getSubExpr(), frame));
    const Expr *sub = castExpr->getSubExpr();
    if (sub->getType()->isPointerType() || sub->getType()->isArrayType()) {
      PointerValue at = sub->getType()->isArrayType() ? object(sub, frame) : pointer(sub, frame);
      if (castExpr->getCastKind() != CK_LValueToRValue && castExpr->getCastKind() != CK_NoOp) at.subscripts.clear();
      return pointee(at);
    }
    if (castExpr->getCastKind() == CK_IntegralToPointer || castExpr->getCastKind() == CK_UserDefinedConversion) return none;
  }
  const Expr *core = bare(expr);
  if (core != expr && core->getType()->isPointerType()) return pointee(pointer(core, frame));
  expr = core;
  if (auto *ref = dyn_cast<DeclRefExpr>(expr)) {
    auto *decl = dyn_cast<VarDecl>(ref->getDecl());
    if (!decl) return none;
    if (decl->getType()->isReferenceType()) {
      for (const Frame *f = frame; f; f = f->caller)
        if (auto *parm = dyn_cast<ParmVarDecl>(decl))
          if (auto it = f->arguments.find(parm); it != f->arguments.end()) return pointee(pointer(it->second, f->caller));
      return decl->getInit() && !isa<ParmVarDecl>(decl) ? pointee(pointer(decl->getInit(), frame)) : none;
    }
    if (decl->hasGlobalStorage()) {
      none.base = decl;
      return none;
    }
    ++depth;
    PointerValue value = pointerOf(reach(decl, nullptr, ref, frame), decl, ref, frame);
    --depth;
    return pointee(value);
  }
  if (auto *op = dyn_cast<BinaryOperator>(expr)) {
    if (op->getOpcode() == BO_Comma || op->getOpcode() == BO_Assign) return pointer(op->getRHS(), frame);
    bool leftIsPointer = op->getLHS()->getType()->isPointerType();
    if (!op->isAdditiveOp() && !op->isCompoundAssignmentOp()) return none;
    const Expr *base = leftIsPointer ? op->getLHS() : op->getRHS(), *offset = leftIsPointer ? op->getRHS() : op->getLHS();
    if (!base->getType()->isPointerType()) return none;
    PointerValue at = pointer(base, frame);
    int64_t size = sizeOf(base->getType()->getPointeeType());
    bool minus = op->getOpcode() == BO_Sub || op->getOpcode() == BO_SubAssign;
    at.bytes = at.bytes + lift(offset, frame) * IndexExpr(minus ? -size : size);
    at.subscripts.clear();
    return pointee(at);
  }
  if (auto *op = dyn_cast<UnaryOperator>(expr)) {
    if (op->getOpcode() == UO_AddrOf) return pointee(object(op->getSubExpr(), frame));
    if (!op->isIncrementDecrementOp()) return none;
    PointerValue at = pointer(op->getSubExpr(), frame);
    if (op->isPrefix()) at.bytes = at.bytes + IndexExpr((op->isIncrementOp() ? 1 : -1) * sizeOf(expr->getType()->getPointeeType()));
    return pointee(at);
  }
  if (auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    bool taken;
    if (!choice->getCond()->isValueDependent() && choice->getCond()->EvaluateAsBooleanCondition(taken, context))
      return pointee(pointer(taken ? choice->getTrueExpr() : choice->getFalseExpr(), frame));
    PointerValue yes = pointer(choice->getTrueExpr(), frame), no = pointer(choice->getFalseExpr(), frame);
    if (yes.base != no.base) return none;
    if (yes.bytes == no.bytes && yes.exact && no.exact) return pointee(yes);
    yes.exact = false;
    yes.bytes = opaqueOf(expr, frame);
    return pointee(yes);
  }
  if (isa<CXXThisExpr>(expr)) return frame && frame->self ? pointee(frame->self->getType()->isPointerType() ? pointer(frame->self, frame->caller) : object(frame->self, frame->caller)) : none;
  if (auto *member = dyn_cast<MemberExpr>(expr)) {
    auto *fieldDecl = dyn_cast<FieldDecl>(member->getMemberDecl());
    if (!fieldDecl) return none;
    if (auto value = fieldValue(member->getBase(), fieldDecl, frame)) return pointee(pointer(value->first, value->second));
    // A pointer kept in a structure that the kernel is given: the field is the buffer.
    PointerValue at;
    at.base = fieldDecl;
    return pointee(at);
  }
  if (auto *call = dyn_cast<CallExpr>(expr)) {
    auto *callee = call->getDirectCallee();
    if (callee && callee->getIdentifier() && call->getNumArgs() > 0 && (callee->getName() == "__builtin_assume_aligned" || callee->getName() == "__builtin_launder"))
      return pointee(pointer(call->getArg(0), frame));
    if (const Frame *inner = enterCall(call, frame))
      if (const Expr *value = soleReturn(inner->function)) return pointee(pointer(value, inner));
  }
  return none;
}

PointerValue Values::pointerOf(const Reaching &reaching, const VarDecl *decl, const Expr *ref, const Frame *frame) {
  PointerValue at;
  at.pointee = decl->getType()->getPointeeType();
  switch (reaching.base) {
  case Reaching::Entry: at.base = decl; break;
  case Reaching::Value: {
    const Expr *value = reaching.value;
    const Frame *where = reaching.frame;
    if (reaching.fieldLeft) {
      auto part = fieldValue(value, reaching.fieldLeft, where);
      if (!part) { at.exact = false; return at; }
      std::tie(value, where) = *part;
    }
    at = pointer(value, where);
    if (!settled(at.bytes, reaching.value, ref)) { at.exact = false; at.bytes = IndexExpr::of(variable(decl)); }
    break;
  }
  default: {
    // Moved in a way that is not followed: it still points into the buffer that it started in, if it is never set anew.
    at.exact = false;
    at.bytes = IndexExpr::of(variable(decl));
    const VariableFacts &facts = factsOf(decl);
    bool isMovedOnly = !facts.escaped;
    for (const Change &change : facts.changes) isMovedOnly &= change.kind != Change::Assign && change.kind != Change::Unclear;
    if (isMovedOnly && isa<ParmVarDecl>(decl)) {
      for (const Frame *f = frame; f; f = f->caller)
        if (auto it = f->arguments.find(cast<ParmVarDecl>(decl)); it != f->arguments.end()) { at.base = pointer(it->second, f->caller).base; return at; }
      at.base = decl;
    } else if (isMovedOnly && decl->getInit()) {
      at.base = pointer(decl->getInit(), frame).base;
    }
    return at;
  }
  }
  at.subscripts.clear();
  int64_t size = decl->getType()->getPointeeType()->isVoidType() ? 1 : context.getTypeSizeInChars(decl->getType()->getPointeeType()).getQuantity();
  // A typed pointer into raw dynamic shared memory is a buffer of its own.
  if (isExternShared(at.base) && !isa<ParmVarDecl>(decl) && factsOf(decl).changes.empty()) {
    QualType raw = context.getBaseElementType(at.base->getType());
    if (context.getTypeSizeInChars(raw).getQuantity() == 1 && size > 1) {
      at.base = decl;
      at.bytes = 0;
      at.exact = true;
    }
  }
  for (const auto &addend : reaching.added) {
    IndexExpr amount = addend.amount ? lift(addend.amount, addend.frame) : IndexExpr(1);
    at.bytes = at.bytes + amount * addend.times * IndexExpr(addend.sign * size);
  }
  return at;
}

std::optional<std::pair<const Expr *, const Frame *>> Values::fieldValue(const Expr *objectExpr, const FieldDecl *field, const Frame *frame) {
  if (depth > 60) return std::nullopt;
  const Expr *expr = bare(objectExpr);
  if (auto *e = dyn_cast<UnaryOperator>(expr); e && e->getOpcode() == UO_Deref) expr = bare(e->getSubExpr());
  if (auto *e = dyn_cast<UnaryOperator>(expr); e && e->getOpcode() == UO_AddrOf) expr = bare(e->getSubExpr());
  if (auto *e = dyn_cast<CXXFunctionalCastExpr>(expr)) return fieldValue(e->getSubExpr(), field, frame);
  if (isa<CXXThisExpr>(expr)) return frame && frame->self ? fieldValue(frame->self, field, frame->caller) : std::nullopt;
  if (auto *ref = dyn_cast<DeclRefExpr>(expr)) {
    auto *decl = dyn_cast<VarDecl>(ref->getDecl());
    if (!decl || (decl->hasGlobalStorage() && !decl->isConstexpr())) return std::nullopt;
    if (decl->getType()->isReferenceType()) {
      if (auto *parm = dyn_cast<ParmVarDecl>(decl); parm && frame)
        if (auto it = frame->arguments.find(parm); it != frame->arguments.end()) return fieldValue(it->second, field, frame->caller);
      return decl->getInit() ? fieldValue(decl->getInit(), field, frame) : std::nullopt;
    }
    Reaching reaching = reach(decl, field, ref, frame);
    if (reaching.base != Reaching::Value || !reaching.added.empty()) return std::nullopt;
    if (!reaching.fieldLeft) return std::make_pair(reaching.value, reaching.frame);
    ++depth;
    auto value = fieldValue(reaching.value, reaching.fieldLeft, reaching.frame);
    --depth;
    return value;
  }
  if (auto *list = dyn_cast<InitListExpr>(expr)) {
    if (list->isSyntacticForm() && list->getSemanticForm()) list = list->getSemanticForm();
    unsigned i = field->getFieldIndex();
    if (i < list->getNumInits()) return std::make_pair(list->getInit(i), frame);
    return std::nullopt;
  }
  if (auto *construct = dyn_cast<CXXConstructExpr>(expr)) {
    auto *constructor = construct->getConstructor();
    if (constructor->isCopyOrMoveConstructor() && construct->getNumArgs() >= 1) return fieldValue(construct->getArg(0), field, frame);
    const Frame *inner = enterCall(construct, frame);
    if (!inner) return std::nullopt;
    for (const auto *init : cast<CXXConstructorDecl>(inner->function)->inits())
      if (init->isAnyMemberInitializer() && init->getAnyMember() == field) return std::make_pair<const Expr *, const Frame *>(init->getInit(), std::move(inner));
    return std::nullopt;
  }
  if (auto *call = dyn_cast<CallExpr>(expr)) {
    const Frame *inner = enterCall(call, frame);
    const Expr *value = inner ? soleReturn(inner->function) : nullptr;
    return value ? fieldValue(value, field, inner) : std::nullopt;
  }
  if (auto *member = dyn_cast<MemberExpr>(expr))
    if (auto *outer = dyn_cast<FieldDecl>(member->getMemberDecl()))
      if (auto value = fieldValue(member->getBase(), outer, frame)) return fieldValue(value->first, field, value->second);
  return std::nullopt;
}

std::optional<IndexExpr> Values::liftField(const Expr *objectExpr, const FieldDecl *field, const Frame *frame) {
  if (!field->getType()->isIntegralOrEnumerationType()) return std::nullopt;
  if (auto value = fieldValue(objectExpr, field, frame)) return lift(value->first, value->second);
  const Expr *expr = bare(objectExpr);
  if (auto *ref = dyn_cast<DeclRefExpr>(expr))
    if (auto *decl = dyn_cast<VarDecl>(ref->getDecl()); decl && !decl->getType()->isReferenceType()) {
      Reaching reaching = reach(decl, field, ref, frame);
      bool isEntry = reaching.base == Reaching::Entry;
      if (!isEntry && reaching.base != Reaching::Value && !factsOf(decl).escaped) return std::nullopt;
      if (isEntry) {
        // A member of a structure that the kernel is given.
        auto atom = std::make_shared<Atom>(*parameter(cast<ParmVarDecl>(decl)));
        atom->key += "." + field->getNameAsString();
        return IndexExpr::of(atom);
      }
    }
  return std::nullopt;
}

std::optional<IndexExpr> Values::field(const Expr *objectExpr, std::string_view name, const Frame *frame) {
  QualType type = objectExpr->getType().getNonReferenceType();
  auto *record = type->getAsRecordDecl();
  if (!record || !(record = record->getDefinition())) return std::nullopt;
  for (const FieldDecl *f : record->fields())
    if (f->getName() == llvm::StringRef(name.data(), name.size())) return liftField(objectExpr, f, frame);
  return std::nullopt;
}

} // namespace klineage
