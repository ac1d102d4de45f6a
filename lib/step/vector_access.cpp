#include "step/vector_access.h"
#include "step/settled.h"
#include <algorithm>
#include <cctype>

namespace klineage {
using namespace clang;

const char *component(unsigned lane) {
  static const char *const names[] = {"x", "y", "z", "w"};
  return names[lane];
}

unsigned lanesOf(QualType type) {
  const auto *record = type.getNonReferenceType().getUnqualifiedType()->getAsCXXRecordDecl();
  if (!record || !record->getIdentifier()) return 0;
  llvm::StringRef name = record->getName();
  for (const char *scalar : {"float", "int", "uint"})
    if (name.consume_front(scalar) && (name == "2" || name == "4")) return name[0] - '0';
  return 0;
}

std::string vectorTypeOf(QualType scalar, unsigned width) {
  const auto *builtin = scalar.getUnqualifiedType()->getAs<BuiltinType>();
  std::string digit = std::to_string(width);
  if (!builtin || (width != 2 && width != 4)) return {};
  switch (builtin->getKind()) {
  case BuiltinType::Float: return "float" + digit;
  case BuiltinType::Int: return "int" + digit;
  case BuiltinType::UInt: return "uint" + digit;
  default: return {};
  }
}

std::string whyNoLanes(const Access &access) {
  auto name = [](QualType type) { return type.getNonReferenceType().getUnqualifiedType().getAsString(); };
  return "a " + name(access.accessed) + " moves " + std::to_string(access.width) + " elements of " + name(access.element) + " at once, and its lanes are not these";
}

std::string VectorView::element(unsigned lane) const {
  if (first.empty()) return base + "[" + std::to_string(lane) + "]";
  return base + "[" + first + (lane ? " + " + std::to_string(lane) : "") + "]";
}

namespace {

/// A pointer expression without parentheses and loads.
const Expr *core(const Expr *expr) { return expr->IgnoreParenImpCasts(); }

bool isPlain(const Expr *expr) { return isa<DeclRefExpr, MemberExpr, ArraySubscriptExpr, CallExpr, IntegerLiteral>(core(expr)); }

std::string grouped(const Unit &unit, const Expr *expr) {
  std::string text = unit.text(expr);
  return text.empty() || isPlain(expr) || isa<ParenExpr>(expr) ? text : "(" + text + ")";
}

std::string scaled(const Unit &unit, const Expr *index, unsigned width) {
  if (!index) return {};
  Expr::EvalResult value;
  if (!index->isValueDependent() && index->EvaluateAsInt(value, unit.ast(Side::Device))) {
    int64_t constant = value.Val.getInt().getExtValue() * width;
    return constant == 0 ? std::string() : std::to_string(constant);
  }
  std::string text = grouped(unit, index);
  return text.empty() ? text : std::to_string(width) + " * " + text;
}

std::string plus(const std::string &a, const std::string &b) { return a.empty() ? b : b.empty() ? a : a + " + " + b; }

/// __ldg and its kin, which read what their argument points at.
bool loadsThroughPointer(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  if (!callee || !callee->getIdentifier() || call->getNumArgs() != 1) return false;
  llvm::StringRef name = callee->getName();
  return name == "__ldg" || name == "__ldcg" || name == "__ldca" || name == "__ldcs" || name == "__ldlu" || name == "__ldcv";
}

/// The words of a pointer's initializer may be written where the pointer is used: nothing in them has changed, and each name means the same.
Status movable(const VectorView &view, const Expr *words, const VarDecl *anchor) {
  if (!anchor) return Done{};
  if (const VarDecl *local = changedAfter(words, anchor)) return refusal("the vector pointer was made with " + local->getNameAsString() + ", which changes");
  const auto *function = dyn_cast_or_null<FunctionDecl>(anchor->getParentFunctionOrMethod());
  if (const VarDecl *other = function ? shadowedAt(function, words, view.whole) : nullptr)
    return refusal("the vector pointer was made with " + other->getNameAsString() + ", which means something else where it is used");
  return Done{};
}

/// Each element is written with these words: they are evaluated several times.
Status repeatable(const Unit &unit, const Expr *words) {
  if (words && !words->isValueDependent() && words->HasSideEffects(unit.ast(Side::Device), /*IncludePossibleEffects=*/false)) return refusal("the address has side effects");
  return Done{};
}

Status settle(VectorView &view, QualType scalar) {
  view.scalarType = scalar.getUnqualifiedType().getAsString();
  if (view.base.empty()) return refusal("the code comes from a macro");
  if (vectorTypeOf(scalar, view.width) != view.vectorType) return refusal("a " + view.vectorType + " holds the bits of " + view.scalarType + " here, not their values");
  return Done{};
}

/// The scalar pointer under the cast, as base and offset text. On the way to the cast the pointer may have been moved by whole vectors.
/// With an anchor the words stand in the initializer of that pointer.
Status followCast(const Unit &unit, const Expr *pointer, VectorView &view, const VarDecl *anchor = nullptr) {
  const Expr *expr = core(pointer);
  if (const auto *ref = dyn_cast<DeclRefExpr>(expr)) {
    const auto *variable = dyn_cast<VarDecl>(ref->getDecl());
    if (!variable || isa<ParmVarDecl>(variable) || !variable->hasInit()) return refusal("the buffer itself is declared as vectors");
    if (changedAfter(ref, variable)) return refusal("the vector pointer " + variable->getNameAsString() + " is moved");
    if (auto same = movable(view, ref, anchor); !same) return same;
    return followCast(unit, variable->getInit(), view, variable);
  }
  const Expr *moved = nullptr, *by = nullptr;
  if (const auto *sum = dyn_cast<BinaryOperator>(expr); sum && sum->getOpcode() == BO_Add) {
    bool left = sum->getLHS()->getType()->isPointerType();
    moved = left ? sum->getLHS() : sum->getRHS();
    by = left ? sum->getRHS() : sum->getLHS();
  }
  if (const auto *address = dyn_cast<UnaryOperator>(expr); address && address->getOpcode() == UO_AddrOf)
    if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(core(address->getSubExpr()))) {
      moved = subscript->getBase();
      by = subscript->getIdx();
    }
  if (moved) {
    if (auto same = movable(view, by, anchor); !same) return same;
    if (auto once = repeatable(unit, by); !once) return once;
    std::string distance = scaled(unit, by, view.width);
    view.first = plus(distance, view.first);
    return followCast(unit, moved, view, anchor);
  }
  const auto *cast = dyn_cast<ExplicitCastExpr>(expr);
  if (!cast) return refusal("the vector pointer is no cast of a scalar pointer");
  const Expr *scalar = cast->getSubExpr()->IgnoreParens();
  const Expr *inner = core(scalar);
  if (auto same = movable(view, scalar, anchor); !same) return same;
  if (auto once = repeatable(unit, scalar); !once) return once;
  // &a[i] is a + i, so that its elements read a[i + k].
  if (const auto *address = dyn_cast<UnaryOperator>(inner); address && address->getOpcode() == UO_AddrOf)
    if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(core(address->getSubExpr()))) {
      Expr::EvalResult value;
      bool zero = !subscript->getIdx()->isValueDependent() && subscript->getIdx()->EvaluateAsInt(value, unit.ast(Side::Device)) && value.Val.getInt() == 0;
      view.base = grouped(unit, subscript->getBase());
      view.first = plus(zero ? std::string() : unit.text(subscript->getIdx()), view.first);
      return settle(view, subscript->getType());
    }
  QualType pointee = inner->getType()->isArrayType() ? QualType(inner->getType()->getArrayElementTypeNoTypeQual(), 0) : inner->getType()->getPointeeType();
  if (pointee.isNull() || pointee->isRecordType() || pointee->isVoidType()) return refusal("the vector pointer is no cast of a scalar pointer");
  view.base = grouped(unit, scalar);
  return settle(view, pointee);
}

} // namespace

