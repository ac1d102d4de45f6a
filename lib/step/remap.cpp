#include "step/remap.h"

namespace klineage {
namespace {

using namespace clang;

/// value = factor × divisor + something, where divisor is one monomial: the factor.
IndexExpr factorOf(const IndexExpr &value, const IndexExpr::Monomial &divisor) {
  IndexExpr factor;
  for (const auto &[key, term] : value.terms()) {
    IndexExpr::Monomial rest = term.first;
    bool divides = true;
    for (const AtomRef &atom : divisor) {
      auto at = std::find_if(rest.begin(), rest.end(), [&](const AtomRef &each) { return each->key == atom->key; });
      if (at == rest.end()) {
        divides = false;
        break;
      }
      rest.erase(at);
    }
    if (!divides) continue;
    IndexExpr product(term.second);
    for (const AtomRef &atom : rest) product = product * IndexExpr::of(atom);
    factor = factor + product;
  }
  return factor;
}

/// factor / divisor when every coefficient divides.
std::optional<IndexExpr> dividedBy(const IndexExpr &factor, int64_t divisor) {
  IndexExpr result;
  for (const auto &[key, term] : factor.terms()) {
    if (term.second % divisor) return std::nullopt;
    IndexExpr product(term.second / divisor);
    for (const AtomRef &atom : term.first) product = product * IndexExpr::of(atom);
    result = result + product;
  }
  return result;
}

} // namespace

Remap::Remap(const KernelModel &kernel, const PlaceInKernel &reader, std::vector<Meeting> meetings, std::vector<AtomRef> own)
    : kernel(kernel), place(reader), meets(std::move(meetings)), own(std::move(own)) {}

bool Remap::dependsOnWriter(const IndexExpr &value) const {
  return std::any_of(own.begin(), own.end(), [&](const AtomRef &atom) { return value.mentions(atom); });
}

IndexExpr Remap::lift(const Expr *expr) const {
  IndexExpr value = calls.empty() ? kernel.lift(expr) : kernel.lift(expr, calls);
  return fixed.empty() ? value : value.substitute(fixed);
}

Remap Remap::inCaller() const {
  Remap caller = *this;
  caller.calls.pop_back();
  return caller;
}

/// A pointer parameter that moves on between the two places is another pointer there.
bool Remap::isStable(const VarDecl *decl) const {
  return stable ? stable(decl) : assignmentsTo(decl, kernel.function->getBody()).empty();
}

bool Remap::readsTheSame(const Expr *expr) const {
  if (!calls.empty()) return parametersNamedIn(expr).empty() && localsNamedIn(expr).empty(); // nothing of a helper means anything outside it
  for (const VarDecl *parameter : parametersNamedIn(expr))
    if (!isStable(parameter)) return false;
  for (const VarDecl *local : localsNamedIn(expr)) {
    if (!place.sees(local)) return false;
    if (stable ? !stable(local) : !onlyValueOf(kernel, local) && !kernel.bufferOf(local)) return false;
  }
  return true;
}

std::optional<IndexExpr> Remap::solve(IndexExpr value) const {
  IndexExpr answer;
  std::vector<bool> used(meets.size());
  // Each round takes the subscript that owns a term no other unused subscript has: triangular systems fall in order.
  for (unsigned round = 0; round < meets.size() && dependsOnWriter(value); ++round) {
    bool progressed = false;
    for (unsigned d = 0; d < meets.size() && !progressed; ++d) {
      if (used[d]) continue;
      for (const auto &[key, term] : meets[d].written.terms()) {
        const auto &[monomial, coefficient] = term;
        IndexExpr alone(1);
        for (const AtomRef &atom : monomial) alone = alone * IndexExpr::of(atom);
        if (monomial.empty() || !dependsOnWriter(alone)) continue;
        bool shared = false;
        for (unsigned other = 0; other < meets.size(); ++other)
          shared |= other != d && !used[other] && !(factorOf(meets[other].written, monomial) == IndexExpr());
        if (shared) continue;
        auto factor = dividedBy(factorOf(value, monomial), coefficient);
        if (!factor || dependsOnWriter(*factor)) continue;
        value = value - *factor * meets[d].written;
        answer = answer + *factor * meets[d].read;
        used[d] = progressed = true;
        break;
      }
    }
    if (!progressed) break;
  }
  if (dependsOnWriter(value)) return std::nullopt;
  return answer + value;
}

std::optional<IndexExpr> Remap::map(const IndexExpr &value) const {
  if (!dependsOnWriter(value)) return value;
  if (auto answer = solve(value)) return answer;
  // A subscript pair e / c and e % c decides e itself: e = c * (e / c) + e % c.
  IndexExpr rewritten = value;
  for (const Meeting &meeting : meets)
    for (const AtomRef &atom : meeting.written.atoms()) {
      if (atom->kind != Atom::Quotient || !atom->right.constant()) continue;
      IndexExpr whole = IndexExpr(*atom->right.constant()) * IndexExpr::of(atom) + remainder(atom->left, atom->right);
      for (const auto &[key, term] : atom->left.terms()) {
        if (term.first.size() != 1 || term.second != 1) continue;
        // Only where it stands alone: inside quotients it must stay.
        IndexExpr factor = factorOf(rewritten, term.first);
        if (!(factor == IndexExpr()) && !dependsOnWriter(factor)) {
          rewritten = rewritten + factor * (whole - atom->left);
          break;
        }
      }
    }
  if (auto answer = solve(rewritten)) return answer;
  // A quotient or remainder of something that can be told.
  for (const AtomRef &atom : value.atoms()) {
    if (atom->kind != Atom::Quotient && atom->kind != Atom::Remainder) continue;
    IndexExpr alone = IndexExpr::of(atom);
    if (!dependsOnWriter(alone) || solve(alone)) continue;
    auto left = map(atom->left), right = map(atom->right);
    if (!left || !right) continue;
    IndexExpr told = atom->kind == Atom::Quotient ? quotient(*left, *right) : remainder(*left, *right);
    IndexExpr factor = factorOf(value, {atom});
    if (dependsOnWriter(factor)) continue;
    if (auto rest = map(value - factor * alone)) return factor * told + *rest;
  }
  return std::nullopt;
}

std::optional<Piece> Remap::printWhole(const IndexExpr &value) const {
  auto mapped = map(value);
  if (!mapped) return std::nullopt;
  for (const AtomRef &atom : mapped->atoms())
    if (atom->kind == Atom::Variable && atom->decl)
      if (auto *local = dyn_cast<VarDecl>(atom->decl); local && stable && !stable(local)) return std::nullopt;
  // One subscript plus what both sides see reads best in the reader's own words.
  for (const Meeting &meeting : meets) {
    IndexExpr rest = *mapped - meeting.read;
    if (meeting.read.constant() || dependsOnWriter(rest)) continue;
    if (rest.constant() == 0) return meeting.text;
    auto more = place.print(rest);
    bool simpler = rest.terms().size() < mapped->terms().size();
    // The built-in indices are unsigned: a sum that may be negative must not be made with them.
    bool mayWrap = std::any_of(rest.terms().begin(), rest.terms().end(), [](const auto &term) { return term.second.second < 0; });
    if (simpler && more && mayWrap) return Piece{more->within(Piece::Sum) + " + int(" + meeting.text.text + ")", Piece::Sum};
    if (simpler && more && more->text[0] != '-')
      return Piece{more->within(Piece::Sum) + " + " + meeting.text.within(Piece::Sum), Piece::Sum};
  }
  return place.print(*mapped);
}

bool Remap::holdsFixed(const Expr *expr) const {
  if (fixed.empty()) return false;
  for (const AtomRef &atom : kernel.lift(expr).atoms())
    if (fixed.count(atom->key)) return true;
  return false;
}

bool Remap::dependsOnWriter(const Expr *expr) const {
  struct Finder : RecursiveASTVisitor<Finder> {
    const Remap *remap;
    bool found = false;
    bool VisitExpr(Expr *each) {
      if (isInteger(each->getType()) && !each->isTypeDependent() && (remap->holdsFixed(each) || remap->dependsOnWriter(remap->lift(each)))) found = true;
      if (auto *ref = dyn_cast<DeclRefExpr>(each))
        if (auto *decl = dyn_cast<VarDecl>(ref->getDecl()); decl && decl->isLocalVarDecl() && remap->calls.empty() && !isInteger(decl->getType())) {
          if (remap->otherThread && !decl->hasAttr<CUDASharedAttr>() && !onlyValueOf(remap->kernel, decl)) found = true;
          else if (decl->getInit() && remap->dependsOnWriter(decl->getInit())) found = true;
        }
      return !found;
    }
  } finder;
  finder.remap = this;
  finder.TraverseStmt(const_cast<Expr *>(expr));
  return finder.found;
}

std::optional<Piece> Remap::print(const Expr *expr) const {
  expr = expr->IgnoreImplicit();
  if (auto *paren = dyn_cast<ParenExpr>(expr)) return print(paren->getSubExpr());
  if (auto *ref = dyn_cast<DeclRefExpr>(expr); ref && !kept.empty())
    if (auto *decl = dyn_cast<VarDecl>(ref->getDecl()); decl && kept.count(decl)) return Piece{decl->getNameAsString()};
  if (throughArray)
    if (auto piece = throughArray(expr, *this)) return piece;
  if (!dependsOnWriter(expr) && readsTheSame(expr)) return Piece{kernel.unit->text(expr), precedenceOf(expr)};
  if (isInteger(expr->getType()) && !isa<CallExpr>(expr) && !isa<ArraySubscriptExpr>(expr)) return printInteger(expr);
  if (isa<ArraySubscriptExpr>(expr) || isa<UnaryOperator>(expr))
    if (auto piece = printAccess(expr)) return piece;
  if (auto *ref = dyn_cast<DeclRefExpr>(expr)) return printVariable(ref);
  return printParts(expr);
}

std::optional<Piece> Remap::printInteger(const Expr *expr) const {
  if (isa<ExplicitCastExpr>(expr)) return printParts(expr); // A cast to 64 bits is there for large sizes: it stays.
  IndexExpr value = lift(expr);
  bool depends = dependsOnWriter(value);
  auto mapped = map(value);
  if (auto *op = dyn_cast<BinaryOperator>(expr); op && !fixed.empty() && op->isAdditiveOp()) return printSum(op);
  if (depends && mapped && *mapped == value && readsTheSame(expr)) return Piece{kernel.unit->text(expr), precedenceOf(expr)};
  if (auto *op = dyn_cast<BinaryOperator>(expr)) {
    BinaryOperatorKind code = op->getOpcode();
    // A difference that is nothing but a subscript reads better whole.
    for (const Meeting &meeting : meets)
      if (mapped && depends && *mapped == meeting.read) return meeting.text;
    // `col + 1` in a helper: what the number does to the reader's words is told best by the sum.
    auto isNumber = [](const Expr *side) { return isa<IntegerLiteral>(side->IgnoreParenImpCasts()); };
    if (!calls.empty() && depends && mapped && (isNumber(op->getLHS()) || isNumber(op->getRHS())) && expr->getType()->isSpecificBuiltinType(BuiltinType::Int))
      if (auto piece = printWhole(value)) return piece;
    if (code == BO_Add || code == BO_Sub || code == BO_Mul || !depends) {
      auto left = print(op->getLHS()), right = print(op->getRHS());
      if (left && right) {
        if (code == BO_Add && left->text == "0") return right;
        if ((code == BO_Add || code == BO_Sub) && right->text == "0") return left;
        if (code == BO_Mul && (left->text == "0" || right->text == "0")) return Piece{"0"};
        Piece::Precedence precedence = precedenceOf(code);
        auto tighter = Piece::Precedence(precedence - (code == BO_Add || code == BO_Mul ? 0 : 1));
        return Piece{left->within(precedence) + " " + BinaryOperator::getOpcodeStr(code).str() + " " + right->within(tighter), precedence};
      }
    }
    // (A + b) + c in 64 bits where only b + c can be told: A keeps the type that it is computed in.
    auto *left = dyn_cast<BinaryOperator>(op->getLHS()->IgnoreParenImpCasts());
    if (code == BO_Add && left && left->getOpcode() == BO_Add && !expr->getType()->isSpecificBuiltinType(BuiltinType::Int) && !expr->getType()->isSpecificBuiltinType(BuiltinType::UInt))
      if (auto first = print(left->getLHS()))
        if (auto rest = printWhole(lift(left->getRHS()) + lift(op->getRHS())))
          return Piece{first->within(Piece::Sum) + " + " + rest->within(Piece::Sum), Piece::Sum};
    return mapped ? printWhole(value) : std::nullopt;
  }
  if (auto *ref = dyn_cast<DeclRefExpr>(expr)) {
    if (mapped)
      if (auto piece = printWhole(value)) return piece;
    return printVariable(ref);
  }
  if (mapped)
    if (auto piece = printWhole(value)) return piece;
  return printParts(expr);
}

/// The pointer under the access was moved by a 64-bit amount.
bool Remap::isWide(const Expr *access) const {
  struct Casts : RecursiveASTVisitor<Casts> {
    const KernelModel *kernel;
    bool found = false;
    bool VisitExplicitCastExpr(ExplicitCastExpr *cast) { return !(found |= isInteger(cast->getType()) && kernel->function->getASTContext().getTypeSize(cast->getType()) > 32); }
    bool VisitDeclRefExpr(DeclRefExpr *ref) {
      auto *decl = dyn_cast<VarDecl>(ref->getDecl());
      if (decl && decl->isLocalVarDecl() && decl->getType()->isPointerType() && decl->getInit()) TraverseStmt(decl->getInit());
      return !found;
    }
  } casts;
  casts.kernel = &kernel;
  casts.TraverseStmt(const_cast<Expr *>(access));
  return casts.found;
}

/// A sum in which single terms may not be told, or only with a number that another term takes back: terms with a cast to a wide type keep
/// their form, all others are told together.
std::optional<Piece> Remap::printSum(const BinaryOperator *sum) const {
  std::vector<std::pair<const Expr *, bool>> open{{sum, false}}, wide;
  IndexExpr rest;
  while (!open.empty()) {
    auto [expr, minus] = open.back();
    open.pop_back();
    expr = expr->IgnoreParenImpCasts();
    if (auto *op = dyn_cast<BinaryOperator>(expr); op && op->isAdditiveOp()) {
      open.push_back({op->getRHS(), minus != (op->getOpcode() == BO_Sub)});
      open.push_back({op->getLHS(), minus});
      continue;
    }
    struct Casts : RecursiveASTVisitor<Casts> {
      bool found = false;
      bool VisitExplicitCastExpr(ExplicitCastExpr *) { return !(found = true); }
    } casts;
    casts.TraverseStmt(const_cast<Expr *>(expr));
    if (casts.found && !minus) wide.push_back({expr, minus});
    else rest = minus ? rest - lift(expr) : rest + lift(expr);
  }
  if (wide.empty()) return printWhole(lift(sum));
  std::string text;
  for (const auto &[expr, minus] : wide) {
    auto piece = print(expr);
    if (!piece) return std::nullopt;
    text += (text.empty() ? "" : " + ") + piece->within(Piece::Sum);
  }
  if (rest.constant() == 0) return Piece{text, wide.size() == 1 ? precedenceOf(wide.front().first) : Piece::Sum};
  auto more = printWhole(rest);
  if (!more) return std::nullopt;
  if (more->text[0] == '-') return Piece{text + " - " + more->text.substr(1), Piece::Sum};
  return Piece{text + " + " + more->within(Piece::Sum), Piece::Sum};
}

/// What a pointer adds to the start of the buffer, in elements, with the types that it was computed in; none when it is formed otherwise.
std::optional<Piece> Remap::offsetInto(const ValueDecl *buffer, const Expr *pointer) const {
  const Expr *expr = pointer->IgnoreParenImpCasts();
  if (auto *op = dyn_cast<BinaryOperator>(expr); op && op->getOpcode() == BO_Add && op->getLHS()->getType()->isPointerType()) {
    auto base = offsetInto(buffer, op->getLHS()), more = print(op->getRHS());
    if (!base || !more) return std::nullopt;
    if (base->text == "0") return more;
    return more->text == "0" ? *base : Piece{base->within(Piece::Sum) + " + " + more->within(Piece::Sum), Piece::Sum};
  }
  auto *ref = dyn_cast<DeclRefExpr>(expr);
  if (!ref) return std::nullopt;
  if (ref->getDecl() == buffer) return Piece{"0"};
  auto *variable = dyn_cast<VarDecl>(ref->getDecl());
  if (!variable || calls.empty()) return std::nullopt;
  if (auto *parameter = dyn_cast<ParmVarDecl>(variable)) {
    if (kernel.changesOf(parameter) != 0) return std::nullopt;
    const Expr *argument = argumentFor(calls, parameter);
    return argument ? inCaller().offsetInto(buffer, argument) : std::nullopt;
  }
  return variable->isLocalVarDecl() && variable->getInit() && kernel.changesOf(variable) == 0 ? offsetInto(buffer, variable->getInit()) : std::nullopt;
}

/// A load whose base is a pointer that the reader does not see: the buffer itself with the whole index.
std::optional<Piece> Remap::printAccess(const Expr *expr) const {
  for (const Access &access : kernel.accesses) {
    if (access.expr->IgnoreParens() != expr || access.space != Space::Global || !access.exact || access.width != 1) continue;
    if (!calls.empty() && access.calls != calls) continue;
    if (auto *variable = dyn_cast<VarDecl>(access.buffer); variable && !isStable(variable)) return std::nullopt;
    if (auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
      auto *base = dyn_cast<DeclRefExpr>(subscript->getBase()->IgnoreParenImpCasts());
      if (base && base->getDecl() == access.buffer)
        if (auto index = print(subscript->getIdx())) return Piece{access.buffer->getNameAsString() + "[" + index->text + "]"};
      if (auto base = calls.empty() ? std::nullopt : offsetInto(access.buffer, subscript->getBase()))
        if (auto index = print(subscript->getIdx())) {
          std::string whole = base->text == "0" ? index->text : index->text == "0" ? base->text : base->within(Piece::Sum) + " + " + index->within(Piece::Sum);
          return Piece{access.buffer->getNameAsString() + "[" + whole + "]"};
        }
    }
    if (auto *load = dyn_cast<UnaryOperator>(expr); load && !calls.empty())
      if (auto index = offsetInto(access.buffer, load->getSubExpr())) return Piece{access.buffer->getNameAsString() + "[" + index->text + "]"};
    auto index = printWhole(fixed.empty() ? access.index : access.index.substitute(fixed));
    if (index && !fixed.empty() && isWide(expr) && index->text.find(" * ") != std::string::npos) index->text = "(size_t)" + index->text;
    if (index) return Piece{access.buffer->getNameAsString() + "[" + index->text + "]"};
    return std::nullopt;
  }
  return std::nullopt;
}

/// A parameter is its argument; a local that never changes is what it was given.
std::optional<Piece> Remap::printInHelper(const DeclRefExpr *ref) const {
  auto *decl = dyn_cast<VarDecl>(ref->getDecl());
  if (!decl || !decl->hasLocalStorage()) return Piece{ref->getDecl()->getNameAsString()};
  if (kernel.changesOf(decl) != 0) return std::nullopt;
  const Expr *value = nullptr;
  std::optional<Piece> piece;
  if (auto *parameter = dyn_cast<ParmVarDecl>(decl)) {
    if ((value = argumentFor(calls, parameter))) piece = inCaller().print(value);
  } else if ((value = decl->getInit())) {
    piece = print(value);
  }
  if (!piece) return std::nullopt;
  QualType own = decl->getType().getCanonicalType().getUnqualifiedType(), given = value->IgnoreParenImpCasts()->getType().getCanonicalType().getUnqualifiedType();
  if (own == given) return piece;
  if (!own->isArithmeticType()) return std::nullopt;
  return Piece{"static_cast<" + own.getAsString(kernel.function->getASTContext().getPrintingPolicy()) + ">(" + piece->text + ")"};
}

std::optional<Piece> Remap::printVariable(const DeclRefExpr *ref) const {
  if (!calls.empty()) return printInHelper(ref);
  // `s = s * h;`: a value that is made of itself has no end.
  if (!beingPrinted.insert(ref->getDecl()).second) return std::nullopt;
  auto piece = printVariableOnce(ref);
  beingPrinted.erase(ref->getDecl());
  return piece;
}

std::optional<Piece> Remap::printVariableOnce(const DeclRefExpr *ref) const {
  auto *decl = dyn_cast<VarDecl>(ref->getDecl());
  if (decl && isa<ParmVarDecl>(decl) && !isStable(decl)) return std::nullopt;
  if (!decl || !decl->isLocalVarDecl()) return Piece{ref->getDecl()->getNameAsString()};
  if (const Expr *value = onlyValueOf(kernel, decl)) return print(value);
  if (decl->getType()->isIntegerType()) return std::nullopt;
  // `float v = 0; if (inside) v = a[i];`: the two values joined by the condition.
  std::vector<const Expr *> assigned = assignmentsTo(decl, kernel.function->getBody());
  if (assigned.size() != 1) return std::nullopt;
  auto *assignment = dyn_cast<BinaryOperator>(assigned[0]);
  if (!assignment || assignment->getOpcode() != BO_Assign) return std::nullopt;
  auto value = print(assignment->getRHS());
  if (!value) return std::nullopt;
  std::vector<Guard> guards = kernel.guardsOf(assignment), outer;
  if (const DeclStmt *declared = declarationOf(kernel, decl)) outer = kernel.guardsOf(declared);
  std::string condition;
  for (const Guard &guard : guards) {
    if (std::any_of(outer.begin(), outer.end(), [&](const Guard &each) { return each.condition == guard.condition; })) continue;
    auto text = print(guard.condition);
    if (!text) return std::nullopt;
    condition += (condition.empty() ? "" : " && ") + (guard.negated ? "!" + text->within(Piece::Unary) : text->within(Piece::And));
  }
  if (condition.empty()) return value;
  if (!decl->getInit()) return value; // Without a first value only the guarded one is ever meant.
  auto otherwise = print(decl->getInit());
  if (!otherwise) return std::nullopt;
  return Piece{condition + " ? " + value->within(Piece::Or) + " : " + otherwise->within(Piece::Conditional), Piece::Conditional};
}

/// Any other expression keeps its text; its parts are printed for themselves.
std::optional<Piece> Remap::printParts(const Expr *expr) const {
  std::map<const Stmt *, std::string> replaced;
  const Stmt *base = nullptr; // `base[...]` and `base.member` bind tighter than anything.
  if (auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) base = subscript->getBase();
  if (auto *member = dyn_cast<MemberExpr>(expr)) base = member->getBase();
  auto *op = dyn_cast<BinaryOperator>(expr);
  bool sides = op || isa<ConditionalOperator>(expr) || isa<UnaryOperator>(expr) || isa<CStyleCastExpr>(expr);
  for (const Stmt *child : expr->children()) {
    auto *part = dyn_cast_or_null<Expr>(child);
    if (!part) continue;
    auto piece = print(part);
    if (!piece) return std::nullopt;
    const Expr *written = part->IgnoreImplicit();
    auto outer = part == base ? Piece::Primary : !sides ? Piece::Any : op ? Piece::Precedence(precedenceOf(expr) - (part == op->getRHS()->IgnoreImplicit() ? 1 : 0)) : isa<ConditionalOperator>(expr) ? Piece::Or : Piece::Unary;
    bool parens = isa<ParenExpr>(written) && !(!fixed.empty() && sides && piece->precedence == Piece::Primary);
    std::string text = parens ? "(" + piece->text + ")" : piece->within(outer);
    if (text != kernel.unit->text(written)) replaced[written] = text;
  }
  std::string text = kernel.unit->textWith(expr, replaced);
  if (text.empty()) return std::nullopt;
  return Piece{text, precedenceOf(expr)};
}

} // namespace klineage
