// Lockstep: expressions.
#include "step/lockstep.h"
#include "step/text_order.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace klineage {
using namespace clang;

namespace {

Sample wrapped(Sample sample, QualType type, const ASTContext &context) {
  if (!sample.known() || type.isNull()) return sample;
  type = type.getCanonicalType();
  if (type->isBooleanType()) return Sample::of(int64_t(sample.kind == Sample::Real ? sample.real != 0 : sample.integer != 0)).from(sample.data);
  if (type->isIntegerType()) {
    int64_t value = sample.kind == Sample::Real ? int64_t(sample.real) : sample.integer;
    unsigned bits = unsigned(context.getTypeSize(type));
    if (bits < 64) {
      uint64_t low = uint64_t(value) & ((uint64_t(1) << bits) - 1);
      bool negative = type->isSignedIntegerType() && (low >> (bits - 1));
      value = negative ? int64_t(low | ~((uint64_t(1) << bits) - 1)) : int64_t(low);
    }
    return Sample::of(value).from(sample.data);
  }
  if (type->isRealFloatingType() && sample.kind == Sample::Integer) return Sample::of(double(sample.integer)).from(sample.data);
  return sample;
}

Sample combination(BinaryOperatorKind kind, const Sample &a, const Sample &b) {
  if (!a.known() || !b.known()) return {};
  if (a.kind == Sample::Pointer || b.kind == Sample::Pointer || a.kind == Sample::Record || b.kind == Sample::Record) return {};
  bool real = a.kind == Sample::Real || b.kind == Sample::Real;
  double x = a.number(), y = b.number();
  int64_t i = a.integer, j = b.integer;
  switch (kind) {
  case BO_Add: return real ? Sample::of(x + y) : Sample::of(i + j);
  case BO_Sub: return real ? Sample::of(x - y) : Sample::of(i - j);
  case BO_Mul: return real ? Sample::of(x * y) : Sample::of(i * j);
  case BO_Div: return real ? Sample::of(x / y) : j == 0 ? Sample() : Sample::of(i / j);
  case BO_Rem: return real || j == 0 ? Sample() : Sample::of(i % j);
  case BO_Shl: return real || j < 0 || j > 62 ? Sample() : Sample::of(int64_t(uint64_t(i) << j));
  case BO_Shr: return real || j < 0 || j > 62 ? Sample() : Sample::of(i >> j);
  case BO_And: return real ? Sample() : Sample::of(i & j);
  case BO_Or: return real ? Sample() : Sample::of(i | j);
  case BO_Xor: return real ? Sample() : Sample::of(i ^ j);
  case BO_LT: return Sample::of(int64_t(real ? x < y : i < j));
  case BO_GT: return Sample::of(int64_t(real ? x > y : i > j));
  case BO_LE: return Sample::of(int64_t(real ? x <= y : i <= j));
  case BO_GE: return Sample::of(int64_t(real ? x >= y : i >= j));
  case BO_EQ: return Sample::of(int64_t(real ? x == y : i == j));
  case BO_NE: return Sample::of(int64_t(real ? x != y : i != j));
  default: return {};
  }
}

Sample arithmetic(BinaryOperatorKind kind, const Sample &a, const Sample &b) { return combination(kind, a, b).from(a.data || b.data); }

bool mentions(const Stmt *stmt, const std::set<const ValueDecl *> &decls) {
  if (!stmt) return false;
  if (const auto *ref = dyn_cast<DeclRefExpr>(stmt))
    if (decls.count(ref->getDecl())) return true;
  for (const Stmt *child : stmt->children())
    if (mentions(child, decls)) return true;
  return false;
}

} // namespace

int64_t innermostCount(QualType type, const ASTContext &context) {
  int64_t count = 1;
  while (const auto *array = context.getAsConstantArrayType(type)) {
    count *= array->getSize().getSExtValue();
    type = array->getElementType();
  }
  return count;
}

QualType innermostType(QualType type) {
  type = type.getNonReferenceType();
  while (const auto *array = type->getAsArrayTypeUnsafe()) type = array->getElementType();
  return type.getUnqualifiedType();
}

