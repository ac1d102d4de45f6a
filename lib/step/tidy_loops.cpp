#include "step/remap.h"
#include "step/statements.h"
#include "step/tidy.h"

namespace klineage {
namespace {

using namespace clang;

const Stmt *onlyStatement(const Stmt *body) {
  while (auto *block = dyn_cast<CompoundStmt>(body)) {
    if (block->size() != 1) return nullptr;
    body = block->body_front();
  }
  if (auto *attributed = dyn_cast<AttributedStmt>(body)) return attributed->getSubStmt();
  return body;
}

/// The loop of a tile's steps, with nothing before it but names for integers (`const int k0 = t * 8;`).
const ForStmt *onlyLoop(const KernelModel &kernel, const Stmt *body) {
  auto *block = dyn_cast<CompoundStmt>(body);
  if (!block || block->size() < 2) return dyn_cast_or_null<ForStmt>(onlyStatement(body));
  for (const Stmt *each : block->body()) {
    if (each == block->body_back()) break;
    auto *declares = dyn_cast<DeclStmt>(each);
    if (!declares) return nullptr;
    for (const Decl *decl : declares->decls()) {
      auto *variable = dyn_cast<VarDecl>(decl);
      if (!variable || !isInteger(variable->getType()) || !onlyValueOf(kernel, variable) || !isPure(variable->getInit())) return nullptr;
    }
  }
  const Stmt *last = block->body_back();
  if (auto *attributed = dyn_cast<AttributedStmt>(last)) last = attributed->getSubStmt();
  return dyn_cast<ForStmt>(last);
}

struct TileLoops {
  const Loop *outer = nullptr, *inner = nullptr;
  IndexExpr sum;   ///< What the one loop counts.
  IndexExpr end;
};

std::optional<TileLoops> tileLoopsAt(const KernelModel &kernel, const Loop &outer) {
  const ForStmt *stmt = onlyLoop(kernel, outer.stmt->getBody());
  const Loop *inner = stmt ? kernel.loopFor(stmt) : nullptr;
  if (!inner || !(inner->begin == IndexExpr(0)) || !(inner->step == IndexExpr(1))) return std::nullopt;
  IndexExpr t = IndexExpr::of(loopVariable(outer.variable)), k = IndexExpr::of(loopVariable(inner->variable));
  std::optional<int64_t> tile = inner->end.constant();
  if (!tile) // `k < min(T, n - t)`
    for (const AtomRef &atom : inner->end.atoms())
      if (atom->kind == Atom::Minimum && IndexExpr::of(atom) == inner->end) tile = atom->left.constant() ? atom->left.constant() : atom->right.constant();
  if (!tile || *tile < 2 || !(outer.begin == IndexExpr(0))) return std::nullopt;
  TileLoops loops{&outer, inner, {}, {}};
  if (outer.step == IndexExpr(*tile)) {
    loops.sum = t + k;
    loops.end = outer.end;
    if (loops.end.constantTerm() != 0 && !loops.end.constant()) return std::nullopt; // `t <= n - T`: whole tiles only
  } else if (outer.step == IndexExpr(1)) {
    loops.sum = IndexExpr(*tile) * t + k;
    loops.end = IndexExpr(*tile) * outer.end;
    // (n + T - 1) / T tiles cover n; the reads past it are guarded, or never made.
    for (const AtomRef &atom : outer.end.atoms())
      if (atom->kind == Atom::Quotient && IndexExpr::of(atom) == outer.end && atom->right == IndexExpr(*tile))
        if (IndexExpr covered = atom->left - IndexExpr(*tile - 1); covered.constantTerm() == 0) loops.end = covered;
  } else {
    return std::nullopt;
  }
  return loops;
}

std::optional<Edit> fused(const KernelModel &kernel, const TileLoops &loops) {
  const ForStmt *inner = loops.inner->stmt, *outer = loops.outer->stmt;
  PlaceInKernel before(kernel, outer);
  auto end = before.print(loops.end);
  if (!end) return std::nullopt;
  // Keep the author's spelling of the bound where the value is the same.
  if (auto *condition = dyn_cast<BinaryOperator>(outer->getCond()); condition && condition->getOpcode() == BO_LT)
    if (loops.outer->end == loops.end) end = Piece{kernel.unit->text(condition->getRHS()->IgnoreImplicit()), precedenceOf(condition->getRHS())};
  std::string name = loops.inner->variable->getNameAsString();
  IndexExpr k = IndexExpr::of(loopVariable(loops.inner->variable));
  PlaceInKernel place(kernel, inner->getBody());
  Remap remap(kernel, place, {{loops.sum, k, Piece{name}}}, {loopVariable(loops.outer->variable), loopVariable(loops.inner->variable)});
  remap.stable = [](const VarDecl *) { return true; }; // the same thread, at the same moment
  forEach(inner->getBody(), [&](const Stmt *stmt) {
    if (auto *declares = dyn_cast<DeclStmt>(stmt))
      for (const Decl *each : declares->decls())
        if (auto *variable = dyn_cast<VarDecl>(each)) remap.kept.insert(variable);
  });
  std::map<const Stmt *, std::string> replaced;
  for (const Expr *expr : outermostExpressions(inner->getBody())) {
    if (!remap.dependsOnWriter(expr)) continue;
    auto piece = remap.print(expr);
    if (!piece) return std::nullopt;
    replaced[expr] = piece->text;
  }
  auto whole = kernel.unit->place(outer);
  if (!whole) return std::nullopt;
  std::string type = loops.inner->variable->getType().getUnqualifiedType().getAsString();
  std::string text = "for (" + type + " " + name + " = 0; " + name + " < " + end->within(Piece::Shift) + "; ++" + name + ") " +
                     kernel.unit->textWith(inner->getBody(), replaced);
  if (!isa<CompoundStmt>(inner->getBody())) text += ";";
  unsigned length = whole->length;
  const std::string &source = kernel.unit->sources().files.at(whole->file);
  if (!isa<CompoundStmt>(inner->getBody()) && !isa<CompoundStmt>(outer->getBody()) && source[whole->offset + length] == ';') ++length;
  if (loops.inner->pragmaRange.isValid() && !loops.outer->pragmaRange.isValid())
    text = kernel.unit->text(loops.inner->pragmaRange) + "\n" + text;
  return Edit{whole->file, whole->offset, length, text};
}

/// Takes the head of an `if` away; its braces too, unless they are the scope of something.
Edits unwrapped(const Unit &unit, const IfStmt *branch) {
  auto head = unit.place(branch), then = unit.place(branch->getThen());
  if (!head || !then || head->file != then->file) return {};
  auto *block = dyn_cast<CompoundStmt>(branch->getThen());
  bool scope = block && std::any_of(block->body_begin(), block->body_end(), [](const Stmt *each) { return isa<DeclStmt>(each); });
  if (!block || scope) return {{head->file, head->offset, then->offset - head->offset, ""}};
  return {{head->file, head->offset, then->offset + 1 - head->offset, ""}, {head->file, then->offset + then->length - 1, 1, ""}};
}

std::string trimmedNegation(const std::string &text) { return "!(" + text + ")"; }

/// A condition without the parts that are known; empty when all are.
std::optional<std::string> remaining(const KernelModel &kernel, const Expr *condition, const Known &known, bool &dropped) {
  std::string text;
  for (const Conjunct &part : conjunctsOf(kernel, condition)) {
    if (part.positive && known.implies(*part.positive)) {
      dropped = true;
      continue;
    }
    std::string own = kernel.unit->text(part.expr->IgnoreImplicit());
    if (own.empty()) return std::nullopt;
    Piece piece{part.negated ? trimmedNegation(own) : own, part.negated ? Piece::Unary : precedenceOf(part.expr)};
    text += (text.empty() ? "" : " && ") + piece.within(Piece::And);
  }
  return text;
}

} // namespace

std::set<std::string> fusibleLoops(const KernelModel &kernel) {
  std::set<std::string> names;
  for (const auto &loop : kernel.loops)
    if (auto loops = tileLoopsAt(kernel, *loop); loops && fused(kernel, *loops)) names.insert(loop->variable->getNameAsString());
  return names;
}

Edits fuseTileLoops(const KernelModel &kernel, const std::set<std::string> &skip) {
  for (const auto &loop : kernel.loops) {
    if (skip.count(loop->variable->getNameAsString())) continue;
    auto loops = tileLoopsAt(kernel, *loop);
    if (!loops) continue;
    if (auto edit = fused(kernel, *loops)) return {*edit};
  }
  return {};
}

Edits dropImpliedGuards(const KernelModel &kernel) {
  struct Finder : RecursiveASTVisitor<Finder> {
    std::vector<const ConditionalOperator *> choices;
    std::vector<const IfStmt *> branches;
    bool VisitConditionalOperator(ConditionalOperator *choice) { return choices.push_back(choice), true; }
    bool VisitIfStmt(IfStmt *branch) { return branches.push_back(branch), true; }
  } finder;
  finder.TraverseStmt(const_cast<Stmt *>(kernel.function->getBody()));
  auto knownAt = [&](const Stmt *stmt) {
    std::vector<const Loop *> loops;
    for (const Loop *loop = kernel.loopOf(stmt); loop; loop = loop->parent) loops.push_back(loop);
    return Known(kernel, kernel.guardsOf(stmt), loops);
  };
  for (const ConditionalOperator *choice : finder.choices) {
    bool dropped = false;
    auto rest = remaining(kernel, choice->getCond(), knownAt(choice), dropped);
    if (!rest || !dropped) continue;
    if (!rest->empty()) {
      auto place = kernel.unit->place(choice->getCond());
      if (place) return {{place->file, place->offset, place->length, *rest}};
      continue;
    }
    const Stmt *whole = choice;
    if (auto *paren = dyn_cast_or_null<ParenExpr>(kernel.parent(choice))) whole = paren;
    auto place = kernel.unit->place(whole);
    const Expr *value = choice->getTrueExpr()->IgnoreImplicit();
    std::string text = kernel.unit->text(value);
    if (place) return {{place->file, place->offset, place->length, Piece{text, precedenceOf(value)}.within(whole == choice ? Piece::Any : Piece::Primary)}};
  }
  for (const IfStmt *branch : finder.branches) {
    if (branch->getElse() || branch->hasInitStorage() || branch->hasVarStorage()) continue;
    bool dropped = false;
    auto rest = remaining(kernel, branch->getCond(), knownAt(branch), dropped);
    if (!rest || !dropped) continue;
    if (!rest->empty()) {
      if (auto place = kernel.unit->place(branch->getCond())) return {{place->file, place->offset, place->length, *rest}};
      continue;
    }
    if (Edits edits = unwrapped(*kernel.unit, branch); !edits.empty()) return edits;
  }
  return {};
}

std::string negatedText(const KernelModel &kernel, const Expr *condition) {
  std::string text;
  for (const Conjunct &part : conjunctsOf(kernel, condition)) {
    auto *op = dyn_cast<BinaryOperator>(part.expr->IgnoreParenImpCasts());
    std::string own;
    if (part.negated) own = Piece{kernel.unit->text(part.expr->IgnoreImplicit()), precedenceOf(part.expr)}.within(Piece::Or);
    else if (op && (op->isRelationalOp() || op->isEqualityOp()) && !op->getLHS()->getType()->isRealFloatingType())
      own = kernel.unit->text(op->getLHS()->IgnoreImplicit()) + " " +
            BinaryOperator::getOpcodeStr(BinaryOperator::negateComparisonOp(op->getOpcode())).str() + " " + kernel.unit->text(op->getRHS()->IgnoreImplicit());
    else own = trimmedNegation(kernel.unit->text(part.expr->IgnoreImplicit()));
    text += (text.empty() ? "" : " || ") + own;
  }
  return text;
}

Edits returnEarly(const KernelModel &kernel) {
  auto *body = dyn_cast<CompoundStmt>(kernel.function->getBody());
  if (!body || body->size() < 2) return {};
  auto *last = dyn_cast<IfStmt>(body->body_back());
  if (!last || last->getElse() || last->hasVarStorage() || !isPure(last->getCond())) return {};
  std::vector<const VarDecl *> named = localsNamedIn(last->getCond());
  for (const VarDecl *local : named)
    if (!onlyValueOf(kernel, local)) return {};
  // Nothing before it may be seen from outside the thread.
  for (const Access &access : kernel.accesses)
    if (access.kind != Access::Read && access.space != Space::Local &&
        std::none_of(access.guards.begin(), access.guards.end(), [&](const Guard &guard) { return guard.condition == last->getCond(); }))
      return {};
  bool reads = false;
  const Stmt *first = nullptr; // the statement before which the threads leave
  std::set<const VarDecl *> needed(named.begin(), named.end());
  for (const Stmt *stmt : body->body()) {
    if (stmt == last) break;
    auto *declares = dyn_cast<DeclStmt>(stmt);
    if (!first && needed.empty()) first = stmt;
    if (declares)
      for (const Decl *each : declares->decls())
        if (auto *decl = dyn_cast<VarDecl>(each)) needed.erase(decl);
    reads |= isa<ForStmt>(stmt);
  }
  if (!first || !needed.empty() || !reads) return {};
  auto at = kernel.unit->place(first);
  Edits edits = unwrapped(*kernel.unit, last);
  if (!at || edits.empty()) return {};
  edits.push_back({at->file, at->offset, 0, "if (" + negatedText(kernel, last->getCond()) + ") return;\n"});
  return edits;
}

} // namespace klineage
