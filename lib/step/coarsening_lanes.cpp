#include "step/coarsening_lanes.h"
#include "step/launch_text.h"
#include "step/loop_tiling.h"
#include "step/source_text.h"
#include "step/tidy.h"
#include <algorithm>

namespace klineage {

using namespace clang;

LaneDependence::LaneDependence(const SingleOutput &single) {
  for (const OutputCoordinate &each : single.coordinates) locals[each.variable] = {each.axis == 0, each.axis == 1};
  const KernelModel &kernel = *single.kernel;
  std::set<const Expr *> guards;
  for (const Conjunct &part : single.guards) guards.insert(part.expr);
  struct Finder : RecursiveASTVisitor<Finder> {
    std::vector<const VarDecl *> found;
    bool VisitVarDecl(VarDecl *decl) { return decl->isLocalVarDecl() ? found.push_back(decl) : void(), true; }
  } finder;
  finder.TraverseStmt(kernel.function->getBody());
  for (bool again = true; again;) {
    again = false;
    for (const VarDecl *local : finder.found) {
      LaneSet lanes = locals[local], before = lanes;
      if (local->getInit()) lanes |= of(local->getInit());
      for (const Expr *change : assignmentsTo(local, kernel.function->getBody())) {
        lanes |= of(change);
        // What decides whether it changes decides its value too.
        for (const Stmt *up = kernel.parent(change); up; up = kernel.parent(up))
          if (auto *branch = dyn_cast<IfStmt>(up); branch && std::find(single.statements.begin(), single.statements.end(), branch->getThen()) == single.statements.end()) {
            bool outer = branch == single.first || branch == single.last;
            if (!outer) lanes |= of(branch->getCond());
          }
      }
      locals[local] = lanes;
      again |= !(lanes == before);
    }
  }
}

LaneSet LaneDependence::of(const Stmt *stmt) const {
  LaneSet lanes;
  for (const VarDecl *local : localsNamedIn(stmt))
    if (auto known = locals.find(local); known != locals.end()) lanes |= known->second;
  struct Declared : RecursiveASTVisitor<Declared> {
    const LaneDependence *self;
    LaneSet lanes;
    bool VisitVarDecl(VarDecl *decl) { return lanes |= self->of(decl), true; }
  } declared;
  declared.self = this;
  declared.TraverseStmt(const_cast<Stmt *>(stmt));
  lanes |= declared.lanes;
  return lanes;
}

LaneSet LaneDependence::of(const VarDecl *local) const {
  auto known = locals.find(local);
  return known == locals.end() ? LaneSet{} : known->second;
}

LaneText::LaneText(const Version &version, const SingleOutput &single, int64_t rows, int64_t columns)
    : unit(version.unit), kernel(*single.kernel), single(single), depends(single), rows(rows), columns(columns) {
  if (rows > 1) rowCounter = fresh("i");
  columnCounter = fresh(rows > 1 ? "j" : "i");
}

std::string LaneText::fresh(const std::string &wish) {
  std::string name = wish;
  for (int i = 2; names.count(name) || freshName(kernel, name) != name; ++i) name = wish + std::to_string(i);
  names.insert(name);
  return name;
}

/// How far lane `counter` is from the first one: `i * 16`.
std::string LaneText::step(const OutputCoordinate &coordinate, int64_t) const {
  std::string name = counter(coordinate.axis);
  if (coordinate.threads) return *coordinate.threads == 1 ? name : name + " * " + std::to_string(*coordinate.threads);
  return name + " * " + (coordinate.axis ? "blockDim.y" : "blockDim.x");
}

std::string LaneText::subscripts(LaneSet lanes) const {
  lanes = counted(lanes);
  return (lanes.y ? "[" + rowCounter + "]" : "") + (lanes.x ? "[" + columnCounter + "]" : "");
}

std::string LaneText::extents(LaneSet lanes) const {
  lanes = counted(lanes);
  return (lanes.y ? "[" + std::to_string(rows) + "]" : "") + (lanes.x ? "[" + std::to_string(columns) + "]" : "");
}

std::string LaneText::loops(LaneSet lanes, const std::string &statement) const {
  lanes = counted(lanes);
  std::string text;
  auto loop = [&](const std::string &name, int64_t count) { text += "for (int " + name + " = 0; " + name + " < " + std::to_string(count) + "; ++" + name + ") "; };
  if (lanes.y) loop(rowCounter, rows);
  if (lanes.x) loop(columnCounter, columns);
  return text + statement + "\n";
}

bool LaneText::loads(const Stmt *stmt) const {
  for (const Access &access : kernel.accesses) {
    if (access.space != Space::Global) continue;
    for (const Stmt *up = access.calls.empty() ? static_cast<const Stmt *>(access.expr) : access.calls.front(); up; up = kernel.parent(up))
      if (up == stmt) return true;
  }
  return false;
}

std::string LaneText::zero(QualType type) const { return zeroOf(type.getUnqualifiedType()); }

/// References that mean a lane's own: coordinates, and locals that became arrays.
std::map<const Stmt *, std::string> LaneText::replaced(const Stmt *stmt) const {
  std::map<const Stmt *, std::string> into;
  for (const OutputCoordinate &each : single.coordinates) {
    if ((each.axis ? rows : columns) < 2) continue;
    for (const DeclRefExpr *ref : referencesTo(stmt, each.variable)) {
      const Stmt *up = kernel.parent(ref), *child = ref;
      while (up && isa<ImplicitCastExpr>(up)) child = up, up = kernel.parent(up);
      auto *op = dyn_cast_or_null<BinaryOperator>(up);
      bool bare = op && (op->getOpcode() == BO_Add || op->isComparisonOp() || (op->getOpcode() == BO_Sub && op->getLHS() == child));
      bare |= isa_and_nonnull<ParenExpr>(up) || (isa_and_nonnull<ArraySubscriptExpr>(up) && cast<ArraySubscriptExpr>(up)->getIdx() == child);
      std::string sum = each.variable->getNameAsString() + " + " + step(each, 1);
      into[ref] = bare ? sum : "(" + sum + ")";
    }
  }
  for (const VarDecl *array : arrays)
    for (const DeclRefExpr *ref : referencesTo(stmt, array)) into[ref] = array->getNameAsString() + subscripts(depends.of(array));
  return into;
}

std::string LaneText::text(const Stmt *stmt, const std::map<const Stmt *, std::string> &more) const {
  auto all = replaced(stmt);
  auto inside = [&](const Stmt *inner, const Stmt *outer) {
    for (const Stmt *up = inner; up; up = kernel.parent(up))
      if (up == outer) return true;
    return false;
  };
  for (const auto &[whole, own] : more) {
    std::erase_if(all, [&](const auto &entry) { return inside(entry.first, whole); });
    all[whole] = own;
  }
  if (auto whole = all.find(stmt); whole != all.end()) return whole->second;
  return unit.textWith(stmt, all);
}

std::string LaneText::conjunct(const Conjunct &part) const {
  const Expr *expr = part.expr->IgnoreImplicit();
  Piece piece{text(expr), precedenceOf(expr)};
  if (!part.negated) return piece.within(Piece::And);
  const auto *op = dyn_cast<BinaryOperator>(expr->IgnoreParenImpCasts());
  if (op && (op->isRelationalOp() || op->isEqualityOp()))
    return text(op->getLHS()->IgnoreImplicit()) + " " + BinaryOperator::getOpcodeStr(BinaryOperator::negateComparisonOp(op->getOpcode())).str() + " " + text(op->getRHS()->IgnoreImplicit());
  return "!(" + piece.text + ")";
}

std::string LaneText::guard(LaneSet lanes) const {
  std::string all;
  for (const Conjunct &part : single.guards)
    if (depends.of(part.expr).within(lanes)) all += (all.empty() ? "" : " && ") + conjunct(part);
  return all;
}

/// The largest parts of an expression that load and differ along fewer axes than the statement: each is loaded once and serves several lanes.
std::string LaneText::fragments(const Stmt *stmt, LaneSet lanes, std::map<const Stmt *, std::string> &into) {
  std::string before;
  std::function<void(const Expr *)> look = [&](const Expr *expr) {
    if (!loads(expr)) return;
    LaneSet own = depends.of(expr);
    const Expr *value = expr->IgnoreParenImpCasts();
    bool fewer = own.within(lanes) && !(counted(own) == counted(lanes)), rvalue = value->getType()->isArithmeticType() && isPure(value) && !isa<InitListExpr>(value);
    std::string condition = guard(own);
    if (fewer && rvalue && (own.any() || !condition.empty())) {
      std::string name = "part";
      for (const Access &access : kernel.accesses)
        if (access.space == Space::Global && access.buffer && access.kind == Access::Read) {
          bool in = false;
          for (const Stmt *up = access.expr; up; up = kernel.parent(up)) in |= up == value;
          if (in) name = access.buffer->getNameAsString() + "Value";
        }
      name = fresh(name);
      std::string type = value->getType().getUnqualifiedType().getAsString(kernel.function->getASTContext().getPrintingPolicy());
      before += type + " " + name + extents(own) + ";\n";
      std::string read = text(value);
      if (!condition.empty()) read = condition + " ? " + Piece{read, precedenceOf(value)}.within(Piece::Conditional) + " : " + zero(value->getType());
      before += loops(own, name + subscripts(own) + " = " + read + ";");
      into[value] = name + subscripts(own);
      return;
    }
    const Access *access = nullptr;
    for (const Access &each : kernel.accesses)
      if (each.expr->IgnoreParens() == value && each.space == Space::Global && each.kind == Access::Read) access = &each;
    if (access && !condition.empty()) {
      into[value] = "(" + condition + " ? " + text(value) + " : " + zero(value->getType()) + ")";
      return;
    }
    for (const Stmt *child : value->children())
      if (auto *part = dyn_cast_or_null<Expr>(child)) look(part);
  };
  for (const Expr *expr : outermostExpressions(stmt)) {
    const auto *op = dyn_cast<BinaryOperator>(expr->IgnoreParenImpCasts());
    look(op && op->isAssignmentOp() ? op->getRHS() : expr);
  }
  return before;
}

Result<std::string> LaneText::declaration(const DeclStmt *decls) {
  std::string all;
  const auto &policy = kernel.function->getASTContext().getPrintingPolicy();
  for (const Decl *each : decls->decls()) {
    const auto *local = dyn_cast<VarDecl>(each);
    if (!local) return refusal("a declaration that is no variable", unit.where(decls->getBeginLoc()));
    LaneSet lanes = depends.of(local);
    QualType type = local->getType().getUnqualifiedType();
    if (!counted(lanes).any()) {
      if (lanes.any() && local->getInit() && loads(local->getInit()) && !guard(lanes).empty() && type->isArithmeticType()) {
        all += type.getAsString(policy) + " " + local->getNameAsString() + " = " + guard(lanes) + " ? " + text(local->getInit()->IgnoreImplicit()) + " : " + zero(type) + ";\n";
        continue;
      }
      if (!decls->isSingleDecl()) return refusal("several variables in one declaration", unit.where(decls->getBeginLoc()));
      all += unit.textWith(decls, replaced(decls)) + "\n";
      continue;
    }
    if (!type->isArithmeticType() && !type->isPointerType()) return refusal(local->getNameAsString() + " is of a type that does not become an array", unit.where(local->getLocation()));
    arrays.insert(local);
    std::string name = local->getNameAsString();
    std::string element = type->isPointerType() ? type->getPointeeType().getAsString(policy) + " *" : type.getAsString(policy) + " ";
    all += element + name + extents(lanes) + ";\n";
    const Expr *init = local->getInit();
    if (!init) continue;
    std::map<const Stmt *, std::string> parts;
    all += fragments(init, lanes, parts);
    all += loops(lanes, name + subscripts(lanes) + " = " + text(init->IgnoreImplicit(), parts) + ";");
  }
  return all;
}

Result<std::string> LaneText::plain(const Stmt *stmt) {
  auto place = wholeStatement(unit, stmt);
  if (!place) return place.error();
  std::string own = text(stmt);
  if (own.empty()) return refusal("the statement comes from a macro", unit.where(stmt->getBeginLoc()));
  if (own.back() != ';' && own.back() != '}') own += ";";
  return own + "\n";
}

Result<std::string> LaneText::spread(const Stmt *stmt) {
  if (isa<NullStmt>(stmt)) return std::string();
  if (auto *decls = dyn_cast<DeclStmt>(stmt)) return declaration(decls);
  auto list = [&](const Stmt *body) -> Result<std::string> {
    std::string all;
    std::vector<const Stmt *> statements{body};
    if (auto *block = dyn_cast<CompoundStmt>(body)) statements.assign(block->body_begin(), block->body_end());
    for (const Stmt *each : statements) {
      auto one = spread(each);
      if (!one) return one;
      all += *one;
    }
    return all;
  };
  if (isa<CompoundStmt>(stmt)) {
    auto inner = list(stmt);
    if (!inner) return inner;
    return "{\n" + *inner + "}\n";
  }
  if (auto *attributed = dyn_cast<AttributedStmt>(stmt)) return spread(attributed->getSubStmt());
  if (auto *loop = dyn_cast<ForStmt>(stmt)) {
    auto body = list(loop->getBody());
    if (!body) return body;
    auto head = unit.place(loop), inner = unit.place(loop->getBody());
    if (!head || !inner || head->file != inner->file) return refusal("a loop that comes from a macro", unit.where(loop->getBeginLoc()));
    return unit.sources().files.at(head->file).substr(head->offset, inner->offset - head->offset) + "{\n" + *body + "}\n";
  }
  if (auto *branch = dyn_cast<IfStmt>(stmt); branch && !depends.of(branch->getCond()).any()) {
    auto then = list(branch->getThen());
    if (!then) return then;
    std::string all = "if (" + unit.text(branch->getCond()) + ") {\n" + *then + "}";
    if (branch->getElse()) {
      auto otherwise = list(branch->getElse());
      if (!otherwise) return otherwise;
      all += " else {\n" + *otherwise + "}";
    }
    return all + "\n";
  }
  struct Loops : RecursiveASTVisitor<Loops> {
    bool found = false;
    bool VisitForStmt(ForStmt *) { return !(found = true); }
    bool VisitVarDecl(VarDecl *) { return !(found = true); }
  } inner;
  inner.TraverseStmt(const_cast<Stmt *>(stmt));
  if (inner.found && isa<IfStmt>(stmt)) return refusal("a branch that differs between the outputs of a thread holds a loop or a declaration", unit.where(stmt->getBeginLoc()));
  LaneSet lanes = depends.of(stmt);
  bool stores = false;
  for (const Access &access : kernel.accesses)
    if (access.space == Space::Global && access.kind != Access::Read)
      for (const Stmt *up = access.expr; up; up = kernel.parent(up)) stores |= up == stmt;
  std::string before, own;
  if (isa<IfStmt>(stmt) || stores) {
    auto one = plain(stmt);
    if (!one) return one;
    std::string condition = stores || loads(stmt) ? guard(LaneSet::all()) : "";
    LaneSet all = lanes;
    for (const Conjunct &part : single.guards)
      if (!condition.empty()) all |= depends.of(part.expr);
    return loops(all, condition.empty() ? *one : "if (" + condition + ") " + *one);
  }
  std::map<const Stmt *, std::string> parts;
  before = fragments(stmt, lanes, parts);
  own = text(stmt, parts);
  return before + loops(lanes, own + ";");
}

Result<Edits> LaneText::finish(const std::string &written) const {
  auto place = wholeStatements(unit, single.first, single.last);
  if (!place) return place.error();
  Edits edits{{place->file, place->offset, place->length, written}};
  for (const OutputCoordinate &each : single.coordinates) {
    int64_t times = each.axis ? rows : columns;
    auto init = unit.place(each.variable->getInit());
    if (!init) return init.error();
    std::string letter = each.axis ? ".y" : ".x";
    std::string width = each.threads ? std::to_string(*each.threads * times) : "(blockDim" + letter + " * " + std::to_string(times) + ")";
    QualType type = each.variable->getType().getUnqualifiedType();
    bool wide = kernel.function->getASTContext().getTypeSize(type) > 32; // the author expects more outputs than an int counts
    std::string cast = wide ? "(" + type.getAsString(kernel.function->getASTContext().getPrintingPolicy()) + ")" : "";
    if (times > 1) edits.push_back({init->file, init->offset, init->length, cast + "blockIdx" + letter + " * " + width + " + threadIdx" + letter});
  }
  for (const Launch &launch : kernel.launches) {
    auto grid = launchShape(unit, launch, launch.grid);
    if (!grid) return grid.error();
    auto blocks = grid->extent;
    for (const OutputCoordinate &each : single.coordinates) {
      int64_t times = each.axis ? rows : columns;
      if (times < 2) continue;
      std::string &own = blocks[each.axis];
      std::optional<std::string> covering;
      if (each.threads) // (n + B - 1) / B over an argument of the launch
        for (size_t i = 0; i < launch.values.size() && !covering; ++i)
          if (launch.arguments[i]->getType()->isIntegerType() && !launch.values[i].constant() && launch.gridShape[each.axis] == quotient(launch.values[i] + IndexExpr(*each.threads - 1), IndexExpr(*each.threads))) {
            std::string extent = unit.text(launch.arguments[i]->getSourceRange(), Side::Host), whole = std::to_string(*each.threads * times);
            if (!extent.empty()) covering = "(" + factorText(extent) + " + " + std::to_string(*each.threads * times - 1) + ") / " + whole;
          }
      auto count = launch.gridShape[each.axis].constant();
      if (covering) own = *covering;
      else if (count) own = std::to_string((*count + times - 1) / times);
      else own = "(" + factorText(own) + " + " + std::to_string(times - 1) + ") / " + std::to_string(times);
    }
    edits.push_back(withExtents(*grid, blocks));
  }
  return edits;
}

Result<Edits> toRegisterBlock(const Version &version, const SingleOutput &single, int64_t rows, int64_t columns) {
  LaneText lanes(version, single, single.along(1) ? rows : 1, single.along(0) ? columns : 1);
  std::string text;
  for (const Stmt *stmt : single.statements) {
    auto one = lanes.spread(stmt);
    if (!one) return one.error();
    text += *one;
  }
  return lanes.finish(text);
}

} // namespace klineage