std::optional<Sample> Lockstep::constant(const Expr *expr) {
  auto found = constants.find(expr);
  if (found != constants.end()) return found->second.known() ? std::optional(found->second) : std::nullopt;
  Sample sample;
  Expr::EvalResult evaluated;
  if (!expr->isValueDependent() && expr->isPRValue() && expr->EvaluateAsRValue(evaluated, context) && !evaluated.HasSideEffects) {
    if (evaluated.Val.isInt()) sample = Sample::of(evaluated.Val.getInt().getExtValue());
    if (evaluated.Val.isFloat()) {
      llvm::APFloat value = evaluated.Val.getFloat();
      bool lost = false;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
      sample = Sample::of(value.convertToDouble());
    }
  }
  constants[expr] = sample;
  return sample.known() ? std::optional(sample) : std::nullopt;
}

std::optional<Samples> Lockstep::builtinIndex(const Expr *expr) {
  const auto *pseudo = dyn_cast<PseudoObjectExpr>(expr);
  if (!pseudo) return std::nullopt;
  const auto *property = dyn_cast<MSPropertyRefExpr>(pseudo->getSyntacticForm()->IgnoreParens());
  if (!property) return std::nullopt;
  const Expr *base = property->getBaseExpr()->IgnoreParens();
  if (const auto *opaque = dyn_cast<OpaqueValueExpr>(base)) base = opaque->getSourceExpr()->IgnoreParens();
  const auto *ref = dyn_cast<DeclRefExpr>(base);
  std::string axisName = property->getPropertyDecl()->getNameAsString();
  if (!ref || axisName.size() != 1) return std::nullopt;
  int axis = axisName[0] - 'x';
  if (axis < 0 || axis > 2) return std::nullopt;
  std::string name = ref->getDecl()->getNameAsString();
  if (name == "blockDim") return uniform(Sample::of(shape[axis]));
  if (name != "threadIdx") return uniform({}); // which block, and how many there are, must not decide anything
  Samples samples(count);
  for (size_t t = 0; t < count; ++t) {
    int64_t index = axis == 0 ? int64_t(t) % shape[0] : axis == 1 ? int64_t(t) / shape[0] % shape[1] : int64_t(t) / (shape[0] * shape[1]);
    samples[t] = Sample::of(index);
  }
  return samples;
}

Sample Lockstep::makeInput(SampleInput made, size_t thread) {
  for (const SampleInput &known : seen)
    if (known.sameAs(made))
      return (known.integer ? Sample::of(int64_t(known.values[thread])) : Sample::of(known.values[thread])).from(true);
  made.values.resize(count);
  for (double &value : made.values) {
    value = random();
    if (made.integer) value = std::round(value * 1000);
  }
  seen.push_back(std::move(made));
  return makeInput(seen.back(), thread);
}

Samples Lockstep::input(const ValueDecl *variable, const Expr *expr, QualType type) {
  Samples samples(count);
  type = type.getNonReferenceType().getCanonicalType();
  for (size_t t = 0; t < count; ++t) {
    if (const auto *record = type->getAsCXXRecordDecl()) {
      samples[t].kind = Sample::Record;
      int index = 0;
      for (const FieldDecl *field : record->fields()) {
        bool integer = field->getType()->isIntegerType();
        samples[t].fields.push_back(integer || field->getType()->isRealFloatingType() ? makeInput({variable, expr, index, -1, integer, {}}, t) : Sample());
        ++index;
      }
    } else if (type->isRealFloatingType() || type->isIntegerType()) {
      samples[t] = makeInput({variable, expr, -1, -1, type->isIntegerType(), {}}, t);
    }
  }
  return samples;
}

/// A constant that has a name; of floating-point type the language does not call it one.
std::optional<Sample> Lockstep::namedNumber(const ValueDecl *decl) {
  const auto *var = dyn_cast<VarDecl>(decl);
  if (!var || !var->getType().isConstQualified() || var->getType().isVolatileQualified() || !var->getAnyInitializer()) return std::nullopt;
  auto known = constant(var->getAnyInitializer());
  return known ? std::optional(wrapped(*known, var->getType(), context)) : std::nullopt;
}

