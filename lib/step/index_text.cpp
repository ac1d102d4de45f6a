#include "step/index_text.h"

namespace klineage {
namespace {

using namespace clang;

class LocalCollector : public RecursiveASTVisitor<LocalCollector> {
public:
  std::vector<const VarDecl *> found;
  bool VisitDeclRefExpr(DeclRefExpr *ref) {
    if (auto *decl = dyn_cast<VarDecl>(ref->getDecl()))
      if (decl->isLocalVarDecl() && std::find(found.begin(), found.end(), decl) == found.end()) found.push_back(decl);
    return true;
  }
};

class AssignmentCollector : public RecursiveASTVisitor<AssignmentCollector> {
public:
  const VarDecl *decl;
  std::vector<const Expr *> found;
  bool names(const Expr *expr) const {
    auto *ref = dyn_cast<DeclRefExpr>(expr->IgnoreParenImpCasts());
    return ref && ref->getDecl() == decl;
  }
  bool VisitBinaryOperator(BinaryOperator *op) {
    if (op->isAssignmentOp() && names(op->getLHS())) found.push_back(op);
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) {
    if ((op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf) && names(op->getSubExpr())) found.push_back(op);
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *call) {
    if (call->isAssignmentOp() && names(call->getArg(0))) found.push_back(call);
    return true;
  }
  bool VisitCallExpr(CallExpr *call) {
    const FunctionDecl *callee = call->getDirectCallee();
    for (unsigned i = 0; callee && i < std::min(call->getNumArgs(), callee->getNumParams()); ++i) {
      QualType type = callee->getParamDecl(i)->getType();
      if (type->isReferenceType() && !type.getNonReferenceType().isConstQualified() && names(call->getArg(i))) found.push_back(call);
    }
    return true;
  }
};

class DeclarationFinder : public RecursiveASTVisitor<DeclarationFinder> {
public:
  const VarDecl *decl;
  const DeclStmt *found = nullptr;
  bool VisitDeclStmt(DeclStmt *stmt) {
    for (const Decl *each : stmt->decls())
      if (each == decl) found = stmt;
    return !found;
  }
};

Piece number(int64_t value) { return {std::to_string(value), value < 0 ? Piece::Unary : Piece::Primary}; }

const char *axisName(unsigned axis) { return axis == 0 ? "x" : axis == 1 ? "y" : "z"; }

} // namespace

Piece::Precedence precedenceOf(BinaryOperatorKind op) {
  switch (op) {
  case BO_Mul: case BO_Div: case BO_Rem: return Piece::Product;
  case BO_Add: case BO_Sub: return Piece::Sum;
  case BO_Shl: case BO_Shr: return Piece::Shift;
  case BO_LT: case BO_GT: case BO_LE: case BO_GE: return Piece::Relation;
  case BO_EQ: case BO_NE: return Piece::Equality;
  case BO_And: return Piece::BitAnd;
  case BO_Xor: return Piece::BitXor;
  case BO_Or: return Piece::BitOr;
  case BO_LAnd: return Piece::And;
  case BO_LOr: return Piece::Or;
  default: return Piece::Any;
  }
}

Piece::Precedence precedenceOf(const Expr *expr) {
  expr = expr->IgnoreImplicit();
  if (auto *op = dyn_cast<BinaryOperator>(expr)) return precedenceOf(op->getOpcode());
  if (auto *call = dyn_cast<CXXOperatorCallExpr>(expr); call && call->isInfixBinaryOp()) return Piece::Any;
  if (isa<ConditionalOperator>(expr)) return Piece::Conditional;
  if (isa<UnaryOperator>(expr) || isa<CStyleCastExpr>(expr)) return Piece::Unary;
  return Piece::Primary;
}

bool isInteger(QualType type) { return type->isIntegralOrEnumerationType() && !type->isBooleanType(); }

std::vector<const Expr *> outermostExpressions(const Stmt *stmt) {
  struct Finder : RecursiveASTVisitor<Finder> {
    std::vector<const Expr *> found;
    bool TraverseStmt(Stmt *each) {
      if (auto *expr = dyn_cast_or_null<Expr>(each)) return found.push_back(expr), true;
      return RecursiveASTVisitor::TraverseStmt(each);
    }
  } finder;
  finder.TraverseStmt(const_cast<Stmt *>(stmt));
  return finder.found;
}

AtomRef writtenQuantity(const std::string &text) {
  auto atom = std::make_shared<Atom>();
  atom->kind = Atom::Opaque;
  atom->key = "written(" + text + ")";
  return atom;
}

std::string freshName(const KernelModel &kernel, const std::string &wish) {
  std::set<std::string> taken;
  struct Finder : RecursiveASTVisitor<Finder> {
    std::set<std::string> *taken;
    bool VisitNamedDecl(NamedDecl *decl) { return taken->insert(decl->getNameAsString()), true; }
    bool VisitDeclRefExpr(DeclRefExpr *ref) { return taken->insert(ref->getDecl()->getNameAsString()), true; }
  } finder;
  finder.taken = &taken;
  finder.TraverseDecl(const_cast<FunctionDecl *>(kernel.function));
  std::string name = wish;
  for (int i = 2; taken.count(name); ++i) name = wish + std::to_string(i);
  return name;
}

std::vector<const VarDecl *> localsNamedIn(const Stmt *stmt) {
  LocalCollector collector;
  collector.TraverseStmt(const_cast<Stmt *>(stmt));
  return collector.found;
}

std::vector<const VarDecl *> parametersNamedIn(const Stmt *stmt) {
  struct Finder : RecursiveASTVisitor<Finder> {
    std::vector<const VarDecl *> found;
    bool VisitDeclRefExpr(DeclRefExpr *ref) {
      if (auto *decl = dyn_cast<ParmVarDecl>(ref->getDecl())) found.push_back(decl);
      return true;
    }
  } finder;
  finder.TraverseStmt(const_cast<Stmt *>(stmt));
  return finder.found;
}

std::vector<const Expr *> assignmentsTo(const VarDecl *decl, const Stmt *within) {
  AssignmentCollector collector;
  collector.decl = decl;
  collector.TraverseStmt(const_cast<Stmt *>(within));
  return collector.found;
}

const DeclStmt *declarationOf(const KernelModel &kernel, const VarDecl *decl) {
  DeclarationFinder finder;
  finder.decl = decl;
  finder.TraverseStmt(kernel.function->getBody());
  return finder.found;
}

const Expr *onlyValueOf(const KernelModel &kernel, const VarDecl *decl) {
  if (!decl->isLocalVarDecl() || !decl->getInit()) return nullptr;
  if (decl->getType().isConstQualified()) return decl->getInit();
  return assignmentsTo(decl, kernel.function->getBody()).empty() ? decl->getInit() : nullptr;
}

PlaceInKernel::PlaceInKernel(const KernelModel &kernel, const Stmt *place) : kernel(kernel), place(place) {
  std::set<const Stmt *> around;
  for (const Stmt *at = place; at; at = kernel.parent(at)) around.insert(at);
  SourceLocation here = place->getBeginLoc();
  const SourceManager &manager = kernel.unit->manager(Side::Device);
  struct Finder : RecursiveASTVisitor<Finder> {
    std::vector<const DeclStmt *> found;
    bool VisitDeclStmt(DeclStmt *stmt) { return found.push_back(stmt), true; }
  } finder;
  finder.TraverseStmt(kernel.function->getBody());
  for (const DeclStmt *stmt : finder.found) {
    const Stmt *scope = kernel.parent(stmt);
    if (!scope || !around.count(scope) || !manager.isBeforeInTranslationUnit(stmt->getBeginLoc(), here)) continue;
    for (const Decl *decl : stmt->decls()) {
      auto *variable = dyn_cast<VarDecl>(decl);
      if (!variable) continue;
      visible.insert(variable);
      if (isa<ForStmt>(scope) || !isInteger(variable->getType())) continue;
      if (const Expr *value = onlyValueOf(kernel, variable)) {
        IndexExpr lifted = kernel.lift(value);
        if (!lifted.constant()) vocabulary.push_back({variable, lifted});
      }
    }
  }
}

bool PlaceInKernel::sees(const ValueDecl *decl) const {
  auto *variable = dyn_cast<VarDecl>(decl);
  return !variable || !variable->isLocalVarDecl() || visible.count(variable);
}

bool PlaceInKernel::seesAllOf(const Stmt *expr) const {
  for (const VarDecl *decl : localsNamedIn(expr))
    if (!sees(decl)) return false;
  return true;
}

std::optional<Piece> PlaceInKernel::printAtom(const Atom &atom, bool asSigned) const {
  auto axis = [&](const char *name) {
    std::string text = std::string(name) + "." + axisName(atom.axis);
    return Piece{asSigned ? "int(" + text + ")" : text};
  };
  auto pair = [&](const char *op, Piece::Precedence precedence) -> std::optional<Piece> {
    auto left = print(atom.left), right = print(atom.right);
    if (!left || !right) return std::nullopt;
    auto tighter = Piece::Precedence(precedence - 1);
    return Piece{left->within(precedence) + " " + op + " " + right->within(tighter), precedence};
  };
  auto call = [&](const char *name) -> std::optional<Piece> {
    auto left = print(atom.left), right = print(atom.right);
    if (!left || !right) return std::nullopt;
    return Piece{std::string(name) + "(" + left->text + ", " + right->text + ")", Piece::Primary};
  };
  if (auto own = spelled.find(atom.key); own != spelled.end()) return Piece{own->second};
  // `ty * 4`, where the kernel has a name for threadIdx.x / 16.
  if (atom.kind == Atom::Quotient || atom.kind == Atom::Remainder)
    for (const auto &[decl, known] : vocabulary)
      if (known.terms().size() == 1 && known.key() == atom.key) return Piece{decl->getNameAsString()};
  switch (atom.kind) {
  case Atom::ThreadIdx: return axis("threadIdx");
  case Atom::BlockIdx: return axis("blockIdx");
  case Atom::BlockDim: return axis("blockDim");
  case Atom::GridDim: return axis("gridDim");
  case Atom::LoopVariable: case Atom::Parameter: case Atom::Variable:
    if (!atom.decl || !sees(atom.decl)) return std::nullopt;
    return Piece{atom.decl->getNameAsString()};
  case Atom::Quotient: return pair("/", Piece::Product);
  case Atom::Remainder: return pair("%", Piece::Product);
  case Atom::And: return pair("&", Piece::BitAnd);
  case Atom::Or: return pair("|", Piece::BitOr);
  case Atom::Xor: return pair("^", Piece::BitXor);
  case Atom::ShiftRight: return pair(">>", Piece::Shift);
  case Atom::Minimum: return call("min");
  case Atom::Maximum: return call("max");
  case Atom::Opaque:
    if (!atom.expr || !seesAllOf(atom.expr)) return std::nullopt;
    return Piece{kernel.unit->text(atom.expr), precedenceOf(atom.expr)};
  }
  return std::nullopt;
}

/// Terms one by one, the constant last.
std::optional<Piece> PlaceInKernel::printFlat(const IndexExpr &value) const {
  std::string text;
  unsigned terms = 0;
  auto add = [&](const std::string &term, bool negative) {
    text += terms++ ? (negative ? " - " : " + ") : (negative ? "-" : "");
    text += term;
  };
  Piece::Precedence last = Piece::Primary;
  int64_t constant = value.constantTerm();
  // The built-in indices are unsigned: a difference of them must not wrap.
  bool negative = constant < 0;
  for (const auto &[key, term] : value.terms()) negative |= term.second < 0;
  for (const auto &[key, term] : value.terms()) {
    const auto &[monomial, coefficient] = term;
    if (monomial.empty()) continue;
    std::string product;
    bool alone = monomial.size() == 1 && std::abs(coefficient) == 1;
    for (const AtomRef &atom : monomial) {
      auto piece = printAtom(*atom, negative);
      if (!piece) return std::nullopt;
      if (alone) last = piece->precedence;
      // Only a first factor may be a product itself: a * (b / c) is not a * b / c.
      product += (product.empty() ? "" : " * ") + piece->within(alone ? Piece::Product : product.empty() ? Piece::Product : Piece::Unary);
    }
    if (std::abs(coefficient) != 1) product += " * " + std::to_string(std::abs(coefficient)), last = Piece::Product;
    else if (!alone) last = Piece::Product;
    add(product, coefficient < 0);
  }
  if (constant || !terms) add(std::to_string(std::abs(constant)), constant < 0), last = constant < 0 ? Piece::Unary : Piece::Primary;
  if (terms == 1) return Piece{text, text[0] == '-' ? Piece::Unary : std::min(last, Piece::Product)};
  return Piece{text, Piece::Sum};
}

std::optional<Piece> PlaceInKernel::print(const IndexExpr &value) const {
  if (auto constant = value.constant()) return number(*constant);
  for (const auto &[decl, known] : vocabulary)
    if (known == value) return Piece{decl->getNameAsString()};
  // A local plus something simpler.
  for (const auto &[decl, known] : vocabulary) {
    IndexExpr rest = value - known;
    if (rest.terms().size() + known.terms().size() != value.terms().size()) continue;
    if (auto more = print(rest)) {
      if (more->text[0] == '-') return Piece{decl->getNameAsString() + " - " + more->text.substr(1), Piece::Sum};
      return Piece{decl->getNameAsString() + " + " + more->text, Piece::Sum};
    }
  }
  // Factor out a quantity that stays the same for all threads: (row) * stride + column.
  for (const AtomRef &atom : value.atoms()) {
    if (atom->kind != Atom::Parameter && atom->kind != Atom::Variable) continue;
    IndexExpr factor = value.coefficient(atom);
    if (factor.constant() || factor.mentions(atom)) continue;
    IndexExpr rest = value - factor * IndexExpr::of(atom);
    auto name = printAtom(*atom), times = print(factor);
    if (!name || !times) continue;
    std::string product = times->within(Piece::Product) + " * " + name->within(Piece::Unary);
    if (rest.constant() == 0) return Piece{product, Piece::Product};
    if (auto more = print(rest)) {
      if (more->text[0] == '-') return Piece{product + " - " + more->text.substr(1), Piece::Sum};
      return Piece{product + " + " + more->text, Piece::Sum};
    }
  }
  return printFlat(value);
}

} // namespace klineage