Result<VectorView> viewOf(const Unit &unit, const Expr *lvalue) {
  VectorView view;
  view.whole = lvalue;
  view.width = lanesOf(lvalue->getType());
  if (view.width < 2) return refusal("not an access of a vector type of 32-bit scalars");
  view.vectorType = lvalue->getType().getUnqualifiedType()->getAsCXXRecordDecl()->getNameAsString();
  const Expr *expr = core(lvalue);
  const Expr *pointer = nullptr, *index = nullptr;
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
    pointer = subscript->getBase();
    index = subscript->getIdx();
  } else if (const auto *deref = dyn_cast<UnaryOperator>(expr); deref && deref->getOpcode() == UO_Deref) {
    pointer = deref->getSubExpr();
  } else if (const auto *call = dyn_cast<CallExpr>(expr); call && loadsThroughPointer(call)) {
    pointer = call->getArg(0);
  } else {
    return refusal("the access is no subscript, dereference or load with a word to the cache");
  }
  if (auto once = repeatable(unit, index); !once) return once.error();
  view.first = scaled(unit, index, view.width); // what else moved the pointer is added in front
  if (auto followed = followCast(unit, pointer, view); !followed) return followed.error();
  return view;
}

Result<Unit::Place> statementPlace(const Unit &unit, const Stmt *stmt) {
  auto place = unit.place(stmt);
  if (!place) return place;
  const std::string &text = unit.sources().files.at(place->file);
  unsigned end = place->offset + place->length;
  if (end > 0 && (text[end - 1] == '}' || text[end - 1] == ';')) return place;
  unsigned after = end;
  while (after < text.size() && std::isspace(static_cast<unsigned char>(text[after]))) ++after;
  if (after < text.size() && text[after] == ';') place->length = after + 1 - place->offset;
  return place;
}