Samples Lockstep::readVariable(const ValueDecl *decl) {
  auto found = variables.find(decl);
  if (found != variables.end()) return found->second;
  if (decl->getNameAsString() == "warpSize") return uniform(Sample::of(int64_t(32)));
  const auto *var = dyn_cast<VarDecl>(decl);
  QualType type = decl->getType().getNonReferenceType().getCanonicalType();
  if (auto number = namedNumber(decl)) return variables[decl] = uniform(*number);
  if (type->isRealFloatingType() || (type->isRecordType() && !type->getAsCXXRecordDecl()->fields().empty() && var)) {
    if (type->isRecordType())
      for (const FieldDecl *field : type->getAsCXXRecordDecl()->fields())
        if (!field->getType()->isArithmeticType()) return uniform({});
    return variables[decl] = input(decl, nullptr, type);
  }
  // An index that was computed before the piece: its initializer says it, unless something has changed it since.
  if (var && var->isLocalVarDecl() && var->getInit() && (type->isIntegerType() || type->isPointerType())) {
    if (!unchanged(var)) return type->isIntegerType() ? variables[decl] = input(decl, nullptr, type) : uniform({});
    if (resolving.insert(decl).second) {
      Samples samples = evaluate(var->getInit());
      resolving.erase(decl);
      return variables[decl] = samples;
    }
  }
  // A helper's pointer is scratch memory of the block until shown otherwise: readStale tells when it held something before.
  if (isa<ParmVarDecl>(decl) && type->isPointerType() && !type->getPointeeType().isConstQualified() &&
      !cast<FunctionDecl>(decl->getDeclContext())->hasAttr<CUDAGlobalAttr>()) {
    memories.push_back({});
    return variables[decl] = uniform(Sample::at(int(memories.size()) - 1, 0));
  }
  return uniform({});
}

/// An element that the piece reads before it stores it: it was there before.
Sample Lockstep::ownElement(Memory &memory, int64_t index, size_t thread) {
  QualType type = memory.before ? innermostType(memory.before->getType()).getCanonicalType() : QualType();
  if (type.isNull() || !type->isArithmeticType() || type->isBooleanType()) return {};
  return makeInput({memory.before, nullptr, -1, index, type->isIntegerType(), {}}, thread);
}

/// It names one element of an array of the thread's own, known in every thread that takes part.
bool Lockstep::inOwnArray(const Expr *expr) {
  if (!isa<ArraySubscriptExpr>(expr) || expr->HasSideEffects(context)) return false;
  Place at = place(expr);
  for (size_t t = 0; t < count; ++t)
    if (active[t] && (at.pointers[t].kind != Sample::Pointer || !memories[at.pointers[t].storage].perThread)) return false;
  return true;
}

Samples Lockstep::address(const Place &at) {
  if (at.memory) return at.pointers;
  if (at.unknown || !at.variable || !at.fields.empty() || at.variable->getType()->isReferenceType()) return uniform({});
  auto [found, fresh] = addressOf.try_emplace(at.variable, int(memories.size()));
  if (fresh) {
    memories.push_back({});
    memories.back().perThread = true;
    memories.back().variable = at.variable;
  }
  return uniform(Sample::at(found->second, 0));
}

Samples Lockstep::handed(const Expr *expr) {
  const Expr *plain = expr->IgnoreParenImpCasts();
  // What is read through a pointer that was followed may have been written through it.
  std::set<const ValueDecl *> own = written;
  for (const auto &[decl, values] : variables)
    if (std::any_of(values.begin(), values.end(), [](const Sample &s) { return s.kind == Sample::Pointer; })) own.insert(decl);
  if (!constant(plain) && !exchangeIn(plain) && !mentions(plain, own)) {
    QualType type = plain->getType();
    if (const auto *ref = dyn_cast<DeclRefExpr>(plain)) {
      if (auto number = namedNumber(ref->getDecl())) return uniform(*number);
      auto found = variables.find(ref->getDecl());
      bool known = found != variables.end() && std::any_of(found->second.begin(), found->second.end(), [](const Sample &s) { return s.known(); });
      if (!known && (type->isArithmeticType() || type->isRecordType())) return variables[ref->getDecl()] = input(ref->getDecl(), nullptr, type);
    } else if (type->isRealFloatingType() && !memoryKey && !inOwnArray(plain)) {
      return input(nullptr, plain, type);
    }
  }
  return evaluate(expr);
}

