#include "step/staging.h"
#include "step/loop_tiling.h"
#include "step/statements.h"

namespace klineage {
namespace {

using namespace clang;

const BinaryOperator *assignmentOf(const KernelModel &kernel, const Expr *target) {
  for (const Stmt *at = kernel.parent(target); at && isa<Expr>(at); at = kernel.parent(at))
    if (auto *op = dyn_cast<BinaryOperator>(at))
      return op->getOpcode() == BO_Assign && op->getLHS()->IgnoreParens() == target->IgnoreParens() ? op : nullptr;
  return nullptr;
}

std::vector<const Loop *> commonPrefix(std::vector<const Loop *> a, const std::vector<const Loop *> &b) {
  unsigned n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  a.resize(n);
  return a;
}

/// The accesses that an expression makes, also through the locals that it names. Each local is followed once: one that is carried around a
/// loop names itself, and following it every time costs a power of the number of its assignments.
void collectAccesses(const KernelModel &kernel, const Expr *expr, std::vector<const Access *> &found, std::set<const VarDecl *> &followed) {
  struct Finder : RecursiveASTVisitor<Finder> {
    std::set<const Stmt *> all;
    std::vector<const VarDecl *> locals;
    bool VisitStmt(Stmt *stmt) { return all.insert(stmt), true; }
    bool VisitDeclRefExpr(DeclRefExpr *ref) {
      if (auto *decl = dyn_cast<VarDecl>(ref->getDecl()); decl && decl->isLocalVarDecl()) locals.push_back(decl);
      return true;
    }
  } finder;
  finder.TraverseStmt(const_cast<Expr *>(expr));
  for (const Access &access : kernel.accesses)
    if (finder.all.count(access.expr) && access.kind == Access::Read) found.push_back(&access);
  for (const VarDecl *local : finder.locals) {
    if (!followed.insert(local).second) continue;
    if (local->getInit()) collectAccesses(kernel, local->getInit(), found, followed);
    for (const Expr *each : assignmentsTo(local, kernel.function->getBody()))
      if (auto *op = dyn_cast<BinaryOperator>(each)) collectAccesses(kernel, op->getRHS(), found, followed);
    for (const Access *write : kernel.accessesOf(local))
      if (write->kind == Access::Write)
        if (const BinaryOperator *op = assignmentOf(kernel, write->expr)) collectAccesses(kernel, op->getRHS(), found, followed);
  }
}

void collectAccesses(const KernelModel &kernel, const Expr *expr, std::vector<const Access *> &found) {
  std::set<const VarDecl *> followed;
  collectAccesses(kernel, expr, found, followed);
}

/// A function of the sources whose result the value is, also through the locals that it names; null when there is none.
const FunctionDecl *helperBehind(const KernelModel &kernel, const Expr *expr, unsigned depth = 0) {
  struct Finder : RecursiveASTVisitor<Finder> {
    const FunctionDecl *found = nullptr;
    bool VisitCallExpr(CallExpr *call) {
      const FunctionDecl *callee = call->getDirectCallee();
      if (callee && callee->hasBody() && !callee->getASTContext().getSourceManager().isInSystemHeader(callee->getLocation()) &&
          callee->hasAttr<CUDADeviceAttr>() && !callee->hasAttr<CUDAHostAttr>())
        found = callee;
      return true;
    }
  } finder;
  finder.TraverseStmt(const_cast<Expr *>(expr));
  for (const VarDecl *local : localsNamedIn(expr)) {
    if (finder.found || depth > 3) break;
    if (local->getInit()) finder.found = helperBehind(kernel, local->getInit(), depth + 1);
    for (const Expr *each : assignmentsTo(local, kernel.function->getBody())) {
      if (finder.found) break;
      if (auto *call = dyn_cast<CXXOperatorCallExpr>(each); call && call->getNumArgs() == 2) finder.found = helperBehind(kernel, call->getArg(1), depth + 1);
      if (auto *op = dyn_cast<BinaryOperator>(each); op && op->getOpcode() == BO_Assign) finder.found = helperBehind(kernel, op->getRHS(), depth + 1);
    }
  }
  return finder.found;
}

/// Follows what a helper returned into the copy. The text says why it cannot be followed; empty when it is.
std::string followHelper(const KernelModel &kernel, const Buffer &buffer, StagedCopy &copy) {
  auto resolved = resolvedValue(kernel, copy.value);
  if (!resolved) return resolved.error().what;
  auto plain = [](QualType type) { return type.getCanonicalType().getUnqualifiedType(); };
  const SourceManager &manager = kernel.unit->manager(Side::Device);
  copy.since = copy.statement->getBeginLoc();
  for (const Alternative &one : *resolved) {
    if (!one.value.expr) continue;
    if (plain(one.value.expr->getType()) != plain(buffer.element) && !isConstant(one.value.expr)) return "the value is converted on the way";
    SourceLocation made = one.value.calls.empty() ? one.value.expr->getBeginLoc() : one.value.calls.front()->getBeginLoc();
    if (manager.isBeforeInTranslationUnit(made, copy.since)) copy.since = made;
  }
  copy.resolved = std::move(*resolved);
  return "";
}

} // namespace

bool isConstant(const Expr *expr) {
  expr = expr->IgnoreParenImpCasts();
  if (isa<FloatingLiteral>(expr) || isa<IntegerLiteral>(expr)) return true;
  if (auto *cast = dyn_cast<ExplicitCastExpr>(expr)) return isConstant(cast->getSubExpr());
  if (auto *call = dyn_cast<CallExpr>(expr))
    return call->getDirectCallee() && call->getNumArgs() == 1 && isConstant(call->getArg(0));
  if (auto *made = dyn_cast<CXXConstructExpr>(expr)) return made->getNumArgs() == 0 || (made->getNumArgs() == 1 && isConstant(made->getArg(0)));
  return false;
}

/// The global elements that a copy brings.
std::vector<const Access *> sourcesOf(const KernelModel &kernel, const StagedCopy &copy) {
  std::vector<const Access *> found;
  if (copy.resolved.empty()) return collectAccesses(kernel, copy.value, found), found;
  for (const Alternative &one : copy.resolved) {
    if (!one.value.expr) continue;
    std::set<const Stmt *> parts;
    forEach(one.value.expr, [&](const Stmt *stmt) { parts.insert(stmt); });
    for (const Access &access : kernel.accesses)
      if (access.kind == Access::Read && parts.count(access.expr) && access.calls == one.value.calls) found.push_back(&access);
  }
  return found;
}

Decline declineAt(const KernelModel &kernel, std::string reason, const Stmt *at, std::string text) {
  return {std::move(reason), kernel.unit->where(at->getBeginLoc()), std::move(text)};
}
Decline declineAt(const KernelModel &kernel, std::string reason, const Decl *at, std::string text) {
  return {std::move(reason), kernel.unit->where(at->getLocation()), std::move(text)};
}

std::variant<Staging, NotStaged> stagingOf(const KernelModel &kernel, const Buffer &buffer) {
  std::string name = buffer.decl->getNameAsString();
  auto no = [&](std::string reason, const Stmt *at, std::string text, bool quiet = false) {
    return NotStaged{at ? declineAt(kernel, std::move(reason), at, std::move(text)) : declineAt(kernel, std::move(reason), buffer.decl, std::move(text)), quiet};
  };
  Staging staging;
  staging.kernel = &kernel;
  staging.buffer = &buffer;
  bool first = true;
  unsigned firstRead = ~0u, lastWrite = 0;
  std::vector<const Access *> writes;
  for (const Access *access : kernel.accessesOf(buffer.decl)) {
    if (access->kind == Access::ReadWrite || access->kind == Access::Atomic)
      return no("unsupported_form", access->expr, name + " is updated in place, so it holds more than copies", true);
    if (access->width != 1) return no("held_by", access->expr, name + " is accessed several elements at a time; take out vector_load or vector_store first");
    if (access->isVolatile) return no("unsupported_form", access->expr, name + " is volatile", true);
    staging.common = first ? access->loops : commonPrefix(staging.common, access->loops);
    first = false;
    if (access->kind == Access::Read) staging.reads.push_back(access), firstRead = std::min(firstRead, access->order);
    else writes.push_back(access), lastWrite = std::max(lastWrite, access->order);
  }
  if (writes.empty() || staging.reads.empty()) return no("unsupported_form", nullptr, name + " is not both written and read here", true);
  for (const Access *write : writes)
    for (const Access *read : staging.reads)
      if (commonPrefix(write->loops, read->loops).size() > staging.common.size())
        return no("held_by", write->expr, name + " is filled both before and in the loop that reads it; take out double_buffer first");
  if (lastWrite > firstRead) return no("held_by", writes.back()->expr, name + " is filled for a later iteration while it is read; take out double_buffer first");
  if (buffer.space == Space::Shared) {
    bool between = std::any_of(kernel.barriers.begin(), kernel.barriers.end(), [&](const Barrier &barrier) {
      return barrier.order > lastWrite && barrier.order < firstRead && (barrier.kind == Barrier::Block || barrier.kind == Barrier::GroupSync);
    });
    if (!between) return no("unsupported_form", writes.back()->expr, "no barrier stands between the writes and the reads of " + name);
  }
  // Guards around everything belong to neither side.
  auto shared = [&](const Guard &guard) {
    return std::all_of(staging.reads.begin(), staging.reads.end(), [&](const Access *read) {
      return std::any_of(read->guards.begin(), read->guards.end(), [&](const Guard &each) { return each.condition == guard.condition && each.negated == guard.negated; });
    });
  };
  std::map<const Expr *, const Access *> fills; // A constant stored in the other branch, by the branch's condition.
  for (const Access *write : writes) {
    const BinaryOperator *assignment = assignmentOf(kernel, write->expr);
    if (!assignment) return no("unsupported_form", write->expr, name + " is filled by something else than an assignment");
    staging.fillStatements.push_back(assignment);
    if (isConstant(assignment->getRHS()) && !write->guards.empty()) {
      fills[write->guards.back().condition] = write;
      continue;
    }
    StagedCopy copy;
    copy.write = write, copy.value = assignment->getRHS(), copy.statement = assignment;
    copy.ownLoops.assign(write->loops.begin() + staging.common.size(), write->loops.end());
    for (const Guard &guard : write->guards)
      if (!shared(guard)) copy.guards.push_back(guard);
    staging.copies.push_back(copy);
  }
  if (staging.copies.empty()) return no("unsupported_form", nullptr, name + " holds constants only", true);
  for (StagedCopy &copy : staging.copies) {
    if (!copy.guards.empty())
      if (auto fill = fills.find(copy.guards.back().condition); fill != fills.end()) {
        copy.otherwise = assignmentOf(kernel, fill->second->expr)->getRHS();
        fills.erase(fill);
      }
    std::vector<const Access *> sources = sourcesOf(kernel, copy);
    auto fromOutside = [](const Access *source) { return source->space == Space::Global || source->space == Space::Constant; };
    if (buffer.space == Space::Shared && std::none_of(sources.begin(), sources.end(), fromOutside))
      if (const FunctionDecl *helper = helperBehind(kernel, copy.value)) {
        std::string why = followHelper(kernel, buffer, copy);
        if (!why.empty()) return no("unsupported_form", copy.statement, name + " is filled with what " + helper->getNameAsString() + " returns: " + why);
        sources = sourcesOf(kernel, copy);
        for (const Access *source : sources)
          if (source->width != 1) return no("held_by", source->expr, name + " is filled several elements at a time by " + helper->getNameAsString() + "; take out vector_load first");
      }
    bool global = false;
    for (const Access *source : sources) {
      if (fromOutside(source)) {
        global = true;
        if (std::find(staging.sources.begin(), staging.sources.end(), source->buffer) == staging.sources.end()) staging.sources.push_back(source->buffer);
      } else if (source->space == Space::Shared) {
        return no("unsupported_form", copy.statement, name + " is filled from other shared memory", true);
      }
      if (!source->exact && source->space == Space::Global)
        return no("opaque_index", source->expr, "which element of " + source->buffer->getNameAsString() + " is copied depends on memory or cannot be told");
    }
    if (!global && buffer.space == Space::Shared) return no("unsupported_form", copy.statement, name + " holds computed values, not copies of global memory", true);
  }
  if (!fills.empty()) return no("unsupported_form", fills.begin()->second->expr, name + " is filled with a constant apart from its copies");
  return staging;
}

} // namespace klineage