std::string statementText(const Unit &unit, const Stmt *stmt) {
  auto place = statementPlace(unit, stmt);
  return place ? unit.sources().files.at(place->file).substr(place->offset, place->length) : std::string();
}

namespace {

class Uses : public RecursiveASTVisitor<Uses> {
public:
  bool VisitDeclRefExpr(DeclRefExpr *ref) {
    all.push_back(ref);
    return true;
  }
  bool VisitDeclStmt(DeclStmt *stmt) {
    declarations.push_back(stmt);
    return true;
  }
  std::vector<const DeclRefExpr *> all;
  std::vector<const DeclStmt *> declarations;
};

} // namespace

std::vector<const DeclRefExpr *> usesOf(const Stmt *root, const ValueDecl *decl) {
  Uses uses;
  uses.TraverseStmt(const_cast<Stmt *>(root));
  std::vector<const DeclRefExpr *> found;
  for (const auto *ref : uses.all)
    if (ref->getDecl() == decl) found.push_back(ref);
  return found;
}

Edits removeDeadLocals(const Unit &unit, const FunctionDecl *function, const std::vector<const Stmt *> &going) {
  Uses uses;
  uses.TraverseStmt(function->getBody());
  const auto &manager = unit.manager(Side::Device);
  std::vector<SourceRange> dead;
  for (const auto *stmt : going) dead.push_back(stmt->getSourceRange());
  auto inDead = [&](SourceLocation location) {
    location = manager.getExpansionLoc(location);
    return std::any_of(dead.begin(), dead.end(), [&](SourceRange range) {
      auto begin = manager.getExpansionLoc(range.getBegin()), end = manager.getExpansionRange(range.getEnd()).getEnd();
      return !manager.isBeforeInTranslationUnit(location, begin) && !manager.isBeforeInTranslationUnit(end, location);
    });
  };
  Edits edits;
  std::set<const DeclStmt *> removed;
  for (bool more = true; more;) {
    more = false;
    for (const auto *declaration : uses.declarations) {
      if (removed.count(declaration) || !declaration->isSingleDecl() || inDead(declaration->getBeginLoc())) continue;
      const auto *variable = dyn_cast<VarDecl>(declaration->getSingleDecl());
      if (!variable || variable->hasAttr<CUDASharedAttr>()) continue;
      if (variable->getInit() && variable->getInit()->HasSideEffects(unit.ast(Side::Device))) continue;
      bool used = false, everUsed = false;
      for (const auto *ref : uses.all)
        if (ref->getDecl() == variable) {
          everUsed = true;
          used |= !inDead(ref->getLocation());
        }
      if (used || !everUsed) continue; // what nobody ever used is the author's business
      auto place = statementPlace(unit, declaration);
      if (!place) continue;
      edits.push_back({place->file, place->offset, place->length, ""});
      removed.insert(declaration);
      dead.push_back(declaration->getSourceRange());
      more = true;
    }
  }
  return edits;
}

namespace {

/// A value in the condition, other than an address, is another one in other threads: the branch chooses by place, not by alignment.
bool choosesByPlace(const KernelModel &kernel, const Expr *condition) {
  struct Values : RecursiveASTVisitor<Values> {
    std::vector<const Expr *> all;
    bool TraverseStmt(Stmt *stmt) {
      if (const auto *cast = dyn_cast_or_null<CastExpr>(stmt); cast && cast->getCastKind() == CK_PointerToIntegral) return true;
      return RecursiveASTVisitor::TraverseStmt(stmt);
    }
    bool VisitDeclRefExpr(DeclRefExpr *ref) {
      if (isa<VarDecl>(ref->getDecl())) all.push_back(ref);
      return true;
    }
  } values;
  values.TraverseStmt(const_cast<Expr *>(condition));
  return std::any_of(values.all.begin(), values.all.end(), [&](const Expr *value) { return !kernel.isUniform(value); });
}

/// Every element that one side moves at once is moved by the other side one by one.
bool coversLanes(const KernelModel &kernel, const Stmt *wide, const Stmt *scalar) {
  for (const Access &access : kernel.accesses) {
    if (access.width < 2 || access.space == Space::Local || !isInside(kernel, access.expr, wide)) continue;
    for (unsigned lane = 0; lane < access.width; ++lane) {
      bool found = std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access &other) {
        return other.buffer == access.buffer && other.kind == access.kind && other.calls == access.calls && isInside(kernel, other.expr, scalar) &&
               other.index - access.index == IndexExpr(int64_t(lane));
      });
      if (!found) return false;
    }
  }
  return true;
}

} // namespace

