// KernelModel: questions that steps ask of a lifted kernel.
#include "model/lifter.h"

namespace klineage {

using namespace clang;

std::vector<KernelModel> liftKernels(const Unit &unit) {
  std::vector<KernelModel> models;
  for (const FunctionDecl *kernel : unit.kernels()) {
    const FunctionDecl *definition = nullptr;
    if (!kernel->hasBody(definition) || definition->isDependentContext()) continue;
    models.emplace_back();
    Lifter(&unit, unit.ast(Side::Device), models.back()).run(definition);
  }
  return models;
}

IndexExpr KernelModel::lift(const Expr *expr) const { return state->values->lift(expr, state->values->frameOf(expr)); }

IndexExpr KernelModel::lift(const Expr *expr, const std::vector<const CallExpr *> &calls) const {
  const Frame *any = state->values->frameOf(expr), *home = any;
  const Frame *frame = state->values->frameOf(function->getBody());
  for (size_t i = 0; frame; ++i) {
    if (any && frame->function == any->function) home = frame; // the innermost, when a helper is on the way twice
    if (i == calls.size()) break;
    frame = state->values->enterCall(calls[i], frame);
  }
  return state->values->lift(expr, home);
}

const Stmt *KernelModel::parent(const Stmt *stmt) const { return state->values->parent(stmt); }

const Loop *KernelModel::loopFor(const ForStmt *stmt) const {
  for (const auto &loop : loops)
    if (loop->stmt == stmt) return loop.get();
  return nullptr;
}

const Loop *KernelModel::loopOf(const Stmt *stmt) const {
  const Stmt *child = stmt;
  for (const Stmt *up = parent(stmt); up; child = up, up = parent(up))
    if (auto *loopStmt = dyn_cast<ForStmt>(up); loopStmt && child != loopStmt->getInit())
      if (const Loop *loop = loopFor(loopStmt)) return loop;
  return nullptr;
}

int KernelModel::changesOf(const ValueDecl *variable) const {
  const VariableFacts &facts = state->values->factsOf(variable);
  return facts.escaped ? -1 : int(facts.changes.size());
}

const Buffer *KernelModel::bufferOf(const ValueDecl *decl) const {
  for (const Buffer &buffer : buffers)
    if (buffer.decl == decl) return &buffer;
  return nullptr;
}

std::vector<const Access *> KernelModel::accessesOf(const ValueDecl *buffer) const {
  std::vector<const Access *> found;
  for (const Access &access : accesses)
    if (access.buffer == buffer) found.push_back(&access);
  return found;
}

std::vector<Guard> KernelModel::guardsOf(const Stmt *stmt) const {
  std::vector<Guard> guards;
  const Stmt *at = stmt;
  for (const Frame *f = state->values->frameOf(stmt); f && at; at = f->call, f = f->caller) {
    auto own = localGuards(*state->values, at);
    guards.insert(guards.begin(), own.begin(), own.end());
  }
  return guards;
}

std::vector<Comparison> KernelModel::known(const std::vector<Guard> &guards) const {
  std::vector<Comparison> result;
  for (const Guard &guard : guards) compare(*state->values, guard, state->values->frameOf(guard.condition), result);
  return result;
}

Pointee KernelModel::pointsTo(const Expr *pointer) const {
  const Frame *frame = state->values->frameOf(pointer);
  PointerValue at = bare(pointer)->getType()->isArrayType() ? state->values->object(pointer, frame) : state->values->pointer(pointer, frame);
  return {at.base, at.bytes, at.exact && at.base};
}

std::optional<int64_t> KernelModel::blockSize(unsigned axis) const {
  std::optional<int64_t> agreed;
  for (const Launch &launch : launches) {
    auto size = launch.blockSize(axis);
    if (!size || (agreed && *agreed != *size)) return std::nullopt;
    agreed = size;
  }
  return agreed;
}

std::optional<int64_t> Launch::blockSize(unsigned axis) const {
  return axis < blockShape.size() ? blockShape[axis].constant() : std::nullopt;
}

IndexExpr KernelModel::bound(const IndexExpr &expr) const {
  std::map<std::string, IndexExpr> known;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (auto size = blockSize(axis)) known.emplace(blockDim(axis)->key, *size);
  return known.empty() ? expr : expr.substitute(known);
}

std::optional<std::string> KernelModel::spelled(const IndexExpr &expr, const std::map<std::string, std::string> &names) const {
  return spell(expr, [&](const Atom &atom) -> std::optional<std::string> {
    if (auto it = names.find(atom.key); it != names.end()) return it->second;
    if (atom.kind == Atom::Parameter && atom.key.find('.') != std::string::npos)
      return atom.decl->getNameAsString() + atom.key.substr(atom.key.find('.'));
    if (atom.kind != Atom::Opaque) return std::nullopt;
    if (!atom.expr || !unit) return std::nullopt;
    std::string text = unit->text(atom.expr);
    if (text.empty()) return std::nullopt;
    const Expr *inner = bare(atom.expr);
    bool isSimple = isa<CallExpr>(inner) || isa<ArraySubscriptExpr>(inner) || isa<MemberExpr>(inner) || isa<DeclRefExpr>(inner) || isa<ParenExpr>(inner);
    return isSimple ? text : "(" + text + ")";
  });
}

} // namespace klineage
