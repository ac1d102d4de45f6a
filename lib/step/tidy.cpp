#include "step/tidy.h"
#include "step/index_text.h"

namespace klineage {
namespace {

using namespace clang;

bool changesNothing(const FunctionDecl *callee) {
  if (!callee || callee->getReturnType()->isVoidType()) return false;
  const IdentifierInfo *id = callee->getIdentifier();
  llvm::StringRef name = id ? id->getName() : "";
  for (const char *word : {"shfl", "sync", "atomic", "ballot", "activemask", "any", "all", "clock", "vote", "match", "reduce", "mma", "printf"})
    if (name.contains(word)) return false;
  for (const ParmVarDecl *parameter : callee->parameters()) {
    QualType type = parameter->getType();
    if ((type->isPointerType() || type->isReferenceType()) && !type->getPointeeType().isConstQualified()) return false;
  }
  return true;
}

bool isTrivialCopy(const CXXOperatorCallExpr *assignment) {
  auto *method = dyn_cast_or_null<CXXMethodDecl>(assignment->getDirectCallee());
  return method && method->isTrivial();
}

/// Where a local is named other than as the target of a plain assignment statement.
struct UseFinder : RecursiveASTVisitor<UseFinder> {
  const KernelModel *kernel;
  std::map<const VarDecl *, bool> read;
  std::map<const VarDecl *, std::vector<const Stmt *>> stores;

  /// `stage = 1 - stage;` as a statement reads the variable only to write it.
  bool updatesItself(const Stmt *ref, const VarDecl *decl) const {
    if (!decl->getType()->isScalarType()) return false;
    const Stmt *at = ref;
    while (kernel->parent(at) && isa<Expr>(kernel->parent(at))) at = kernel->parent(at);
    auto *op = dyn_cast<BinaryOperator>(at);
    auto *target = op && op->getOpcode() == BO_Assign ? dyn_cast<DeclRefExpr>(op->getLHS()->IgnoreParenImpCasts()) : nullptr;
    return target && target->getDecl() == decl && isPure(op->getRHS()) && isa_and_nonnull<CompoundStmt>(kernel->parent(op));
  }