int Lockstep::storage(const ValueDecl *array) {
  auto [found, fresh] = storageOf.try_emplace(array, int(memories.size()));
  if (fresh) {
    memories.push_back({});
    memories.back().perThread = !array->hasAttr<CUDASharedAttr>();
    if (memories.back().perThread) memories.back().before = array;
  }
  return found->second;
}

Lockstep::Place Lockstep::place(const Expr *expr) {
  expr = expr->IgnoreParens();
  Place made;
  if (const auto *cast = dyn_cast<CastExpr>(expr)) return place(cast->getSubExpr());
  if (const auto *ref = dyn_cast<DeclRefExpr>(expr)) {
    auto alias = aliases.find(ref->getDecl());
    if (alias != aliases.end()) return alias->second;
    if (ref->getDecl()->hasAttr<CUDASharedAttr>() || ref->getDecl()->getType()->isArrayType()) {
      made.memory = true;
      made.pointers = uniform(Sample::at(storage(ref->getDecl()), 0));
    } else {
      made.variable = ref->getDecl();
    }
    return made;
  }
  if (const auto *member = dyn_cast<MemberExpr>(expr)) {
    if (const auto *field = dyn_cast<FieldDecl>(member->getMemberDecl())) {
      made = member->isArrow() ? Place() : place(member->getBase());
      if (member->isArrow()) {
        made.memory = true;
        made.pointers = evaluate(member->getBase());
      }
      made.fields.push_back(int(field->getFieldIndex()));
      return made;
    }
  }
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
    made.memory = true;
    made.pointers = evaluate(subscript->getBase());
    Samples index = evaluate(subscript->getIdx());
    int64_t scale = innermostCount(subscript->getType(), context);
    for (size_t t = 0; t < count; ++t) {
      if (made.pointers[t].kind == Sample::Pointer && index[t].kind == Sample::Integer && !index[t].data) made.pointers[t].integer += index[t].integer * scale;
      else made.pointers[t] = {};
    }
    return made;
  }
  if (const auto *op = dyn_cast<UnaryOperator>(expr); op && op->getOpcode() == UO_Deref) {
    made.memory = true;
    made.pointers = evaluate(op->getSubExpr());
    return made;
  }
  if (const auto *op = dyn_cast<BinaryOperator>(expr); op && op->isAssignmentOp()) {
    evaluate(op);
    return place(op->getLHS());
  }
  made.unknown = true;
  return made;
}

Samples Lockstep::read(const Place &from, QualType type) {
  if (from.unknown) return uniform({});
  Samples samples;
  if (!from.memory) {
    samples = readVariable(from.variable);
  } else {
    samples = uniform({});
    for (size_t t = 0; t < count; ++t) {
      if (!active[t] || from.pointers[t].kind != Sample::Pointer) continue;
      Memory &memory = memories[from.pointers[t].storage];
      if (memory.variable) {
        auto known = variables.find(memory.variable);
        if (known == variables.end()) known = variables.emplace(memory.variable, readVariable(memory.variable)).first;
        if (from.pointers[t].integer == 0) samples[t] = known->second[t];
        continue;
      }
      int64_t cell = from.pointers[t].integer * (memory.perThread ? int64_t(count) : 1) + (memory.perThread ? int64_t(t) : 0);
      auto found = memory.cells.find(cell);
      if (found != memory.cells.end()) samples[t] = found->second;
      else if (!memory.perThread) stale = true;
      else samples[t] = ownElement(memory, from.pointers[t].integer, t);
    }
  }
  for (int field : from.fields)
    for (Sample &sample : samples)
      sample = sample.kind == Sample::Record && size_t(field) < sample.fields.size() ? Sample(sample.fields[field]) : Sample();
  return samples;
}

Samples Lockstep::loadedValue(const std::string &key) {
  auto [found, fresh] = loaded.try_emplace(key);
  if (fresh) {
    found->second.resize(count);
    for (double &value : found->second) value = random();
  }
  Samples samples(count);
  for (size_t t = 0; t < count; ++t) samples[t] = Sample::of(found->second[t]).from(true);
  return samples;
}

