#include "step/loop_tiling.h"
#include "step/remap.h"
#include "step/staging.h"
#include "step/statements.h"
#include "step/tidy.h"

namespace klineage {
namespace {

using namespace clang;

/// What decides whether a thread reaches the loop, and where that is written.
struct Approach {
  const CompoundStmt *block = nullptr;       ///< The statements among which the loop stands.
  const Stmt *loop = nullptr;                ///< The child of `block` that is the loop.
  std::vector<const IfStmt *> returns;       ///< `if (c) return;` before it, in `block`.
  const IfStmt *around = nullptr;            ///< The branch whose body `block` is.
  std::vector<Conjunct> conjuncts;           ///< What holds where the loop runs.
};

bool onlyReturns(const Stmt *stmt) {
  if (auto *block = dyn_cast<CompoundStmt>(stmt)) return block->size() == 1 && onlyReturns(block->body_front());
  return isa<ReturnStmt>(stmt);
}

std::optional<Approach> approachTo(const KernelModel &kernel, const Loop &loop) {
  Approach approach;
  approach.loop = wholeLoop(kernel, loop);
  approach.block = dyn_cast_or_null<CompoundStmt>(kernel.parent(approach.loop));
  if (!approach.block) return std::nullopt;
  const Stmt *function = kernel.function->getBody();
  const CompoundStmt *outer = approach.block;
  if (approach.block != function) {
    approach.around = dyn_cast_or_null<IfStmt>(kernel.parent(approach.block));
    outer = approach.around ? dyn_cast_or_null<CompoundStmt>(kernel.parent(approach.around)) : nullptr;
    if (outer != function || approach.around->getElse() || approach.around->hasVarStorage() || outer->body_back() != approach.around) return std::nullopt;
  }
  for (const Stmt *stmt : outer->body()) {
    if (stmt == approach.loop || stmt == approach.around) break;
    auto *branch = dyn_cast<IfStmt>(stmt);
    if (branch && !branch->getElse() && onlyReturns(branch->getThen())) approach.returns.push_back(branch);
  }
  for (const IfStmt *branch : approach.returns)
    for (const Conjunct &part : conjunctsOf(kernel, branch->getCond(), true)) approach.conjuncts.push_back(part);
  if (approach.around)
    for (const Conjunct &part : conjunctsOf(kernel, approach.around->getCond())) approach.conjuncts.push_back(part);
  // Every guard must be one of these.
  size_t parts = 0;
  for (const Guard &guard : kernel.guardsOf(loop.stmt)) parts += conjunctsOf(kernel, guard.condition, guard.negated).size();
  if (parts != approach.conjuncts.size()) return std::nullopt;
  return approach;
}

std::string textOf(const KernelModel &kernel, const Conjunct &part) {
  if (!part.negated) return Piece{kernel.unit->text(part.expr->IgnoreImplicit()), precedenceOf(part.expr)}.within(Piece::And);
  auto *op = dyn_cast<BinaryOperator>(part.expr->IgnoreParenImpCasts());
  if (op && (op->isRelationalOp() || op->isEqualityOp()))
    return kernel.unit->text(op->getLHS()->IgnoreImplicit()) + " " + BinaryOperator::getOpcodeStr(BinaryOperator::negateComparisonOp(op->getOpcode())).str() +
           " " + kernel.unit->text(op->getRHS()->IgnoreImplicit());
  return "!(" + kernel.unit->text(part.expr->IgnoreImplicit()) + ")";
}

std::string joined(const KernelModel &kernel, const std::vector<Conjunct> &parts) {
  std::string text;
  for (const Conjunct &part : parts) text += (text.empty() ? "" : " && ") + textOf(kernel, part);
  return text;
}

bool isProduct(const Expr *expr) {
  expr = expr->IgnoreParenImpCasts();
  auto *op = dyn_cast<BinaryOperator>(expr);
  return op && op->getOpcode() == BO_Mul;
}

/// A load, or zero where it may not be made.
bool isLoad(const Expr *expr) {
  expr = expr->IgnoreParenImpCasts();
  if (auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    auto *zero = dyn_cast<FloatingLiteral>(choice->getFalseExpr()->IgnoreParenImpCasts());
    return zero && zero->getValue().isZero() && isLoad(choice->getTrueExpr());
  }
  return isa<ArraySubscriptExpr>(expr);
}

/// Every statement adds a product to a local: with zeros for its factors it changes nothing. What the body declares (`own`) may hold the
/// factors.
bool addsProducts(const Stmt *stmt, std::set<const Decl *> &own) {
  if (auto *block = dyn_cast<CompoundStmt>(stmt)) return std::all_of(block->body_begin(), block->body_end(), [&](const Stmt *each) { return addsProducts(each, own); });
  if (auto *attributed = dyn_cast<AttributedStmt>(stmt)) return addsProducts(attributed->getSubStmt(), own);
  if (auto *loop = dyn_cast<ForStmt>(stmt)) return addsProducts(loop->getBody(), own);
  if (auto *declares = dyn_cast<DeclStmt>(stmt)) {
    own.insert(declares->decl_begin(), declares->decl_end());
    return isPure(stmt);
  }
  auto *op = dyn_cast<BinaryOperator>(stmt);
  if (!op) return false;
  if (op->getOpcode() == BO_AddAssign || op->getOpcode() == BO_SubAssign) return isProduct(op->getRHS());
  if (op->getOpcode() != BO_Assign) return false;
  const Expr *target = op->getLHS()->IgnoreParenImpCasts();
  while (auto *subscript = dyn_cast<ArraySubscriptExpr>(target)) target = subscript->getBase()->IgnoreParenImpCasts();
  if (auto *ref = dyn_cast<DeclRefExpr>(target); ref && own.count(ref->getDecl())) return isLoad(op->getRHS());
  auto *call = dyn_cast<CallExpr>(op->getRHS()->IgnoreParenImpCasts());
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return callee && callee->getIdentifier() && (callee->getName() == "fmaf" || callee->getName() == "fma" || callee->getName() == "__fmaf_rn");
}

bool addsProducts(const Stmt *stmt) {
  std::set<const Decl *> own;
  return addsProducts(stmt, own);
}

bool standsIn(const Access &access, const Loop &loop) { return std::find(access.loops.begin(), access.loops.end(), &loop) != access.loops.end(); }

} // namespace

std::string zeroOf(QualType type) {
  if (type->isSpecificBuiltinType(BuiltinType::Float)) return "0.f";
  if (type->isSpecificBuiltinType(BuiltinType::Double)) return "0.0";
  if (type->isIntegerType()) return "0";
  return type.getUnqualifiedType().getAsString() + "()";
}

bool ThreadAxis::decides(const IndexExpr &value) const {
  IndexExpr rest = value;
  for (const AtomRef &other : others) rest = rest.substitute(other, IndexExpr(0));
  return rest.mentions(atom) || (atom->kind != Atom::ThreadIdx && rest.substitute(atom, IndexExpr(0)).mentions(threadIdx(0)));
}

std::vector<ThreadAxis> threadAxes(const KernelModel &kernel) {
  std::vector<ThreadAxis> axes;
  if (kernel.launches.empty()) return axes;
  for (unsigned axis = 0; axis < 3; ++axis) {
    auto size = kernel.launches.front().blockSize(axis);
    for (const Launch &launch : kernel.launches)
      if (!size || launch.blockSize(axis) != size) return {};
    if (*size > 1) axes.push_back({threadIdx(axis), *size, std::string("threadIdx.") + "xyz"[axis], {}});
  }
  if (axes.size() != 1 || axes[0].atom->axis != 0) return axes;
  // One row of threads that the kernel divides into rows and columns itself.
  std::optional<int64_t> width;
  IndexExpr x = IndexExpr::of(threadIdx(0));
  for (const Access &access : kernel.accesses)
    for (const AtomRef &atom : access.index.atoms())
      if ((atom->kind == Atom::Remainder || atom->kind == Atom::Quotient) && atom->left == x && atom->right.constant() && !width) width = atom->right.constant();
  if (!width || *width < 2 || axes[0].extent % *width || axes[0].extent == *width) return axes;
  IndexExpr column = remainder(x, *width), row = quotient(x, *width);
  if (column.atoms().empty() || row.atoms().empty()) return axes;
  auto whole = [&](const IndexExpr &value) -> AtomRef {
    for (const AtomRef &atom : value.atoms())
      if (IndexExpr::of(atom) == value) return atom;
    return nullptr;
  };
  AtomRef columnAtom = whole(column), rowAtom = whole(row);
  if (!columnAtom || !rowAtom) return axes;
  std::string by = std::to_string(*width);
  PlaceInKernel place(kernel, cast<CompoundStmt>(kernel.function->getBody())->body_back());
  auto say = [&](const IndexExpr &value, const std::string &otherwise) {
    auto piece = place.print(value);
    return piece ? piece->within(Piece::Product) : otherwise;
  };
  return {{columnAtom, *width, say(column, "threadIdx.x % " + by), {rowAtom}}, {rowAtom, axes[0].extent / *width, say(row, "threadIdx.x / " + by), {columnAtom}}};
}

const Stmt *wholeLoop(const KernelModel &kernel, const Loop &loop) {
  const Stmt *parent = kernel.parent(loop.stmt);
  return parent && isa<AttributedStmt>(parent) ? parent : loop.stmt;
}

std::optional<Decline> cannotTile(const KernelModel &kernel, const Loop &loop) {
  auto no = [&](const char *reason, const std::string &text) { return declineAt(kernel, reason, loop.stmt, text); };
  if (!(loop.begin == IndexExpr(0)) || !(loop.step == IndexExpr(1))) return no("unsupported_form", "the loop does not count from 0 in steps of 1");
  if (loop.leavesEarly || loop.hasContinue || loop.descending) return no("unsupported_form", "the loop may leave early, skip iterations or run downwards");
  if (loop.unrollPragma) return no("held_by", "the loop is unrolled; take out unroll first");
  if (loop.parent) return no("unsupported_form", "the loop stands in another loop");
  auto approach = approachTo(kernel, loop);
  if (!approach) return no("unsupported_form", "the way to the loop is more than early returns or one branch, so its barriers could not be reached by all threads");
  for (const Access &access : kernel.accesses) {
    bool inside = standsIn(access, loop);
    if (inside && access.kind != Access::Read && access.space != Space::Local) return no("unsupported_form", "the loop writes memory that others may see");
    if (!inside && !approach->conjuncts.empty() && access.space == Space::Global && access.statement &&
        kernel.unit->manager(Side::Device).isBeforeInTranslationUnit(access.statement->getBeginLoc(), loop.stmt->getBeginLoc()))
      return no("unsupported_form", "global memory is accessed between the guards and the loop");
  }
  return std::nullopt;
}

Result<Edits> tileLoop(const KernelModel &kernel, const Loop &loop, int64_t tile, const std::vector<ThreadAxis> &axes, std::string &tileVariable) {
  auto approach = approachTo(kernel, loop);
  if (!approach) return refusal("the way to the loop is not a plain one", kernel.unit->where(loop.stmt->getBeginLoc()));
  std::string k = loop.variable->getNameAsString(), size = std::to_string(tile);
  tileVariable = freshName(kernel, k + "0");
  PlaceInKernel before(kernel, loop.stmt), place(kernel, loop.stmt->getBody());
  auto *condition = dyn_cast<BinaryOperator>(loop.stmt->getCond());
  auto end = condition && condition->getOpcode() == BO_LT ? std::optional<Piece>(Piece{kernel.unit->text(condition->getRHS()->IgnoreImplicit()), precedenceOf(condition->getRHS())})
                                                          : before.print(loop.end);
  if (!end || end->text.empty()) return refusal("the bound of the loop has no text", kernel.unit->where(loop.stmt->getBeginLoc()));
  std::string bound = end->within(Piece::Shift);
  bool padded = addsProducts(loop.stmt->getBody());

  AtomRef own = loopVariable(loop.variable), there = writtenQuantity(tileVariable);
  place.spell(there, tileVariable);
  Remap plainRemap(kernel, place, {{IndexExpr::of(own), IndexExpr::of(there) + IndexExpr::of(own), Piece{tileVariable + " + " + k, Piece::Sum}}}, {own});
  plainRemap.stable = [](const VarDecl *) { return true; }; // the same thread, at the same moment
  forEach(loop.stmt->getBody(), [&](const Stmt *stmt) { // what the body declares is rewritten with it
    if (auto *declares = dyn_cast<DeclStmt>(stmt))
      for (const Decl *each : declares->decls())
        if (auto *variable = dyn_cast<VarDecl>(each)) plainRemap.kept.insert(variable);
  });
  Remap remap = plainRemap;
  auto guardsFor = [&](const IndexExpr &index) {
    std::string text = padded && index.mentions(own) ? tileVariable + " + " + k + " < " + bound : "";
    for (const Conjunct &part : approach->conjuncts) {
      bool others = false;
      for (const ThreadAxis &axis : axes) others |= part.positive && axis.decides(*part.positive) && !axis.decides(index);
      if (!others) text = textOf(kernel, part) + (text.empty() ? "" : " && ") + text;
    }
    return text;
  };
  remap.throughArray = [&](const Expr *expr, const Remap &self) -> std::optional<Piece> {
    const Access *read = nullptr;
    auto *choice = dyn_cast<ConditionalOperator>(expr);
    const Expr *target = choice ? choice->getTrueExpr()->IgnoreParenImpCasts() : expr;
    for (const Access &access : kernel.accesses)
      if (access.expr->IgnoreParens() == target && access.kind == Access::Read && access.space == Space::Global) read = &access;
    if (!read) return std::nullopt;
    std::string guard = guardsFor(read->index), zero = zeroOf(read->element);
    auto value = plainRemap.print(target);
    if (!value) return std::nullopt;
    if (choice) {
      auto own = plainRemap.print(choice->getCond()), otherwise = plainRemap.print(choice->getFalseExpr());
      if (!own || !otherwise) return std::nullopt;
      guard = own->within(Piece::And) + (guard.empty() ? "" : " && " + guard), zero = otherwise->within(Piece::Conditional);
    }
    if (guard.empty()) return value;
    return Piece{guard + " ? " + value->within(Piece::Or) + " : " + zero, Piece::Conditional};
  };
  std::map<const Stmt *, std::string> replaced;
  for (const Expr *expr : outermostExpressions(loop.stmt->getBody())) {
    auto piece = remap.print(expr);
    if (!piece) return refusal("the body of the loop cannot be said for a tile", kernel.unit->where(expr->getBeginLoc()));
    if (piece->text != kernel.unit->text(expr->IgnoreImplicit())) replaced[expr] = piece->text;
  }
  auto whole = kernel.unit->place(approach->loop);
  if (!whole) return refusal(whole.error().what);
  std::string type = loop.variable->getType().getUnqualifiedType().getAsString(kernel.function->getASTContext().getPrintingPolicy());
  std::string trips = padded ? size : "min(" + size + ", " + bound + " - " + tileVariable + ")";
  std::string body = kernel.unit->textWith(loop.stmt->getBody(), replaced);
  unsigned length = whole->length;
  const std::string &source = kernel.unit->sources().files.at(whole->file);
  if (!isa<CompoundStmt>(loop.stmt->getBody())) {
    body += ";";
    if (source[whole->offset + length] == ';') ++length;
  }
  std::string text = "for (" + type + " " + tileVariable + " = 0; " + tileVariable + " < " + bound + "; " + tileVariable + " += " + size + ") {\n" +
                     "for (" + type + " " + k + " = 0; " + k + " < " + trips + "; ++" + k + ") " + body + "\n}\n";
  Edits edits;
  std::string guard = joined(kernel, approach->conjuncts);
  const Stmt *last = approach->block->body_back();
  if (!guard.empty() && last != approach->loop) text += "if (" + guard + ") {\n";
  edits.push_back({whole->file, whole->offset, length, text});
  for (const IfStmt *branch : approach->returns) {
    auto edit = removal(*kernel.unit, branch);
    if (!edit) return edit.error();
    edits.push_back(*edit);
  }
  auto blockPlace = kernel.unit->place(approach->block);
  if (!blockPlace) return refusal(blockPlace.error().what);
  if (approach->around) {
    auto head = kernel.unit->place(approach->around);
    if (!head) return refusal(head.error().what);
    edits.push_back({head->file, head->offset, blockPlace->offset + 1 - head->offset, ""});
    // The closing brace of the branch now closes what follows the loop; with nothing there it goes.
    if (guard.empty() || last == approach->loop) edits.push_back({head->file, blockPlace->offset + blockPlace->length - 1, 1, ""});
  } else if (!guard.empty() && last != approach->loop) {
    edits.push_back({blockPlace->file, blockPlace->offset + blockPlace->length - 1, 0, "}\n"});
  }
  return edits;
}

} // namespace klineage