  bool VisitDeclRefExpr(DeclRefExpr *ref) {
    auto *decl = dyn_cast<VarDecl>(ref->getDecl());
    if (!decl || !decl->isLocalVarDecl()) return true;
    const Stmt *at = ref;
    const Stmt *up = kernel->parent(at);
    auto isComponent = [&](const Stmt *stmt) { return isa<MemberExpr>(stmt) && !cast<MemberExpr>(stmt)->isArrow() && decl->getType()->isRecordType(); };
    while (up && (isa<ParenExpr>(up) || isComponent(up) || (isa<ImplicitCastExpr>(up) && cast<ImplicitCastExpr>(up)->getCastKind() == CK_ArrayToPointerDecay) ||
                  (isa<ArraySubscriptExpr>(up) && cast<ArraySubscriptExpr>(up)->getBase() == at && decl->getType()->isArrayType())))
      at = up, up = kernel->parent(up);
    auto *op = dyn_cast_or_null<BinaryOperator>(up);
    // A vector or another plain structure is assigned by its operator.
    auto *whole = dyn_cast_or_null<CXXOperatorCallExpr>(up);
    if (whole && (whole->getOperator() != OO_Equal || whole->getNumArgs() != 2 || whole->getArg(0) != at || !isTrivialCopy(whole))) whole = nullptr;
    const Stmt *stored = up, *outer = op || whole ? kernel->parent(up) : nullptr;
    if (auto *cleanups = dyn_cast_or_null<ExprWithCleanups>(outer)) stored = cleanups, outer = kernel->parent(cleanups);
    bool statement = outer && !isa<Expr>(outer) && !isa<DeclStmt>(outer) && !isa<ReturnStmt>(outer);
    auto *loop = dyn_cast_or_null<ForStmt>(outer);
    if (loop && (loop->getInc() == up || loop->getInit() == up)) statement = false;
    if (whole && statement && isPure(whole->getArg(1))) stores[decl].push_back(stored);
    else if (op && op->isAssignmentOp() && op->getLHS() == at && statement && isPure(op->getRHS())) stores[decl].push_back(op);
    else if (!updatesItself(ref, decl)) read[decl] = true;
    return true;
  }
};

struct Statements : RecursiveASTVisitor<Statements> {
  std::vector<const DeclStmt *> declarations;
  std::vector<const ForStmt *> loops;
  std::vector<const IfStmt *> branches;
  std::vector<const CompoundStmt *> blocks;
  bool VisitDeclStmt(DeclStmt *stmt) { return declarations.push_back(stmt), true; }
  bool VisitForStmt(ForStmt *stmt) { return loops.push_back(stmt), true; }
  bool VisitIfStmt(IfStmt *stmt) { return branches.push_back(stmt), true; }
  bool VisitCompoundStmt(CompoundStmt *stmt) { return blocks.push_back(stmt), true; }
};

bool isEmpty(const Stmt *stmt) {
  if (!stmt || isa<NullStmt>(stmt)) return true;
  auto *block = dyn_cast<CompoundStmt>(stmt);
  return block && std::all_of(block->body_begin(), block->body_end(), [](const Stmt *each) { return isEmpty(each); });
}

bool inside(const Edit &inner, const Edit &outer) {
  return inner.file == outer.file && inner.offset >= outer.offset && inner.offset + inner.length <= outer.offset + outer.length;
}

/// Adds an edit unless another covers it; drops those that it covers.
void addOutermost(Edits &edits, Edit edit) {
  for (const Edit &each : edits)
    if (inside(edit, each)) return;
  std::erase_if(edits, [&](const Edit &each) { return inside(each, edit); });
  edits.push_back(std::move(edit));
}

} // namespace

bool isPure(const Stmt *stmt) {
  struct Finder : RecursiveASTVisitor<Finder> {
    bool pure = true;
    bool VisitBinaryOperator(BinaryOperator *op) { return pure &= !op->isAssignmentOp(); }
    bool VisitUnaryOperator(UnaryOperator *op) { return pure &= !op->isIncrementDecrementOp(); }
    bool VisitCallExpr(CallExpr *call) { return pure &= changesNothing(call->getDirectCallee()); }
    bool VisitGCCAsmStmt(GCCAsmStmt *) { return pure = false; }
    bool VisitReturnStmt(ReturnStmt *) { return pure = false; }
  } finder;
  finder.TraverseStmt(const_cast<Stmt *>(stmt));
  return finder.pure;
}

Result<Edit> removal(const Unit &unit, const Stmt *stmt) {
  auto place = unit.place(stmt);
  if (!place) return place.error();
  const std::string &text = unit.sources().files.at(place->file);
  unsigned begin = place->offset, end = place->offset + place->length;
  unsigned after = end;
  while (after < text.size() && std::isspace(static_cast<unsigned char>(text[after]))) ++after;
  if (end > begin && text[end - 1] != '}' && text[end - 1] != ';' && after < text.size() && text[after] == ';') end = after + 1;
  if (size_t line = text.rfind('\n', begin); line != std::string::npos && text.find_first_not_of(" \t", line + 1) >= begin) {
    size_t next = text.find_first_not_of(" \t", end);
    if (next != std::string::npos && text[next] == '\n') end = next + 1;
  }
  // Whole-line comments right above spoke of what goes.
  for (;;) {
    size_t lineBegin = text.rfind('\n', begin ? begin - 1 : 0);
    if (lineBegin == std::string::npos || lineBegin == 0) break;
    if (text.find_first_not_of(" \t", lineBegin + 1) < begin) break;
    size_t above = text.rfind('\n', lineBegin - 1);
    size_t first = text.find_first_not_of(" \t", above == std::string::npos ? 0 : above + 1);
    if (first == std::string::npos || first >= lineBegin || text.compare(first, 2, "//") != 0) break;
    begin = first;
  }
  // The body of a loop or branch without braces must stay a statement.
  std::string rest;
  auto parents = unit.ast(Side::Device).getParents(*stmt);
  while (parents.size() == 1 && parents[0].get<AttributedStmt>()) parents = unit.ast(Side::Device).getParents(parents[0]);
  if (parents.size() == 1 && !parents[0].get<CompoundStmt>()) rest = ";";
  return Edit{place->file, begin, end - begin, rest};
}

Result<Edit> removal(const KernelModel &kernel, const VarDecl *decl) {
  const DeclStmt *stmt = declarationOf(kernel, decl);
  if (!stmt) return refusal("the declaration of " + decl->getNameAsString() + " is not in this kernel");
  if (stmt->isSingleDecl()) return removal(*kernel.unit, stmt);
  std::vector<const Decl *> all(stmt->decl_begin(), stmt->decl_end());
  size_t at = std::find(all.begin(), all.end(), decl) - all.begin();
  auto from = [&](const Decl *each) { return kernel.unit->place(SourceRange(each->getLocation(), each->getEndLoc())); };
  auto own = from(decl), other = from(all[at == 0 ? 1 : at - 1]);
  if (!own) return own.error();
  if (!other) return other.error();
  if (at == 0) return Edit{own->file, own->offset, other->offset - own->offset, ""};
  unsigned begin = other->offset + other->length;
  return Edit{own->file, begin, own->offset + own->length - begin, ""};
}

Edits dropDeadCode(const KernelModel &kernel) {
  Edits edits;
  const Stmt *body = kernel.function->getBody();
  UseFinder uses;
  uses.kernel = &kernel;
  uses.TraverseStmt(const_cast<Stmt *>(body));
  Statements all;
  all.TraverseStmt(const_cast<Stmt *>(body));
  auto take = [&](Result<Edit> edit) {
    if (edit) addOutermost(edits, std::move(*edit));
    return bool(edit);
  };
  for (const ForStmt *loop : all.loops)
    if (const Loop *known = kernel.loopFor(loop); known && isEmpty(loop->getBody()) && isPure(loop->getCond())) {
      if (!take(removal(*kernel.unit, loop)) || !known->pragmaRange.isValid()) continue;
      if (auto pragma = kernel.unit->place(known->pragmaRange)) edits.push_back({pragma->file, pragma->offset, pragma->length, ""});
    }
  for (const IfStmt *branch : all.branches)
    if (isEmpty(branch->getThen()) && isEmpty(branch->getElse()) && isPure(branch->getCond())) take(removal(*kernel.unit, branch));
  for (const CompoundStmt *block : all.blocks)
    if (isEmpty(block) && isa_and_nonnull<CompoundStmt>(kernel.parent(block))) take(removal(*kernel.unit, block));
  if (!edits.empty()) return edits;
  for (const DeclStmt *stmt : all.declarations) {
    if (isa_and_nonnull<ForStmt>(kernel.parent(stmt))) continue;
    for (const Decl *each : stmt->decls()) {
      auto *decl = dyn_cast<VarDecl>(each);
      if (!decl || uses.read.count(decl) || decl->getType()->isReferenceType()) continue;
      if (decl->getInit() && !isPure(decl->getInit())) continue;
      if (auto *record = decl->getType()->getAsCXXRecordDecl(); record && !record->hasTrivialDestructor()) continue;
      for (const Stmt *store : uses.stores[decl]) take(removal(*kernel.unit, store));
      take(removal(kernel, decl));
      return edits; // One at a time: neighbours of one declaration share commas.
    }
  }
  return edits;
}

Edits dropUselessBarriers(const KernelModel &kernel) {
  std::set<const ValueDecl *> written, read;
  for (const Access &access : kernel.accesses) {
    if (access.space == Space::Unknown) return {};
    if (access.space != Space::Global) continue;
    if (access.kind == Access::Atomic) return {};
    if (access.kind != Access::Read) written.insert(access.buffer);
    if (access.kind != Access::Write) read.insert(access.buffer);
  }
  for (const ValueDecl *buffer : written)
    if (read.count(buffer)) return {};
  std::vector<const Barrier *> alive;
  for (const Barrier &barrier : kernel.barriers) {
    if (barrier.kind == Barrier::AsyncWait) return {};
    if (barrier.kind != Barrier::Warp) alive.push_back(&barrier);
  }
  auto within = [](const std::vector<const Loop *> &loops, const Loop *loop) {
    return std::find(loops.begin(), loops.end(), loop) != loops.end();
  };
  // Accesses that may come right before (or right after) a barrier with no other barrier between, also around the back edges.
  auto neighbours = [&](const Barrier &barrier, bool before) {
    std::set<const Access *> found;
    auto collect = [&](unsigned low, unsigned high, const Loop *loop) {
      for (const Access &access : kernel.accesses)
        if (access.space == Space::Shared && access.order > low && access.order < high && (!loop || within(access.loops, loop))) found.insert(&access);
    };
    unsigned low = 0, high = ~0u;
    for (const Barrier *other : alive) {
      if (other->order < barrier.order) low = std::max(low, other->order);
      if (other->order > barrier.order) high = std::min(high, other->order);
    }
    if (before) collect(low, barrier.order, nullptr);
    else collect(barrier.order, high, nullptr);
    for (const Loop *loop : barrier.loops) {
      unsigned lastInLoop = barrier.order, firstInLoop = barrier.order;
      for (const Barrier *other : alive)
        if (within(other->loops, loop)) lastInLoop = std::max(lastInLoop, other->order), firstInLoop = std::min(firstInLoop, other->order);
      if (before && firstInLoop == barrier.order) collect(lastInLoop == barrier.order ? 0 : lastInLoop, ~0u, loop);
      if (!before && lastInLoop == barrier.order) collect(0, firstInLoop == barrier.order ? ~0u : firstInLoop, loop);
    }
    return found;
  };
  Edits edits;
  for (bool again = true; again;) {
    again = false;
    for (const Barrier *barrier : alive) {
      bool useful = false;
      auto after = neighbours(*barrier, false);
      for (const Access *first : neighbours(*barrier, true))
        for (const Access *second : after)
          useful |= first->buffer == second->buffer && (first->kind != Access::Read || second->kind != Access::Read);
      if (useful) continue;
      auto edit = removal(*kernel.unit, barrier->call);
      if (!edit) continue;
      edits.push_back(*edit);
      std::erase(alive, barrier);
      again = true;
      break;
    }
  }
  return edits;
}

Status tidy(Draft &draft, const KernelModel &original) {
  const std::set<std::string> fusedAlready = fusibleLoops(original);
  bool hadBarriers = !original.barriers.empty();
  for (int round = 0; round < 40; ++round) {
    const KernelModel *kernel = draft.kernel(original);
    if (!kernel) return ourFault("the kernel " + kernelName(original) + " is gone after a rewrite");
    Edits edits = dropDeadCode(*kernel);
    if (edits.empty()) edits = dropUselessBarriers(*kernel);
    if (edits.empty()) edits = fuseTileLoops(*kernel, fusedAlready);
    if (edits.empty()) edits = dropImpliedGuards(*kernel);
    if (edits.empty() && hadBarriers && kernel->barriers.empty()) edits = returnEarly(*kernel);
    if (edits.empty()) return Done{};
    if (Status applied = draft.apply(edits); !applied) return applied;
  }
  return Done{};
}

} // namespace klineage