/// Reads an lvalue; memory that is not known answers by the key of the load.
Samples Lockstep::load(const Expr *expr) {
  if (const auto *choice = dyn_cast<ConditionalOperator>(expr->IgnoreParens()))
    return branch(choice->getCond(), [&] { return load(choice->getTrueExpr()); }, [&] { return load(choice->getFalseExpr()); });
  Place from = place(expr);
  Samples samples = read(from, expr->getType());
  if (!memoryKey || !from.memory || std::any_of(from.pointers.begin(), from.pointers.end(), [](const Sample &s) { return s.known(); })) return samples;
  std::string key = memoryKey(expr->IgnoreParens());
  QualType type = expr->getType().getCanonicalType();
  if (type->isRealFloatingType()) return loadedValue(key);
  if (const auto *record = type->getAsCXXRecordDecl(); record && from.fields.empty()) {
    int index = 0;
    for (Sample &sample : samples) sample.kind = Sample::Record;
    for (const FieldDecl *field : record->fields()) {
      Samples part = field->getType()->isRealFloatingType() ? loadedValue(key + "." + std::to_string(index)) : uniform({});
      for (size_t t = 0; t < count; ++t) samples[t].fields.push_back(part[t]);
      ++index;
    }
  }
  return samples;
}

void Lockstep::write(const Place &to, const Samples &values, QualType type) {
  if (to.unknown) { globalWrite = true; return; }
  auto store = [&](Sample &target, const Sample &value) {
    Sample *at = &target;
    for (int field : to.fields) {
      at->kind = Sample::Record;
      if (at->fields.size() <= size_t(field)) at->fields.resize(field + 1);
      at = &at->fields[field];
    }
    *at = wrapped(value, type, context);
  };
  if (!to.memory) {
    Samples now = readVariable(to.variable);
    for (size_t t = 0; t < count; ++t)
      if (active[t]) store(now[t], values[t]);
    variables[to.variable] = std::move(now);
    written.insert(to.variable);
    return;
  }
  for (size_t t = 0; t < count; ++t) {
    if (!active[t]) continue;
    if (to.pointers[t].kind != Sample::Pointer) { globalWrite = true; continue; }
    Memory &memory = memories[to.pointers[t].storage];
    if (memory.variable) {
      if (to.pointers[t].integer != 0) { globalWrite = true; continue; } // beside the variable
      if (!variables.count(memory.variable)) variables.emplace(memory.variable, readVariable(memory.variable));
      store(variables[memory.variable][t], values[t]);
      written.insert(memory.variable);
      continue;
    }
    memory.stored.insert(to.pointers[t].integer);
    int64_t cell = to.pointers[t].integer * (memory.perThread ? int64_t(count) : 1) + (memory.perThread ? int64_t(t) : 0);
    store(memory.cells[cell], values[t]);
  }
  for (auto &[decl, id] : storageOf)
    for (size_t t = 0; t < count; ++t)
      if (active[t] && to.pointers[t].kind == Sample::Pointer && to.pointers[t].storage == id) { written.insert(decl); break; }
}

namespace {

/// No finite number lies beyond it.
bool limits(const Sample &sample) { return sample.kind == Sample::Real && std::fabs(sample.real) >= std::numeric_limits<float>::max(); }

} // namespace

bool Lockstep::tested(const Expr *site, const Sample &a, const Sample &b, bool equality) {
  if (!a.data && !b.data) return false;
  if ((!a.data && limits(a)) || (!b.data && limits(b))) return false;
  const Sample &sample = a.data ? a : b, &other = a.data ? b : a;
  std::optional<double> bound;
  if (!other.data) bound = other.number();
  bool equal = sample.number() == other.number(), held = equality ? equal : sample.number() > other.number();
  if (equality || !equal) answers[{site, bound}] |= held ? 1 : 2;
  return true;
}

bool Lockstep::truth(const Expr *site, const Sample &sample) {
  bool held = sample.number() != 0;
  site = site->IgnoreParenImpCasts();
  const auto *binary = dyn_cast<BinaryOperator>(site);
  const auto *unary = dyn_cast<UnaryOperator>(site);
  bool noted = (binary && (binary->isComparisonOp() || binary->isLogicalOp())) || (unary && unary->getOpcode() == UO_LNot); // where it was made
  if (sample.data && !noted) answers[{site, 0.0}] |= held ? 1 : 2;
  return held;
}

