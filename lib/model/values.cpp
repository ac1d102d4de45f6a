// Values: integer expressions, and the book-keeping of functions that are looked into.
#include "model/values.h"
#include "clang/AST/StmtVisitor.h"

namespace klineage {

using namespace clang;

const Expr *bare(const Expr *expr) {
  for (;;) {
    const Expr *inner = expr;
    if (auto *e = dyn_cast<ParenExpr>(expr)) inner = e->getSubExpr();
    else if (auto *e = dyn_cast<ImplicitCastExpr>(expr)) inner = e->getSubExpr();
    else if (auto *e = dyn_cast<FullExpr>(expr)) inner = e->getSubExpr();
    else if (auto *e = dyn_cast<MaterializeTemporaryExpr>(expr)) inner = e->getSubExpr();
    else if (auto *e = dyn_cast<CXXBindTemporaryExpr>(expr)) inner = e->getSubExpr();
    else if (auto *e = dyn_cast<SubstNonTypeTemplateParmExpr>(expr)) inner = e->getReplacement();
    else if (auto *e = dyn_cast<CXXDefaultArgExpr>(expr)) inner = e->getExpr();
    else if (auto *e = dyn_cast<CXXDefaultInitExpr>(expr)) inner = e->getExpr();
    if (inner == expr) return expr;
    expr = inner;
  }
}

const Expr *soleReturn(const FunctionDecl *function) {
  auto *body = dyn_cast_or_null<CompoundStmt>(function->getBody());
  if (!body || body->body_empty()) return nullptr;
  auto *last = dyn_cast<ReturnStmt>(body->body_back());
  if (!last) return nullptr;
  struct Counter : RecursiveASTVisitor<Counter> {
    unsigned count = 0;
    bool VisitReturnStmt(ReturnStmt *) { ++count; return true; }
    bool TraverseLambdaExpr(LambdaExpr *) { return true; }
  } counter;
  counter.TraverseStmt(const_cast<CompoundStmt *>(body));
  return counter.count == 1 ? last->getRetValue() : nullptr;
}

std::pair<QualType, unsigned> scalarOf(QualType type, const ASTContext &context) {
  type = type.getCanonicalType().getUnqualifiedType();
  while (auto *array = context.getAsArrayType(type)) type = array->getElementType().getCanonicalType().getUnqualifiedType();
  auto *record = type->getAsRecordDecl();
  if (!record || !(record = record->getDefinition())) return {type, 1};
  static const char *axes[] = {"x", "y", "z", "w"};
  unsigned count = 0;
  QualType scalar;
  for (const FieldDecl *field : record->fields()) {
    QualType of = field->getType().getCanonicalType().getUnqualifiedType();
    if (count >= 4 || field->getName() != axes[count] || (count && of != scalar)) return {type, 1};
    scalar = of;
    ++count;
  }
  if (count < 2 || context.getTypeSize(type) != count * context.getTypeSize(scalar)) return {type, 1};
  return {scalar, count};
}

namespace {

/// Nothing but parameters: the same value in every thread.
bool overSizes(const IndexExpr &value) {
  for (int kind : {Atom::ThreadIdx, Atom::BlockIdx, Atom::LoopVariable, Atom::Variable})
    if (value.mentionsKind(kind)) return false;
  return !value.mentionsOpaque();
}

/// 1 where the comparison holds and 0 where not: for integers [x <= 0] is min(1, max(0, 1 - x)).
std::optional<IndexExpr> indicator(BinaryOperatorKind comparison, const IndexExpr &left, const IndexExpr &right) {
  if (!overSizes(left) || !overSizes(right)) return std::nullopt;
  auto notAbove = [](const IndexExpr &a, const IndexExpr &b) { return minimum(1, maximum(0, IndexExpr(1) - a + b)); };
  switch (comparison) {
  case BO_LE: return notAbove(left, right);
  case BO_GE: return notAbove(right, left);
  case BO_LT: return IndexExpr(1) - notAbove(right, left);
  case BO_GT: return IndexExpr(1) - notAbove(left, right);
  case BO_EQ: return notAbove(left, right) * notAbove(right, left);
  case BO_NE: return IndexExpr(1) - notAbove(left, right) * notAbove(right, left);
  default: return std::nullopt;
  }
}

} // namespace

const Frame *Values::enter(const FunctionDecl *function) {
  index(function);
  auto frame = std::make_unique<Frame>();
  frame->function = function;
  if (function->getBody()) bodyFrames.emplace(function->getBody(), frame.get());
  frames.push_back(std::move(frame));
  return frames.back().get();
}

const Frame *Values::enterCall(const Expr *call, const Frame *caller) {
  auto key = std::make_pair(call, caller);
  if (auto it = callFrames.find(key); it != callFrames.end()) return it->second;
  callFrames[key] = nullptr;
  const FunctionDecl *callee = nullptr;
  std::vector<const Expr *> arguments;
  const Expr *self = nullptr;
  if (auto *construct = dyn_cast<CXXConstructExpr>(call)) {
    callee = construct->getConstructor();
    for (const Expr *a : construct->arguments()) arguments.push_back(a);
  } else if (auto *e = dyn_cast<CallExpr>(call)) {
    callee = e->getDirectCallee();
    for (const Expr *a : e->arguments()) arguments.push_back(a);
    if (auto *member = dyn_cast<CXXMemberCallExpr>(e)) self = member->getImplicitObjectArgument();
    else if (auto *method = dyn_cast_or_null<CXXMethodDecl>(callee); method && isa<CXXOperatorCallExpr>(e) && method->isInstance() && !arguments.empty()) {
      self = arguments.front();
      arguments.erase(arguments.begin());
    }
  }
  const FunctionDecl *definition = nullptr;
  if (!callee || !callee->hasBody(definition) || definition->isVariadic()) return nullptr;
  unsigned nesting = caller ? caller->depth + 1 : 1;
  if (nesting > 6) return nullptr;
  for (const Frame *f = caller; f; f = f->caller)
    if (f->function == definition) return nullptr;
  if (definition->getNumParams() > arguments.size()) return nullptr;
  index(definition);
  auto frame = std::make_unique<Frame>();
  frame->function = definition;
  frame->call = call;
  frame->caller = caller;
  frame->self = self;
  frame->depth = nesting;
  for (unsigned i = 0; i < definition->getNumParams(); ++i) frame->arguments[definition->getParamDecl(i)] = arguments[i];
  bodyFrames.emplace(definition->getBody(), frame.get());
  frames.push_back(std::move(frame));
  return callFrames[key] = frames.back().get();
}

const Frame *Values::frameOf(const Stmt *stmt) const {
  const Stmt *top = stmt;
  for (const Stmt *up = stmt; up; up = parent(up)) {
    if (auto it = bodyFrames.find(up); it != bodyFrames.end()) return it->second;
    top = up;
  }
  auto it = bodyFrames.find(top);
  return it == bodyFrames.end() ? (frames.empty() ? nullptr : frames.front().get()) : it->second;
}

const Stmt *Values::parent(const Stmt *stmt) const {
  auto it = parents.find(stmt);
  return it == parents.end() ? nullptr : it->second;
}

bool Values::contains(const Stmt *outer, const Stmt *inner) const {
  for (; inner; inner = parent(inner))
    if (inner == outer) return true;
  return false;
}

IndexExpr Values::lift(const Expr *expr, const Frame *frame) {
  if (!expr) return IndexExpr::of(opaque(nullptr, "missing", {}));
  auto key = std::make_pair(expr, frame);
  if (auto it = liftCache.find(key); it != liftCache.end()) return it->second;
  if (depth > 60) return IndexExpr::of(opaque(expr, "deep@" + std::to_string(expr->getBeginLoc().getRawEncoding()), {}));
  ++depth;
  IndexExpr value = liftFresh(expr, frame);
  --depth;
  // While a loop is being recognised its variable has no range yet; such values are not kept.
  if (loopsInProgress.empty()) liftCache[key] = value;
  return value;
}

std::optional<IndexExpr> Values::builtinDimension(const Expr *expr) {
  const Expr *base = nullptr;
  std::string member;
  if (auto *pseudo = dyn_cast<PseudoObjectExpr>(expr)) expr = pseudo->getSyntacticForm()->IgnoreParens();
  if (auto *property = dyn_cast<MSPropertyRefExpr>(expr)) {
    base = property->getBaseExpr();
    member = property->getPropertyDecl()->getNameAsString();
  } else if (auto *e = dyn_cast<MemberExpr>(expr)) {
    base = e->getBase();
    member = e->getMemberDecl()->getNameAsString();
  }
  if (!base || member.size() != 1 || member[0] < 'x' || member[0] > 'z') return std::nullopt;
  unsigned axis = member[0] - 'x';
  QualType type = base->getType();
  if (type->isPointerType()) type = type->getPointeeType();
  std::string name = type->getAsCXXRecordDecl() ? type->getAsCXXRecordDecl()->getNameAsString() : "";
  if (auto *ref = dyn_cast<DeclRefExpr>(bare(base)); ref && isa<VarDecl>(ref->getDecl()) && cast<VarDecl>(ref->getDecl())->hasExternalStorage())
    name += ":" + ref->getDecl()->getNameAsString();
  auto is = [&](const char *what) { return name.find(std::string("__cuda_builtin_") + what) == 0 || name.ends_with(std::string(":") + what); };
  if (is("threadIdx")) return IndexExpr::of(blockEnd[axis] ? threadIdx(axis, blockEnd[axis]) : threadIdx(axis));
  if (is("blockIdx")) return IndexExpr::of(blockIdx(axis));
  if (is("blockDim")) return IndexExpr::of(blockDim(axis));
  if (is("gridDim")) return IndexExpr::of(gridDim(axis));
  return std::nullopt;
}

IndexExpr Values::liftFresh(const Expr *expr, const Frame *frame) {
  if (auto dimension = builtinDimension(expr)) return *dimension;
  if (!expr->isValueDependent() && expr->getType()->isIntegralOrEnumerationType()) {
    Expr::EvalResult result;
    if (expr->EvaluateAsInt(result, context, Expr::SE_NoSideEffects)) {
      const auto &value = result.Val.getInt();
      if (value.isRepresentableByInt64()) return value.getExtValue();
    }
  }
  const Expr *inner = bare(expr);
  if (inner != expr) {
    if (auto *castExpr = dyn_cast<ImplicitCastExpr>(expr->IgnoreParens())) {
      auto kind = castExpr->getCastKind();
      if (kind == CK_FloatingToIntegral) return opaqueOf(castExpr, frame);
      if (kind == CK_IntegralCast && context.getTypeSize(castExpr->getType()) < 32 &&
          context.getTypeSize(castExpr->getType()) < context.getTypeSize(castExpr->getSubExpr()->getType())) return opaqueOf(castExpr, frame);
    }
    return lift(inner, frame);
  }
  if (isa<ImplicitValueInitExpr>(expr) || isa<CXXScalarValueInitExpr>(expr)) return 0;
  if (auto *e = dyn_cast<InitListExpr>(expr))
    return e->getNumInits() == 1 ? lift(e->getInit(0), frame) : e->getNumInits() == 0 ? IndexExpr(0) : opaqueOf(expr, frame);
  if (auto *e = dyn_cast<ExplicitCastExpr>(expr)) {
    const Expr *sub = e->getSubExpr();
    QualType from = sub->getType(), to = e->getType();
    bool narrows = to->isIntegralOrEnumerationType() && from->isIntegralOrEnumerationType() && context.getTypeSize(to) < 32 &&
                   context.getTypeSize(to) < context.getTypeSize(from);
    if (to->isIntegralOrEnumerationType() && from->isIntegralOrEnumerationType() && !narrows) return lift(sub, frame);
    return opaqueOf(expr, frame);
  }
  if (auto *ref = dyn_cast<DeclRefExpr>(expr)) return liftVariable(ref, frame);
  if (auto *op = dyn_cast<UnaryOperator>(expr)) {
    switch (op->getOpcode()) {
    case UO_Plus: return lift(op->getSubExpr(), frame);
    case UO_Minus: return IndexExpr(0) - lift(op->getSubExpr(), frame);
    case UO_Not: return IndexExpr(-1) - lift(op->getSubExpr(), frame);
    case UO_PreInc: return lift(op->getSubExpr(), frame) + 1;
    case UO_PreDec: return lift(op->getSubExpr(), frame) - 1;
    case UO_PostInc: case UO_PostDec: return lift(op->getSubExpr(), frame);
    default: return opaqueOf(expr, frame);
    }
  }
  if (auto *op = dyn_cast<BinaryOperator>(expr)) {
    if (op->getOpcode() == BO_Comma || op->getOpcode() == BO_Assign) return lift(op->getRHS(), frame);
    if (!op->getLHS()->getType()->isIntegralOrEnumerationType() || !op->getRHS()->getType()->isIntegralOrEnumerationType())
      return opaqueOf(expr, frame);
    auto opcode = op->isCompoundAssignmentOp() ? BinaryOperator::getOpForCompoundAssignment(op->getOpcode()) : op->getOpcode();
    return liftBinary(opcode, lift(op->getLHS(), frame), lift(op->getRHS(), frame), expr, frame);
  }
  if (auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    bool taken;
    if (!choice->getCond()->isValueDependent() && choice->getCond()->EvaluateAsBooleanCondition(taken, context))
      return lift(taken ? choice->getTrueExpr() : choice->getFalseExpr(), frame);
    // a < b ? a : b
    if (auto *test = dyn_cast<BinaryOperator>(bare(choice->getCond())); test && test->isRelationalOp()) {
      IndexExpr left = lift(test->getLHS(), frame), right = lift(test->getRHS(), frame);
      IndexExpr yes = lift(choice->getTrueExpr(), frame), no = lift(choice->getFalseExpr(), frame);
      bool less = test->getOpcode() == BO_LT || test->getOpcode() == BO_LE;
      if (left == yes && right == no) return less ? minimum(left, right) : maximum(left, right);
      if (left == no && right == yes) return less ? maximum(left, right) : minimum(left, right);
      // A clamp: a < low ? low : min(a, high), a > high ? high : max(a, low), with low <= high.
      if (auto edge = right.constant(); edge && yes == right)
        for (const AtomRef &atom : no.atoms()) {
          if (!(no == IndexExpr::of(atom)) || atom->kind != (less ? Atom::Minimum : Atom::Maximum)) continue;
          bool leftFirst = atom->left == left;
          auto other = (leftFirst ? atom->right : atom->left).constant();
          if (!other || !(leftFirst || atom->right == left) || (less ? *other < *edge : *other > *edge)) continue;
          return less ? maximum(no, right) : minimum(no, right);
        }
    }
    IndexExpr yes = lift(choice->getTrueExpr(), frame), no = lift(choice->getFalseExpr(), frame);
    if (yes == no) return yes;
    // Chosen by sizes alone (a block size, say): no + [condition] * (yes - no).
    if (auto *test = dyn_cast<BinaryOperator>(bare(choice->getCond())); test && test->isComparisonOp() && test->getLHS()->getType()->isIntegralOrEnumerationType())
      if (auto holds = indicator(test->getOpcode(), lift(test->getLHS(), frame), lift(test->getRHS(), frame)); holds && overSizes(yes) && overSizes(no))
        return no + *holds * (yes - no);
    return opaqueOf(expr, frame);
  }
  if (auto *member = dyn_cast<MemberExpr>(expr)) {
    if (auto *field = dyn_cast<FieldDecl>(member->getMemberDecl()))
      if (auto value = liftField(member->getBase(), field, frame)) return *value;
    return opaqueOf(expr, frame);
  }
  if (auto *call = dyn_cast<CallExpr>(expr)) return liftCall(call, frame);
  if (auto *construct = dyn_cast<CXXConstructExpr>(expr); construct && construct->getNumArgs() == 1 && construct->getType()->isIntegerType())
    return lift(construct->getArg(0), frame);
  return opaqueOf(expr, frame);
}

IndexExpr Values::liftBinary(BinaryOperatorKind op, const IndexExpr &left, const IndexExpr &right, const Expr *expr, const Frame *frame) {
  switch (op) {
  case BO_Add: return left + right;
  case BO_Sub: return left - right;
  case BO_Mul: return left * right;
  case BO_Div: return quotient(left, right);
  case BO_Rem: return remainder(left, right);
  case BO_And: return bitwise(Atom::And, left, right);
  case BO_Or: return bitwise(Atom::Or, left, right);
  case BO_Xor: return bitwise(Atom::Xor, left, right);
  case BO_Shr: return bitwise(Atom::ShiftRight, left, right);
  case BO_Shl:
    if (auto by = right.constant(); by && *by >= 0 && *by < 62) return left * IndexExpr(int64_t(1) << *by);
    break;
  case BO_LT: case BO_GE: {
    bool yes = isNonNegative(right - left - 1), no = isNonNegative(left - right);
    if (yes || no) return (op == BO_LT) == yes ? 1 : 0;
    break;
  }
  case BO_GT: case BO_LE: {
    bool yes = isNonNegative(left - right - 1), no = isNonNegative(right - left);
    if (yes || no) return (op == BO_GT) == yes ? 1 : 0;
    break;
  }
  default: break;
  }
  return opaqueOf(expr, frame);
}

IndexExpr Values::liftCall(const CallExpr *call, const Frame *frame) {
  const FunctionDecl *callee = call->getDirectCallee();
  if (!callee) return opaqueOf(call, frame);
  std::string name = callee->getNameAsString();
  auto argument = [&](unsigned i) { return lift(call->getArg(i), frame); };
  bool integral = call->getType()->isIntegralOrEnumerationType();
  if (integral && call->getNumArgs() == 2) {
    if (name == "min" || name == "umin" || name == "llmin") return minimum(argument(0), argument(1));
    if (name == "max" || name == "umax" || name == "llmax") return maximum(argument(0), argument(1));
    if (name == "__mul24" || name == "__umul24") return argument(0) * argument(1);
  }
  std::string scope = callee->getQualifiedNameAsString();
  if (scope.find("cooperative_groups::") == 0 && integral) {
    auto flat = [&] {
      IndexExpr t = 0;
      for (int axis = 2; axis >= 0; --axis)
        t = t * IndexExpr::of(blockDim(axis)) + IndexExpr::of(blockEnd[axis] ? threadIdx(axis, blockEnd[axis]) : threadIdx(axis));
      return t;
    };
    bool onBlock = scope.find("thread_block::") != std::string::npos;
    if (onBlock && name == "thread_rank") return flat();
    if (onBlock && (name == "size" || name == "num_threads"))
      return IndexExpr::of(blockDim(0)) * IndexExpr::of(blockDim(1)) * IndexExpr::of(blockDim(2));
    // A tile of the block, by its type: thread_block_tile<32>.
    if (auto *member = dyn_cast<CXXMemberCallExpr>(call)) {
      std::string type = member->getImplicitObjectArgument()->getType().getCanonicalType().getUnqualifiedType().getAsString();
      if (auto at = type.find("thread_block_tile<"); at != std::string::npos) {
        int64_t size = std::atoll(type.c_str() + at + 18);
        if (size > 0 && name == "thread_rank") return remainder(flat(), size);
        if (size > 0 && (name == "size" || name == "num_threads")) return size;
        if (size > 0 && name == "meta_group_rank") return quotient(flat(), size);
      }
    }
  }
  if (integral)
    if (const Frame *inner = enterCall(call, frame))
      if (const Expr *value = soleReturn(inner->function)) {
        IndexExpr lifted = lift(value, inner);
        if (!lifted.mentionsKind(Atom::Variable)) return lifted;
      }
  return opaqueOf(call, frame);
}

IndexExpr Values::opaqueOf(const Expr *expr, const Frame *frame) {
  IndexExpr dependsOn;
  std::string text = structure(expr, frame, dependsOn);
  return IndexExpr::of(opaque(expr, text, dependsOn));
}

std::string Values::structure(const Expr *expr, const Frame *frame, IndexExpr &dependsOn) {
  const Expr *inner = bare(expr);
  auto nested = [&](const Expr *part) -> std::string {
    const Expr *core = bare(part);
    if (core->getType()->isIntegralOrEnumerationType()) {
      IndexExpr value = lift(core, frame);
      for (const AtomRef &atom : value.atoms())
        if (!dependsOn.mentions(atom)) dependsOn = dependsOn + IndexExpr::of(atom);
      return value.key();
    }
    return structure(core, frame, dependsOn);
  };
  if (auto *literal = dyn_cast<FloatingLiteral>(inner)) return std::to_string(literal->getValueAsApproximateDouble());
  if (auto *ref = dyn_cast<DeclRefExpr>(inner)) {
    if (auto *var = dyn_cast<VarDecl>(ref->getDecl()); var && frame)
      if (auto *parm = dyn_cast<ParmVarDecl>(var))
        if (auto it = frame->arguments.find(parm); it != frame->arguments.end() && factsOf(parm).changes.empty()) {
          IndexExpr outer;
          std::string text = structure(it->second, frame->caller, outer);
          for (const AtomRef &atom : outer.atoms())
            if (!dependsOn.mentions(atom)) dependsOn = dependsOn + IndexExpr::of(atom);
          return text;
        }
    dependsOn = isa<VarDecl>(ref->getDecl()) && !dependsOn.mentions(variable(ref->getDecl())) && !isa<FunctionDecl>(ref->getDecl()) &&
                        !factsOf(ref->getDecl()).changes.empty()
                    ? dependsOn + IndexExpr::of(variable(ref->getDecl())) : dependsOn;
    return ref->getDecl()->getNameAsString() + "@" + std::to_string(ref->getDecl()->getLocation().getRawEncoding());
  }
  bool isMemory = isa<ArraySubscriptExpr>(inner) || (isa<UnaryOperator>(inner) && cast<UnaryOperator>(inner)->getOpcode() == UO_Deref);
  if (isMemory) {
    PointerValue at = object(inner, frame);
    for (const AtomRef &atom : at.bytes.atoms())
      if (!dependsOn.mentions(atom)) dependsOn = dependsOn + IndexExpr::of(atom);
    if (at.base) return "load " + at.base->getNameAsString() + "@" + std::to_string(at.base->getLocation().getRawEncoding()) + "[" + at.bytes.key() + "]:" + inner->getType().getCanonicalType().getUnqualifiedType().getAsString();
  }
  std::string text;
  if (auto *op = dyn_cast<BinaryOperator>(inner)) text = std::string(op->getOpcodeStr());
  else if (auto *op = dyn_cast<UnaryOperator>(inner)) text = UnaryOperator::getOpcodeStr(op->getOpcode()).str();
  else if (auto *e = dyn_cast<ExplicitCastExpr>(inner)) text = e->getType().getCanonicalType().getAsString();
  else if (auto *member = dyn_cast<MemberExpr>(inner)) text = "." + member->getMemberDecl()->getNameAsString();
  else if (auto *call = dyn_cast<CallExpr>(inner); call && call->getDirectCallee()) {
    text = call->getDirectCallee()->getQualifiedNameAsString();
    // What a call gives twice need not be the same: one that moves a counter or talks to other lanes is itself by its place.
    for (const char *moving : {"atomic", "clock", "__shfl", "__activemask", "__ballot", "__match", "__reduce"})
      if (call->getDirectCallee()->getIdentifier() && call->getDirectCallee()->getName().starts_with(moving)) text += "@" + std::to_string(call->getBeginLoc().getRawEncoding());
  }
  else text = inner->getStmtClassName();
  text += "(";
  if (auto *call = dyn_cast<CallExpr>(inner)) {
    if (auto *member = dyn_cast<CXXMemberCallExpr>(call)) text += nested(member->getImplicitObjectArgument()) + ",";
    for (const Expr *argument : call->arguments()) text += nested(argument) + ",";
  } else if (!isa<LambdaExpr>(inner) && !isa<PseudoObjectExpr>(inner)) {
    for (const Stmt *child : inner->children())
      if (auto *part = dyn_cast_or_null<Expr>(child)) text += nested(part) + ",";
  } else {
    text += std::to_string(inner->getBeginLoc().getRawEncoding());
  }
  return text + ")";
}

} // namespace klineage
