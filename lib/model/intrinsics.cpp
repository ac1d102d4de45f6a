// Intrinsics: calls and inline assembly that move memory or synchronise.
#include "model/lifter.h"

namespace klineage {

using namespace clang;

namespace {

bool isOneOf(StringRef name, std::initializer_list<const char *> names) {
  for (const char *known : names)
    if (name == known) return true;
  return false;
}

std::optional<int64_t> constantOf(const Expr *expr, const ASTContext &context) {
  Expr::EvalResult result;
  if (expr->isValueDependent() || !expr->EvaluateAsInt(result, context)) return std::nullopt;
  return result.Val.getInt().getExtValue();
}

/// The pointer whose shared address was taken as an integer for inline assembly.
const Expr *sharedPointerIn(const Expr *expr) {
  if (expr->getType()->isPointerType()) return expr;
  const Expr *inner = bare(expr);
  if (auto *castExpr = dyn_cast<ExplicitCastExpr>(inner)) return sharedPointerIn(castExpr->getSubExpr());
  if (auto *call = dyn_cast<CallExpr>(inner); call && call->getNumArgs() == 1 && call->getArg(0)->getType()->isPointerType()) return call->getArg(0);
  if (auto *ref = dyn_cast<DeclRefExpr>(inner))
    if (auto *var = dyn_cast<VarDecl>(ref->getDecl()); var && var->getInit()) return sharedPointerIn(var->getInit());
  return nullptr;
}

} // namespace

void Lifter::copy(const Expr *to, const Expr *from, std::optional<int64_t> bytes, bool async, const Expr *expr, const Stmt *stmt, const Frame *frame) {
  auto moved = [&](const PointerValue &at) {
    QualType element = at.pointee.isNull() ? context.CharTy : at.pointee.getUnqualifiedType();
    if (at.base) {
      QualType owner = at.base->getType();
      if (owner->isPointerType()) owner = owner->getPointeeType();
      if (!owner->isVoidType()) element = scalarOf(owner, context).first;
    }
    int64_t size = element->isVoidType() || element->isIncompleteType() ? 1 : context.getTypeSizeInChars(element).getQuantity();
    if (!bytes || *bytes % std::max<int64_t>(1, size) || *bytes == size) return element;
    return context.getConstantArrayType(element, llvm::APInt(64, *bytes / size), nullptr, ArraySizeModifier::Normal, 0);
  };
  PointerValue source = values.pointer(from, frame), target = values.pointer(to, frame);
  size_t read = model.accesses.size();
  record(source, Access::Read, moved(source), expr, stmt, frame)->exact &= bytes.has_value();
  size_t write = model.accesses.size();
  record(target, Access::Write, moved(target), expr, stmt, frame)->exact &= bytes.has_value();
  asyncPairs.push_back({write, read});
  (void)async;
}

bool Lifter::intrinsic(const CallExpr *call, const FunctionDecl *callee, const Frame *frame) {
  StringRef name = callee->getDeclName().isIdentifier() ? callee->getName() : "";
  std::string scope = callee->getQualifiedNameAsString();
  if (isOneOf(name, {"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or", "__barrier_sync", "__barrier_sync_count"})) {
    for (const Expr *argument : call->arguments()) value(argument, frame);
    barrier(Barrier::Block, call, call, frame);
    return true;
  }
  if (name == "__syncwarp") { barrier(Barrier::Warp, call, call, frame); return true; }
  if (scope.find("cooperative_groups::") == 0 && (name == "sync" || name == "arrive_and_wait" || name == "barrier_wait")) {
    barrier(Barrier::GroupSync, call, call, frame);
    return true;
  }
  if (isOneOf(name, {"__pipeline_wait_prior", "consumer_wait", "pipeline_consumer_wait_prior"}) || (name == "wait" && scope.find("cooperative_groups::") == 0)) {
    barrier(Barrier::AsyncWait, call, call, frame);
    return true;
  }
  unsigned count = call->getNumArgs();
  if (isOneOf(name, {"__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"}) && count >= 1) {
    value(call->getArg(0), frame);
    record(values.pointer(call->getArg(0), frame), Access::Read, call->getType(), call, call, frame);
    return true;
  }
  if (isOneOf(name, {"__stcg", "__stcs", "__stwb", "__stwt"}) && count >= 2) {
    value(call->getArg(0), frame);
    value(call->getArg(1), frame);
    record(values.pointer(call->getArg(0), frame), Access::Write, callee->getParamDecl(0)->getType()->getPointeeType(), call, call, frame)->value = call->getArg(1);
    return true;
  }
  if (name.starts_with("atomic") && count >= 1 && call->getArg(0)->getType()->isPointerType()) {
    for (const Expr *argument : call->arguments()) value(argument, frame);
    QualType moved = bare(call->getArg(0))->getType();
    moved = callee->getParamDecl(0)->getType()->getPointeeType();
    Access *access = record(values.pointer(call->getArg(0), frame), Access::Atomic, moved, call, call, frame);
    if (count >= 2) access->value = call->getArg(1);
    return true;
  }
  if (isOneOf(name, {"__pipeline_memcpy_async", "memcpy", "__builtin_memcpy"}) && count >= 3) {
    for (const Expr *argument : call->arguments()) value(argument, frame);
    copy(call->getArg(0), call->getArg(1), constantOf(call->getArg(2), context), name == "__pipeline_memcpy_async", call, call, frame);
    return true;
  }
  if (name == "memcpy_async") {
    std::vector<const Expr *> pointers;
    const Expr *size = nullptr;
    for (const Expr *argument : call->arguments()) {
      value(argument, frame);
      if (argument->getType()->isPointerType()) pointers.push_back(argument);
      else if (argument->getType()->isIntegerType()) size = argument;
    }
    if (pointers.size() >= 2) {
      copy(pointers[0], pointers[1], size ? constantOf(size, context) : std::nullopt, true, call, call, frame);
      return true;
    }
  }
  return false;
}

void Lifter::call(const CallExpr *call, const Frame *frame) {
  const FunctionDecl *callee = call->getDirectCallee();
  if (auto *member = dyn_cast<CXXMemberCallExpr>(call)) {
    const Expr *object = member->getImplicitObjectArgument();
    if (object->isGLValue()) parts(object, frame);
    else value(object, frame);
  }
  if (callee && intrinsic(call, callee, frame)) return;
  // A copy of a class object, float4 for one, is an operator call.
  if (auto *op = dyn_cast<CXXOperatorCallExpr>(call); op && op->isAssignmentOp() && op->getNumArgs() == 2) {
    if (op->getArg(1)->isGLValue()) lvalue(op->getArg(1), Access::Read, frame);
    else value(op->getArg(1), frame);
    return lvalue(op->getArg(0), op->getOperator() == OO_Equal ? Access::Write : Access::ReadWrite, frame, op->getArg(1));
  }
  bool looked = callee && isOurs(callee);
  if (auto *method = dyn_cast_or_null<CXXMethodDecl>(callee); method && method->getParent()->isLambda()) looked = true;
  const Frame *inner = looked ? values.enterCall(call, frame) : nullptr;
  unsigned shift = callee && isa<CXXOperatorCallExpr>(call) && isa<CXXMethodDecl>(callee) && cast<CXXMethodDecl>(callee)->isInstance() ? 1 : 0;
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    const Expr *argument = call->getArg(i);
    QualType type = callee && i >= shift && i - shift < callee->getNumParams() ? callee->getParamDecl(i - shift)->getType() : argument->getType();
    bool byReference = argument->isGLValue() && (type->isReferenceType() || i < shift);
    if (!byReference) value(argument, frame);
    else if (inner) parts(argument, frame); // The body says what is done with it.
    else lvalue(argument, i < shift || type->getPointeeType().isConstQualified() || type->isRValueReferenceType() ? Access::Read : Access::ReadWrite, frame);
    if (inner || !argument->getType()->isPointerType()) continue;
    // A pointer given to something that is not looked into: it may go anywhere in the buffer.
    QualType pointee = argument->getType()->getPointeeType();
    if (pointee->isFunctionType()) continue;
    bool isConst = pointee.isConstQualified() || (type->isPointerType() && type->getPointeeType().isConstQualified());
    PointerValue at = values.pointer(argument, frame);
    if (!at.base && isConst) continue;
    if (callee && callee->getDeclName().isIdentifier() && callee->getName().starts_with("__cvta")) continue;
    if (callee && callee->getIdentifier() && (callee->getName() == "__builtin_assume_aligned" || callee->getBuiltinID() == Builtin::BI__builtin_assume_aligned)) continue;
    record(at, isConst ? Access::Read : Access::ReadWrite, pointee, call, call, frame)->exact = false;
  }
  if (inner) statement(inner->function->getBody(), inner);
}

