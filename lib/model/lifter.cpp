// Lifter: accesses, barriers and buffers in the order of evaluation.
#include "model/lifter.h"

namespace klineage {

using namespace clang;

std::vector<const CallExpr *> callsOf(const Frame *frame) {
  std::vector<const CallExpr *> calls;
  for (const Frame *f = frame; f; f = f->caller)
    if (auto *call = dyn_cast_or_null<CallExpr>(f->call)) calls.insert(calls.begin(), call);
  return calls;
}

Space spaceOf(const ValueDecl *decl) {
  if (!decl) return Space::Unknown;
  if (decl->hasAttr<CUDASharedAttr>()) return Space::Shared;
  if (decl->hasAttr<CUDAConstantAttr>()) return Space::Constant;
  if (isa<FieldDecl>(decl)) return Space::Global;
  if (isa<ParmVarDecl>(decl)) return decl->getType()->isPointerType() ? Space::Global : Space::Constant;
  auto *var = dyn_cast<VarDecl>(decl);
  if (!var) return Space::Unknown;
  if (var->hasGlobalStorage()) return var->getType().isConstQualified() ? Space::Constant : Space::Global;
  // A pointer variable is a buffer only when it was made of raw dynamic shared memory.
  return var->getType()->isPointerType() ? Space::Shared : Space::Local;
}

Lifter::Lifter(const Unit *unit, ASTContext &context, KernelModel &model)
    : unit(unit), context(context), model(model), state(std::make_shared<KernelModel::State>()),
      values((state->values = std::make_unique<Values>(context, state->loops), *state->values)) {}

bool Lifter::isOurs(const FunctionDecl *function) const {
  const FunctionDecl *definition = nullptr;
  if (!function->hasBody(definition)) return false;
  const auto &sources = context.getSourceManager();
  SourceLocation at = sources.getExpansionLoc(definition->getLocation());
  if (at.isInvalid() || sources.isInSystemHeader(at)) return false;
  std::string file = sources.getFilename(at).str();
  if (!unit || file.empty()) return sources.isInMainFile(at);
  const SourceSet &set = unit->sources();
  if (sources.isInMainFile(at) || set.files.count(file)) return true;
  for (const std::string &root : set.rewriteRoots)
    if (file.starts_with(root)) return true;
  return false;
}

void Lifter::run(const FunctionDecl *kernel) {
  model.unit = unit;
  model.function = kernel;
  if (unit) model.launches = findLaunches(*unit, kernel);
  for (unsigned axis = 0; axis < 3; ++axis)
    if (auto size = model.blockSize(axis); size && *size > 0) values.setBlockEnd(axis, *size);
  state->root = values.enter(kernel);
  statement(kernel->getBody(), state->root);
  for (auto [write, read] : asyncPairs) model.accesses[write].asyncSource = &model.accesses[read];
  for (const Access &access : model.accesses)
    if (access.kind != Access::Read) {
      if (access.buffer) state->written.insert(access.buffer);
      else state->writesAnywhere = true;
    }
  auto &loops = state->loops;
  for (auto &loop : loops)
    for (const Stmt *up = values.parent(loop->stmt); up && !loop->parent; up = values.parent(up))
      if (auto *outer = dyn_cast<ForStmt>(up))
        for (auto &other : loops)
          if (other->stmt == outer && other->calls == loop->calls) { loop->parent = other.get(); break; }
  const auto &sources = context.getSourceManager();
  std::stable_sort(loops.begin(), loops.end(), [&](const auto &a, const auto &b) {
    return sources.isBeforeInTranslationUnit(a->stmt->getBeginLoc(), b->stmt->getBeginLoc());
  });
  model.loops = std::move(loops);
  loops.clear();
  model.state = state;
}

template <typename Place> void Lifter::place(Place &into, const Stmt *stmt, const Frame *frame) {
  into.calls = callsOf(frame);
  const Stmt *at = stmt;
  for (const Frame *f = frame; f && at; at = f->call, f = f->caller) {
    std::vector<const Loop *> here;
    const Stmt *child = at;
    for (const Stmt *up = values.parent(at); up; child = up, up = values.parent(up)) {
      bool isOpen = isa<WhileStmt>(up) || isa<DoStmt>(up) || isa<CXXForRangeStmt>(up);
      if (auto *loopStmt = dyn_cast<ForStmt>(up); loopStmt && child != loopStmt->getInit()) {
        const Loop *canon = values.loop(loopStmt, f);
        if (canon) here.insert(here.begin(), canon);
        isOpen = !canon;
      }
      if constexpr (std::is_same_v<Place, Access>) into.inOpenLoop |= isOpen;
    }
    into.loops.insert(into.loops.begin(), here.begin(), here.end());
    auto own = localGuards(values, at);
    into.guards.insert(into.guards.begin(), own.begin(), own.end());
  }
  into.order = order++;
}

Access *Lifter::record(const PointerValue &at, Access::Kind kind, QualType accessed, const Expr *expr, const Stmt *stmt, const Frame *frame) {
  Access access;
  access.kind = kind;
  access.expr = expr;
  access.buffer = at.base;
  access.space = spaceOf(at.base);
  access.accessed = accessed.getCanonicalType().getUnqualifiedType();
  access.isVolatile = accessed.isVolatileQualified();
  QualType owner = at.base ? at.base->getType() : accessed;
  if (owner->isReferenceType()) owner = owner->getPointeeType();
  if (owner->isPointerType()) owner = owner->getPointeeType();
  access.isVolatile |= context.getBaseElementType(owner).isVolatileQualified();
  access.element = scalarOf(owner->isVoidType() ? accessed : owner, context).first;
  auto bytesOf = [&](QualType type) -> int64_t { return type->isVoidType() || type->isIncompleteType() ? 1 : std::max<int64_t>(1, context.getTypeSizeInChars(type).getQuantity()); };
  int64_t size = bytesOf(access.element);
  access.width = unsigned(std::max<int64_t>(1, bytesOf(access.accessed) / size));
  access.exact = at.exact && at.base && !at.bytes.mentionsOpaque() && !at.bytes.mentionsKind(Atom::Variable);
  // Within a structure the member's own offset does not count: elements are whole structures.
  IndexExpr bytes = at.bytes - IndexExpr(((at.bytes.constantTerm() % size) + size) % size);
  if (auto index = exactQuotient(bytes, size)) {
    access.index = *index;
  } else {
    access.index = quotient(bytes, size);
    access.exact = false;
  }
  if (at.base) {
    unsigned dimensions = 0;
    QualType type = at.base->getType();
    while (auto *array = context.getAsArrayType(type)) { ++dimensions; type = array->getElementType(); }
    if (dimensions && at.subscripts.size() == dimensions) access.subscripts = at.subscripts;
    if (auto *var = dyn_cast<VarDecl>(at.base)) buffer(var);
  }
  const Stmt *full = stmt;
  while (const Stmt *up = values.parent(full)) {
    if (isa<CompoundStmt>(up) || isa<ForStmt>(up) || isa<IfStmt>(up) || isa<WhileStmt>(up) || isa<DoStmt>(up) || isa<SwitchStmt>(up) || isa<LambdaExpr>(up)) break;
    full = up;
  }
  access.statement = full;
  place(access, stmt, frame);
  model.accesses.push_back(std::move(access));
  return &model.accesses.back();
}

void Lifter::barrier(Barrier::Kind kind, const CallExpr *call, const Stmt *stmt, const Frame *frame) {
  Barrier found;
  found.kind = kind;
  found.call = call;
  found.stmt = stmt;
  place(found, stmt, frame);
  model.barriers.push_back(std::move(found));
}

void Lifter::buffer(const VarDecl *decl) {
  if (isa<ParmVarDecl>(decl)) return;
  for (const Buffer &known : model.buffers)
    if (known.decl == decl) return;
  Buffer found;
  found.decl = decl;
  found.space = spaceOf(decl);
  if (found.space != Space::Shared && found.space != Space::Local) return;
  QualType type = decl->getType();
  if (type->isReferenceType()) return;
  if (type->isPointerType()) {
    std::tie(found.element, found.vectorWidth) = scalarOf(type->getPointeeType(), context);
    if (decl->getInit()) found.origin = values.pointer(decl->getInit(), values.frameOf(decl->getInit())).base;
    model.buffers.push_back(found);
    return;
  }
  std::tie(found.element, found.vectorWidth) = scalarOf(type, context);
  bool isSized = true;
  if (!type->isArrayType()) found.extents.push_back(1);
  while (auto *array = context.getAsArrayType(type)) {
    if (auto *sized = dyn_cast<ConstantArrayType>(array)) found.extents.push_back(sized->getSize().getSExtValue());
    else isSized = false;
    type = array->getElementType();
  }
  if (!isSized) found.extents.clear();
  else if (!decl->getType()->isDependentType()) found.bytes = context.getTypeSizeInChars(decl->getType()).getQuantity();
  model.buffers.push_back(found);
}

void Lifter::statement(const Stmt *stmt, const Frame *frame) {
  if (!stmt) return;
  if (auto *expr = dyn_cast<Expr>(stmt)) return value(expr, frame);
  if (auto *decls = dyn_cast<DeclStmt>(stmt)) {
    for (const Decl *decl : decls->decls())
      if (auto *var = dyn_cast<VarDecl>(decl)) {
        if (var->getType()->isArrayType() || var->hasAttr<CUDASharedAttr>()) buffer(var);
        const Expr *init = var->getInit();
        if (!init) continue;
        if (var->getType()->isReferenceType() && init->isGLValue() && !isa<MaterializeTemporaryExpr>(bare(init)) && !isa<MaterializeTemporaryExpr>(init)) parts(init, frame);
        else value(init, frame);
      }
    return;
  }
  if (auto *branch = dyn_cast<IfStmt>(stmt)) {
    statement(branch->getInit(), frame);
    bool taken;
    if (!branch->getCond()->isValueDependent() && branch->getCond()->EvaluateAsBooleanCondition(taken, context))
      return statement(taken ? branch->getThen() : branch->getElse(), frame);
    if (branch->getConditionVariableDeclStmt()) statement(branch->getConditionVariableDeclStmt(), frame);
    value(branch->getCond(), frame);
    statement(branch->getThen(), frame);
    return statement(branch->getElse(), frame);
  }
  if (auto *loopStmt = dyn_cast<ForStmt>(stmt)) {
    values.loop(loopStmt, frame);
    statement(loopStmt->getInit(), frame);
    statement(loopStmt->getCond(), frame);
    statement(loopStmt->getBody(), frame);
    return statement(loopStmt->getInc(), frame);
  }
  if (auto *assemblyStmt = dyn_cast<GCCAsmStmt>(stmt)) return assembly(assemblyStmt, frame);
  for (const Stmt *child : stmt->children()) statement(child, frame);
}

void Lifter::value(const Expr *expr, const Frame *frame) {
  expr = expr->IgnoreParens();
  if (isa<PseudoObjectExpr>(expr) || isa<UnaryExprOrTypeTraitExpr>(expr) || isa<CXXNoexceptExpr>(expr)) return;
  if (auto *lambda = dyn_cast<LambdaExpr>(expr)) {
    for (const Expr *init : lambda->capture_inits())
      if (init && !init->isGLValue()) value(init, frame);
    return;
  }
  if (auto *castExpr = dyn_cast<CastExpr>(expr)) {
    if (castExpr->getCastKind() == CK_LValueToRValue) return lvalue(castExpr->getSubExpr(), Access::Read, frame);
    if (castExpr->getCastKind() == CK_ArrayToPointerDecay) return parts(castExpr->getSubExpr(), frame);
    return value(castExpr->getSubExpr(), frame);
  }
  if (expr->isGLValue() && !isa<CallExpr>(expr) && !isa<BinaryOperator>(expr) && !isa<UnaryOperator>(expr) && !isa<FullExpr>(expr)) {
    // An object handed on by reference to something that only looks at it.
    return lvalue(expr, Access::Read, frame);
  }
  if (auto *construct = dyn_cast<CXXConstructExpr>(expr)) {
    for (const Expr *argument : construct->arguments())
      if (argument->isGLValue()) lvalue(argument, Access::Read, frame);
      else value(argument, frame);
    return;
  }
  if (auto *op = dyn_cast<BinaryOperator>(expr); op && op->isAssignmentOp()) {
    value(op->getRHS(), frame);
    return lvalue(op->getLHS(), op->getOpcode() == BO_Assign ? Access::Write : Access::ReadWrite, frame, op->getRHS());
  }
  if (auto *op = dyn_cast<UnaryOperator>(expr)) {
    if (op->isIncrementDecrementOp()) return lvalue(op->getSubExpr(), Access::ReadWrite, frame);
    if (op->getOpcode() == UO_AddrOf) return parts(op->getSubExpr(), frame);
    if (op->getOpcode() == UO_Deref) return lvalue(op, Access::Read, frame);
  }
  if (auto *e = dyn_cast<CallExpr>(expr)) return call(e, frame);
  if (auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    bool taken;
    if (!choice->getCond()->isValueDependent() && choice->getCond()->EvaluateAsBooleanCondition(taken, context))
      return value(taken ? choice->getTrueExpr() : choice->getFalseExpr(), frame);
  }
  for (const Stmt *child : expr->children()) statement(child, frame);
}

/// The index and base expressions of an lvalue that is only named, not moved.
void Lifter::parts(const Expr *expr, const Frame *frame) {
  const Expr *inner = bare(expr);
  if (auto *subscript = dyn_cast<ArraySubscriptExpr>(inner)) {
    value(subscript->getBase(), frame);
    return value(subscript->getIdx(), frame);
  }
  if (auto *op = dyn_cast<UnaryOperator>(inner)) return value(op->getSubExpr(), frame);
  if (auto *member = dyn_cast<MemberExpr>(inner)) return member->isArrow() ? value(member->getBase(), frame) : parts(member->getBase(), frame);
  if (auto *castExpr = dyn_cast<ExplicitCastExpr>(inner)) return castExpr->getSubExpr()->isGLValue() ? parts(castExpr->getSubExpr(), frame) : value(castExpr->getSubExpr(), frame);
  if (auto *e = dyn_cast<CallExpr>(inner)) return call(e, frame);
  if (auto *op = dyn_cast<BinaryOperator>(inner)) {
    value(op->getRHS(), frame);
    return op->isAssignmentOp() ? parts(op->getLHS(), frame) : value(op->getLHS(), frame);
  }
}

void Lifter::lvalue(const Expr *expr, Access::Kind kind, const Frame *frame, const Expr *stored) {
  const Expr *inner = expr->IgnoreParens();
  while (auto *castExpr = dyn_cast<ImplicitCastExpr>(inner)) inner = castExpr->getSubExpr()->IgnoreParens();
  if (auto *temporary = dyn_cast<MaterializeTemporaryExpr>(inner)) return value(temporary->getSubExpr(), frame);
  if (auto *full = dyn_cast<FullExpr>(inner)) return lvalue(full->getSubExpr(), kind, frame, stored);
  if (!inner->isGLValue()) return value(inner, frame);
  if (auto *choice = dyn_cast<ConditionalOperator>(inner)) {
    value(choice->getCond(), frame);
    lvalue(choice->getTrueExpr(), kind, frame, stored);
    return lvalue(choice->getFalseExpr(), kind, frame, stored);
  }
  if (auto *op = dyn_cast<BinaryOperator>(inner)) {
    if (op->isAssignmentOp()) value(op, frame);
    else if (op->getOpcode() == BO_Comma) { value(op->getLHS(), frame); return lvalue(op->getRHS(), kind, frame, stored); }
    if (op->isAssignmentOp()) return;
  }
  bool isMemory = false;
  for (const Expr *e = inner;;) {
    e = bare(e);
    if (isa<ArraySubscriptExpr>(e) || isa<CallExpr>(e)) { isMemory = true; break; }
    if (auto *op = dyn_cast<UnaryOperator>(e)) { isMemory = op->getOpcode() == UO_Deref; break; }
    if (isa<ExplicitCastExpr>(e)) { isMemory = true; break; }
    if (auto *member = dyn_cast<MemberExpr>(e)) {
      if (member->isArrow()) { isMemory = !isa<CXXThisExpr>(bare(member->getBase())) || values.object(e, frame).base; break; }
      e = member->getBase();
      continue;
    }
    if (auto *ref = dyn_cast<DeclRefExpr>(e)) {
      auto *var = dyn_cast<VarDecl>(ref->getDecl());
      if (!var || isa<FunctionDecl>(ref->getDecl())) return;
      if (var->hasGlobalStorage()) isMemory = !var->isConstexpr() && !var->getName().ends_with("Idx") && !var->getName().ends_with("Dim");
      else if (var->getType()->isReferenceType()) {
        PointerValue at = values.object(ref, frame);
        isMemory = !at.base || !isa<VarDecl>(at.base) || at.base->getType()->isArrayType() || at.base->getType()->isPointerType() || spaceOf(at.base) == Space::Shared;
        if (auto *owner = dyn_cast_or_null<VarDecl>(at.base); owner && owner->getType() == ref->getType()) isMemory = false;
      }
    }
    break;
  }
  parts(inner, frame);
  if (!isMemory) return;
  PointerValue at = values.object(inner, frame);
  if (at.base && isa<ParmVarDecl>(at.base) && !at.base->getType()->isPointerType()) return; // A by-value argument of the kernel.
  if (auto *base = dyn_cast_or_null<VarDecl>(at.base); base && base->getType()->isPointerType() && bare(inner)->getType()->isPointerType() && isa<DeclRefExpr>(bare(inner))) return;
  if (Access *access = record(at, kind, inner->getType(), inner, inner, frame); access && stored) access->value = stored;
}

} // namespace klineage