std::string whyNoTwin(const KernelModel &kernel, const IfStmt &branch) {
  if (branch.getConditionVariable() || branch.getInit() || branch.getCond()->HasSideEffects(kernel.function->getASTContext(), /*IncludePossibleEffects=*/false))
    return "the condition of the branch does something itself";
  if (writtenBy(kernel, branch.getThen()) != writtenBy(kernel, branch.getElse())) return "the two sides of the branch do not write the same variables and buffers";
  if (Changes(kernel, {branch.getThen()}).interruption() != Changes(kernel, {branch.getElse()}).interruption()) return "only one side of the branch leaves it";
  if (choosesByPlace(kernel, branch.getCond()) && !coversLanes(kernel, branch.getThen(), branch.getElse()))
    return "the branch chooses by the thread, and its scalar side does not move the same elements";
  return {};
}

bool isListed(const KernelModel &kernel, const Stmt *statement, bool *alone) {
  const Stmt *parent = kernel.parent(statement);
  while (parent && isa<AttributedStmt, ExprWithCleanups>(parent)) {
    statement = parent;
    parent = kernel.parent(parent);
  }
  bool listed = isa_and_nonnull<CompoundStmt>(parent), body = false;
  if (const auto *branch = dyn_cast_or_null<IfStmt>(parent)) body = branch->getThen() == statement || branch->getElse() == statement;
  if (const auto *loop = dyn_cast_or_null<ForStmt>(parent)) body = loop->getBody() == statement;
  if (const auto *loop = dyn_cast_or_null<WhileStmt>(parent)) body = loop->getBody() == statement;
  if (const auto *loop = dyn_cast_or_null<DoStmt>(parent)) body = loop->getBody() == statement;
  if (alone) *alone = body;
  return listed || body;
}

Result<Edits> keepTwin(const Unit &unit, const FunctionDecl *function, const IfStmt &branch) {
  auto place = statementPlace(unit, &branch);
  if (!place) return place.error();
  const auto *twin = dyn_cast<CompoundStmt>(branch.getElse());
  std::string text = statementText(unit, branch.getElse());
  // Without declarations of its own the twin needs no braces.
  bool declares = twin && std::any_of(twin->body_begin(), twin->body_end(), [](const Stmt *stmt) { return isa<DeclStmt>(stmt); });
  if (twin && !declares) text = text.substr(1, text.size() - 2);
  Edits edits{{place->file, place->offset, place->length, text}};
  for (auto &dead : removeDeadLocals(unit, function, {branch.getCond(), branch.getThen()})) edits.push_back(dead);
  return edits;
}

Siblings siblingsOf(const KernelModel &kernel, const Stmt *stmt) {
  Siblings siblings;
  const Stmt *child = stmt, *parent = kernel.parent(stmt);
  while (parent && isa<AttributedStmt>(parent)) {
    child = parent;
    parent = kernel.parent(parent);
  }
  const auto *compound = dyn_cast_or_null<CompoundStmt>(parent);
  if (!compound) return siblings;
  for (const Stmt *one : compound->body()) {
    if (one == child) siblings.at = siblings.all.size();
    siblings.all.push_back(one);
  }
  return siblings;
}

std::string unusedName(const SourceSet &sources, const std::string &name) {
  auto holds = [&](const std::string &word) {
    for (const auto &[file, text] : sources.files)
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
        bool left = at == 0 || !isWord(text[at - 1]), right = at + word.size() >= text.size() || !isWord(text[at + word.size()]);
        if (left && right) return true;
      }
    return false;
  };
  if (!holds(name)) return name;
  for (int i = 2;; ++i)
    if (std::string numbered = name + std::to_string(i); !holds(numbered)) return numbered;
}

} // namespace klineage