void Lifter::assembly(const GCCAsmStmt *stmt, const Frame *frame) {
  for (unsigned i = 0; i < stmt->getNumInputs(); ++i) value(stmt->getInputExpr(i), frame);
  std::string text = stmt->getAsmString();
  auto has = [&](const char *what) { return text.find(what) != std::string::npos; };
  if (has("cp.async.wait")) return barrier(Barrier::AsyncWait, nullptr, stmt, frame);
  if (has("bar.sync") || has("barrier.sync") || has("barrier.cta.sync")) return barrier(Barrier::Block, nullptr, stmt, frame);
  if (has("bar.warp.sync")) return barrier(Barrier::Warp, nullptr, stmt, frame);
  if (has("cp.async.c") && has("shared.global") && stmt->getNumInputs() >= 2) {
    const Expr *to = sharedPointerIn(stmt->getInputExpr(0));
    const Expr *from = stmt->getInputExpr(1)->getType()->isPointerType() ? stmt->getInputExpr(1) : sharedPointerIn(stmt->getInputExpr(1));
    std::optional<int64_t> bytes;
    for (unsigned i = 2; i < stmt->getNumInputs() && !bytes; ++i) bytes = constantOf(stmt->getInputExpr(i), context);
    if (!bytes)
      for (int64_t size : {16, 8, 4})
        if (text.find(", " + std::to_string(size) + ";") != std::string::npos || text.find("], " + std::to_string(size)) != std::string::npos) { bytes = size; break; }
    if (to && from) return copy(to, from, bytes, true, nullptr, stmt, frame);
  }
  for (unsigned i = 0; i < stmt->getNumOutputs(); ++i)
    if (stmt->getOutputExpr(i)->isGLValue()) lvalue(stmt->getOutputExpr(i), Access::Write, frame);
  bool touchesMemory = has("ld.") || has("st.") || has("atom") || has("red.") || has("ldmatrix") || has("stmatrix") || has("prefetch") || has("cp.");
  if (!touchesMemory) return;
  bool onlyReads = !has("st.") && !has("atom") && !has("red.") && !has("cp.") && !has("stmatrix");
  for (unsigned i = 0; i < stmt->getNumInputs(); ++i) {
    const Expr *pointer = sharedPointerIn(stmt->getInputExpr(i));
    if (!pointer) continue;
    PointerValue at = values.pointer(pointer, frame);
    record(at, onlyReads ? Access::Read : Access::ReadWrite, pointer->getType()->getPointeeType(), nullptr, stmt, frame)->exact = false;
  }
}

} // namespace klineage