bool Lockstep::unchanged(const VarDecl *variable) const {
  if (settled) return settled(variable);
  const auto *function = dyn_cast<FunctionDecl>(variable->getParentFunctionOrMethod());
  return variable->getType().isConstQualified() || (function && !TextOrder(function->getBody()).changedIn(variable, 0, std::numeric_limits<unsigned>::max()));
}

Samples Lockstep::binary(const BinaryOperator *op) {
  BinaryOperatorKind kind = op->getOpcode();
  if (kind == BO_Comma) { evaluate(op->getLHS()); return evaluate(op->getRHS()); }
  if (kind == BO_LAnd || kind == BO_LOr) {
    Samples left = evaluate(op->getLHS());
    Mask all = active, narrowed = active;
    for (size_t t = 0; t < count; ++t)
      if (active[t] && left[t].known() && truth(op->getLHS(), left[t]) != (kind == BO_LAnd)) narrowed[t] = 0;
    active = narrowed;
    Samples right = any(active) ? evaluate(op->getRHS()) : uniform({});
    active = all;
    for (size_t t = 0; t < count; ++t) {
      bool decides = left[t].known() && (left[t].number() != 0) != (kind == BO_LAnd);
      bool rightDecides = narrowed[t] && right[t].known() && truth(op->getRHS(), right[t]) != (kind == BO_LAnd);
      bool inputs = left[t].data || right[t].data;
      if (decides || rightDecides) left[t] = Sample::of(int64_t(kind == BO_LOr)).from(inputs);
      else if (left[t].known() && right[t].known()) left[t] = Sample::of(int64_t(kind == BO_LAnd)).from(inputs);
      else left[t] = {};
    }
    return left;
  }
  if (kind == BO_Assign) {
    Place to = place(op->getLHS());
    Samples values = to.memory || exchangeIn(op->getRHS()) ? handed(op->getRHS()) : evaluate(op->getRHS());
    write(to, values, op->getLHS()->getType());
    return values;
  }
  if (op->isCompoundAssignmentOp()) {
    Place to = place(op->getLHS());
    Samples right = evaluate(op->getRHS());
    bool shared = to.memory;
    Samples left = shared ? read(to, op->getLHS()->getType()) : handed(op->getLHS());
    BinaryOperatorKind base = BinaryOperator::getOpForCompoundAssignment(kind);
    for (size_t t = 0; t < count; ++t) {
      if (left[t].kind == Sample::Pointer && right[t].kind == Sample::Integer && !right[t].data && (base == BO_Add || base == BO_Sub))
        left[t].integer += (base == BO_Add ? 1 : -1) * right[t].integer * innermostCount(op->getLHS()->getType()->getPointeeType(), context);
      else
        left[t] = arithmetic(base, left[t], right[t]);
    }
    write(to, left, op->getLHS()->getType());
    return left;
  }
  Samples left = evaluate(op->getLHS()), right = evaluate(op->getRHS());
  for (size_t t = 0; t < count; ++t) {
    if (left[t].kind == Sample::Pointer && right[t].kind == Sample::Integer && !right[t].data && (kind == BO_Add || kind == BO_Sub))
      left[t].integer += (kind == BO_Add ? 1 : -1) * right[t].integer * innermostCount(op->getLHS()->getType()->getPointeeType(), context);
    else if (right[t].kind == Sample::Pointer && left[t].kind == Sample::Integer && !left[t].data && kind == BO_Add) {
      int64_t offset = left[t].integer * innermostCount(op->getRHS()->getType()->getPointeeType(), context);
      left[t] = right[t];
      left[t].integer += offset;
    } else {
      Sample made = wrapped(arithmetic(kind, left[t], right[t]), op->getType(), context);
      if (op->isComparisonOp() && active[t] && made.known()) made.data = tested(op, left[t], right[t], op->isEqualityOp());
      left[t] = made;
    }
  }
  return left;
}

