#include "step/transposition.h"
#include "step/remap.h"
#include "step/staging.h"

namespace klineage {
namespace {

using namespace clang;

/// The subscripts of the tile: along threadIdx.x, and along threadIdx.y with the rows that one thread takes after another.
struct Place {
  IndexExpr fast, slow;
  Piece fastText, slowText;
};

std::optional<Place> placeOf(const Turn &turn) {
  Place place;
  place.fast = IndexExpr::of(turn.axes[0].atom), place.slow = IndexExpr::of(turn.axes[1].atom);
  place.fastText = Piece{turn.axes[0].text}, place.slowText = Piece{turn.axes[1].text};
  int64_t rows = turn.axes[1].extent;
  if (turn.rows) {
    auto end = turn.rows->end.constant(), step = turn.rows->step.constant();
    if (!end || !step || !(turn.rows->begin == IndexExpr(0)) || *step != rows || *end % rows) return std::nullopt;
    rows = *end;
    place.slow = place.slow + IndexExpr::of(loopVariable(turn.rows->variable));
    place.slowText = Piece{turn.axes[1].text + " + " + turn.rows->variable->getNameAsString(), Piece::Sum};
  }
  if (rows != turn.axes[0].extent) return std::nullopt; // only a square tile can be turned
  return place;
}

/// The element moves by one along the axis; along the other it moves by rows.
bool runsAlong(const IndexExpr &index, const ThreadAxis &axis) { return index.coefficient(axis.atom) == IndexExpr(1); }
bool runsAcross(const IndexExpr &index, const ThreadAxis &axis) {
  IndexExpr stride = index.coefficient(axis.atom);
  return !stride.constant() && stride.key() != IndexExpr(0).key();
}

} // namespace

std::optional<Turn> turnAt(const KernelModel &kernel, const Access &read, const std::vector<ThreadAxis> &axes) {
  if (axes.size() != 2 || read.kind != Access::Read || read.space != Space::Global || !read.exact || read.width != 1 || !read.calls.empty()) return std::nullopt;
  if (read.loops.size() > 1) return std::nullopt;
  Turn site;
  site.read = &read, site.axes = axes;
  for (const Access &access : kernel.accesses) {
    if (access.statement != read.statement) continue;
    if (access.kind == Access::Write && access.space == Space::Global && access.exact && access.width == 1) {
      if (site.write) return std::nullopt;
      site.write = &access;
    } else if (&access != &read) {
      return std::nullopt;
    }
  }
  if (!site.write || site.write->loops != read.loops || !isa<BinaryOperator>(read.statement)) return std::nullopt;
  // Nothing else may be seen from outside: the elements change hands between threads.
  for (const Access &access : kernel.accesses)
    if (&access != site.write && access.kind != Access::Read && access.space != Space::Local) return std::nullopt;
  if (!read.loops.empty()) site.rows = read.loops.back();
  if (runsAlong(site.write->index, axes[0]) && runsAcross(read.index, axes[0]) && runsAlong(read.index, axes[1])) site.turnRead = true;
  else if (!(runsAlong(read.index, axes[0]) && runsAcross(site.write->index, axes[0]) && runsAlong(site.write->index, axes[1]))) return std::nullopt;
  if (!placeOf(site)) return std::nullopt;
  return site;
}

Result<Edits> turn(const KernelModel &kernel, const Turn &site) {
  auto here = placeOf(site);
  if (!here) return refusal("the tile is not square");
  const Access &read = *site.read;
  auto *assignment = cast<BinaryOperator>(read.statement);
  PlaceInKernel place(kernel, read.statement);
  // Both subscripts exchanged: what thread (x, y) does for another one.
  std::vector<AtomRef> own = {site.axes[0].atom, site.axes[1].atom};
  if (site.rows) own.push_back(loopVariable(site.rows->variable));
  Remap swapped(kernel, place, {{here->fast, here->slow, here->slowText}, {here->slow, here->fast, here->fastText}}, own);
  auto say = [&](const Expr *expr, bool exchanged) -> std::optional<Piece> {
    if (exchanged) return swapped.print(expr);
    return Piece{kernel.unit->text(expr->IgnoreImplicit()), precedenceOf(expr)};
  };
  // The guards of the statement, inside the loop if there is one.
  std::vector<Conjunct> parts;
  for (const Guard &guard : read.guards)
    for (const Conjunct &part : conjunctsOf(kernel, guard.condition, guard.negated)) parts.push_back(part);
  auto guarded = [&](bool exchanged, const std::string &action) -> std::optional<std::string> {
    std::string condition;
    for (const Conjunct &part : parts) {
      auto text = say(part.expr, exchanged);
      if (!text) return std::nullopt;
      condition += (condition.empty() ? "" : " && ") + (part.negated ? "!(" + text->text + ")" : text->within(Piece::And));
    }
    std::string text = condition.empty() ? action : "if (" + condition + ") " + action;
    if (!site.rows) return text;
    auto *loop = site.rows->stmt;
    return "for (" + kernel.unit->text(loop->getInit()) + (isa<DeclStmt>(loop->getInit()) && kernel.unit->text(loop->getInit()).back() == ';' ? " " : "; ") +
           kernel.unit->text(loop->getCond()) + "; " + kernel.unit->text(loop->getInc()) + ") {\n" + text + "\n}\n";
  };
  auto source = say(assignment->getRHS(), site.turnRead), target = say(assignment->getLHS(), !site.turnRead);
  if (!source || !target) return refusal("the elements cannot be said for the thread that moves them", kernel.unit->where(read.expr->getBeginLoc()));
  std::string tile = freshName(kernel, read.buffer->getNameAsString() + "Tile"), size = std::to_string(site.axes[0].extent);
  std::string stored = tile + "[" + here->slowText.text + "][" + here->fastText.text + "]";
  std::string loaded = tile + "[" + here->fastText.text + "][" + here->slowText.text + "]";
  auto load = guarded(site.turnRead, stored + " = " + source->text + ";");
  auto store = guarded(!site.turnRead, target->text + " = " + loaded + ";");
  if (!load || !store) return refusal("a guard cannot be said for the thread that moves the element", kernel.unit->where(read.expr->getBeginLoc()));
  QualType type = read.element.getUnqualifiedType();
  std::string text = "__shared__ " + type.getAsString(kernel.function->getASTContext().getPrintingPolicy()) + " " + tile + "[" + size + "][" + size + "];\n" +
                     *load + "\n__syncthreads();\n" + *store + "\n";
  // All of it stands where the statement stood with its loop and branches; early returns before it become guards.
  const Stmt *whole = read.statement, *body = kernel.function->getBody();
  while (kernel.parent(whole) && kernel.parent(whole) != body) whole = kernel.parent(whole);
  if (kernel.parent(whole) != body) return refusal("the statement has no place in the kernel's body");
  auto at = kernel.unit->place(whole);
  if (!at) return refusal(at.error().what);
  unsigned length = at->length;
  const std::string &source_ = kernel.unit->sources().files.at(at->file);
  if (source_[at->offset + length] == ';') ++length;
  Edits edits{{at->file, at->offset, length, text}};
  for (const Stmt *stmt : cast<CompoundStmt>(body)->body()) {
    if (stmt == whole) break;
    auto *branch = dyn_cast<IfStmt>(stmt);
    bool decides = branch && std::any_of(read.guards.begin(), read.guards.end(), [&](const Guard &guard) { return guard.condition == branch->getCond(); });
    if (!decides) continue;
    auto place = kernel.unit->place(branch);
    if (!place) return refusal(place.error().what);
    unsigned end = place->offset + place->length;
    if (source_[end] == ';') ++end;
    edits.push_back({place->file, place->offset, end - place->offset, ""});
  }
  return edits;
}

} // namespace klineage