Samples Lockstep::unary(const UnaryOperator *op) {
  const Expr *sub = op->getSubExpr();
  if (op->getOpcode() == UO_AddrOf) {
    return address(place(sub));
  }
  if (op->getOpcode() == UO_Deref) return read(place(op), op->getType());
  if (op->isIncrementDecrementOp()) {
    Place at = place(sub);
    Samples before = read(at, sub->getType()), after = before;
    for (Sample &sample : after) {
      if (sample.kind == Sample::Real) sample.real += op->isIncrementOp() ? 1 : -1;
      else if (sample.known()) sample.integer += op->isIncrementOp() ? 1 : -1;
    }
    write(at, after, sub->getType());
    return op->isPostfix() ? before : after;
  }
  Samples values = evaluate(sub);
  for (size_t t = 0; t < count; ++t) {
    Sample &sample = values[t];
    if (!sample.known() || sample.kind == Sample::Pointer || sample.kind == Sample::Record) { sample = {}; continue; }
    switch (op->getOpcode()) {
    case UO_Plus: break;
    case UO_Minus: sample.kind == Sample::Real ? void(sample.real = -sample.real) : void(sample.integer = -sample.integer); break;
    case UO_Not: sample.integer = ~sample.integer; break;
    case UO_LNot: sample = Sample::of(int64_t(active[t] ? !truth(sub, sample) : sample.number() == 0)).from(sample.data); break;
    default: sample = {};
    }
    sample = wrapped(sample, op->getType(), context);
  }
  return values;
}

Samples Lockstep::evaluate(const Expr *expr) {
  if (!reason.empty()) return uniform({});
  if (auto known = constant(expr)) return uniform(*known);
  if (auto index = builtinIndex(expr)) return *index;
  if (const auto *paren = dyn_cast<ParenExpr>(expr)) return evaluate(paren->getSubExpr());
  if (const auto *cleanups = dyn_cast<ExprWithCleanups>(expr)) return evaluate(cleanups->getSubExpr());
  if (const auto *temporary = dyn_cast<MaterializeTemporaryExpr>(expr)) return evaluate(temporary->getSubExpr());
  if (const auto *substituted = dyn_cast<SubstNonTypeTemplateParmExpr>(expr)) return evaluate(substituted->getReplacement());
  if (const auto *cast = dyn_cast<CastExpr>(expr)) {
    switch (cast->getCastKind()) {
    case CK_LValueToRValue: return load(cast->getSubExpr());
    case CK_ArrayToPointerDecay: return place(cast->getSubExpr()).pointers.empty() ? uniform({}) : place(cast->getSubExpr()).pointers;
    case CK_IntegralCast: case CK_FloatingCast: case CK_IntegralToFloating: case CK_FloatingToIntegral: case CK_IntegralToBoolean:
    case CK_FloatingToBoolean: {
      Samples values = evaluate(cast->getSubExpr());
      for (Sample &sample : values) sample = wrapped(sample, expr->getType(), context);
      return values;
    }
    default: return expr->isGLValue() ? read(place(expr), expr->getType()) : evaluate(cast->getSubExpr());
    }
  }
  if (const auto *conditional = dyn_cast<ConditionalOperator>(expr))
    return branch(conditional->getCond(), [&] { return evaluate(conditional->getTrueExpr()); }, [&] { return evaluate(conditional->getFalseExpr()); });
  if (const auto *op = dyn_cast<BinaryOperator>(expr)) return binary(op);
  if (const auto *op = dyn_cast<UnaryOperator>(expr)) return unary(op);
  if (const auto *called = dyn_cast<CallExpr>(expr)) return call(called);
  if (const auto *list = dyn_cast<InitListExpr>(expr); list && expr->getType()->isRecordType()) {
    Samples values(count);
    for (Sample &sample : values) sample.kind = Sample::Record;
    for (const Expr *init : list->inits()) {
      Samples field = evaluate(init);
      for (size_t t = 0; t < count; ++t) values[t].fields.push_back(field[t]);
    }
    return values;
  }
  if (const auto *constructed = dyn_cast<CXXConstructExpr>(expr)) {
    if (constructed->getNumArgs() == 1 && constructed->getConstructor()->isCopyOrMoveConstructor()) {
      const Expr *from = constructed->getArg(0);
      return from->isGLValue() && !isa<MaterializeTemporaryExpr>(from) ? load(from) : evaluate(from);
    }
    return uniform({});
  }
  if (expr->isGLValue()) return read(place(expr), expr->getType());
  return uniform({});
}

} // namespace klineage
