// vector_load: read neighbouring elements with one wide load.
//
//   expert   for (i = t; i < n / 4; i += T) { float4 v = row4[i]; sum += v.x + v.y + v.z + v.w; }
//            for (i = 4 * (n / 4) + t; i < n; i += T) sum += row[i];
//   plain    for (i = t; i < n; i += T) sum += row[i];
//
// Three forms are taken out: a loop over vectors with a scalar tail behind it, a branch with a scalar twin, and a single wide read (its
// elements are then read one by one). The loop form is what materialize writes, with a run-time check of the alignment.
// Limits: 32-bit scalars, widths 2 and 4, views made by casting a scalar pointer; no volatile.
#include "step/iteration_order.h"
#include "step/lockstep.h"
#include "step/neighbour_reads.h"
#include "step/settled.h"
#include "step/vector_access.h"
#include <algorithm>

namespace klineage {
namespace {
using namespace clang;

bool isWide(const Access &access) { return access.width > 1 && lanesOf(access.accessed) == access.width; }
bool isStaged(Space space) { return space == Space::Global || space == Space::Shared || space == Space::Unknown; }

const Stmt *withoutAttributes(const Stmt *stmt) {
  while (const auto *attributed = dyn_cast_or_null<AttributedStmt>(stmt)) stmt = attributed->getSubStmt();
  return stmt;
}

/// What is taken out at a site.
struct Removal {
  const FunctionDecl *function = nullptr;   // that holds the text
  const IfStmt *branch = nullptr;           // the branch with a scalar twin
  const Loop *loop = nullptr, *tail = nullptr;
  const DeclStmt *tailStart = nullptr;      // `tail = 4 * vectors + t; if (tail < n) ...`
  const IfStmt *tailIf = nullptr;
  const Expr *single = nullptr;             // one wide read
  unsigned width = 4;
};

const FunctionDecl *functionOf(const KernelModel &kernel, const Access &access) {
  if (access.calls.empty()) return kernel.function;
  const FunctionDecl *body = nullptr;
  const auto *callee = access.calls.back()->getDirectCallee();
  return callee && callee->hasBody(body) ? body : kernel.function;
}

/// The nearest branch around a wide read whose other side reads the same buffer in scalars.
const IfStmt *branchWithTwin(const KernelModel &kernel, const Access &access) {
  for (const Stmt *at = access.expr; at; at = kernel.parent(at)) {
    const auto *branch = dyn_cast_or_null<IfStmt>(kernel.parent(at));
    if (!branch || !branch->getElse() || branch->getThen() != at) continue;
    for (const auto &other : kernel.accesses)
      if (other.buffer == access.buffer && other.width == 1 && other.kind == Access::Read && isInside(kernel, other.expr, branch->getElse())) return branch;
  }
  return nullptr;
}

/// Fills in the scalar tail behind a loop over vectors: it begins where the vectors end.
bool findTail(const KernelModel &kernel, const Loop &loop, unsigned width, Removal &removal) {
  Siblings siblings = siblingsOf(kernel, loop.stmt);
  IndexExpr expected = loop.end * IndexExpr(width) + loop.begin;
  for (size_t i = siblings.at + 1; i < siblings.all.size(); ++i) {
    const Stmt *stmt = withoutAttributes(siblings.all[i]);
    if (const auto *next = dyn_cast<ForStmt>(stmt)) {
      const Loop *tail = kernel.loopFor(next);
      if (tail && tail->begin == expected && tail->step == loop.step) {
        removal.tail = tail;
        return true;
      }
    }
    const auto *declaration = dyn_cast<DeclStmt>(stmt);
    if (!declaration || !declaration->isSingleDecl() || i + 1 >= siblings.all.size()) continue;
    const auto *variable = dyn_cast<VarDecl>(declaration->getSingleDecl());
    const auto *guarded = dyn_cast<IfStmt>(withoutAttributes(siblings.all[i + 1]));
    if (!variable || !variable->hasInit() || !variable->getType()->isIntegerType() || !guarded || guarded->getElse()) continue;
    if (!(kernel.lift(variable->getInit()) == expected) || usesOf(guarded->getCond(), variable).empty()) continue;
    removal.tailStart = declaration;
    removal.tailIf = guarded;
    return true;
  }
  return false;
}

bool holdsWideStore(const KernelModel &kernel, const Stmt *part) {
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access &access) {
    return access.kind == Access::Write && isWide(access) && isStaged(access.space) && isInside(kernel, access.expr, part);
  });
}

bool holdsLoop(const KernelModel &kernel, const Stmt *part) {
  return std::any_of(kernel.loops.begin(), kernel.loops.end(), [&](const auto &loop) { return isInside(kernel, loop->stmt, part); });
}

Detection findWideReads(const Version &version) {
  SiteList sites(version);
  for (const auto &kernel : version.kernels)
    for (const auto &access : kernel.accesses) {
      if (access.kind != Access::Read || access.width < 2 || !isStaged(access.space)) continue;
      if (!isWide(access)) {
        sites.decline("unsupported_form", access.expr->getBeginLoc(), whyNoLanes(access));
        continue;
      }
      if (access.isVolatile) {
        sites.decline("unsupported_form", access.expr->getBeginLoc(), "the access is volatile");
        continue;
      }
      Removal removal;
      removal.width = access.width;
      removal.function = functionOf(kernel, access);
      const Stmt *carrier = access.statement;
      std::string kind = "statement", label = access.buffer ? access.buffer->getNameAsString() : "?";
      const Loop *inner = access.loops.empty() ? nullptr : access.loops.back();
      if ((removal.branch = branchWithTwin(kernel, access))) {
        carrier = removal.branch;
        if (holdsLoop(kernel, removal.branch->getThen())) kind = "loop";
      } else if (inner && isInside(kernel, access.expr, inner->stmt) && findTail(kernel, *inner, access.width, removal)) {
        removal.loop = inner;
        carrier = inner->stmt;
        kind = "loop";
      } else {
        removal.single = access.expr;
        carrier = access.expr;
        if (auto view = viewOf(version.unit, access.expr); !view) {
          sites.decline(view.error().what.find("macro") == std::string::npos ? "unsupported_form" : "macro", access.expr->getBeginLoc(), view.error().what);
          continue;
        }
      }
      if (removal.branch)
        if (std::string why = whyNoTwin(kernel, *removal.branch); !why.empty()) {
          sites.decline("unsupported_form", carrier->getBeginLoc(), why);
          continue;
        }
      if (removal.loop && writtenBy(kernel, removal.loop->stmt) != writtenBy(kernel, removal.tail ? static_cast<const Stmt *>(removal.tail->stmt) : removal.tailIf)) {
        sites.decline("unsupported_form", carrier->getBeginLoc(), "the loop over vectors and its tail do not write the same variables and buffers");
        continue;
      }
      if (!removal.single && holdsWideStore(kernel, carrier)) {
        sites.decline("held_by", carrier->getBeginLoc(), "vector_store writes from the same vectors; it goes first");
        continue;
      }
      auto locus = sites.locus(kind, label, carrier->getSourceRange());
      if (!locus) {
        sites.decline(locus.error(), carrier->getBeginLoc());
        continue;
      }
      if (!sites.firstAt(*locus)) continue;
      Site site;
      site.locus = *locus;
      site.kernel = &kernel;
      site.parameters["width"] = access.width;
      site.carrier = carrier->getSourceRange();
      site.keep(removal);
      sites.add(std::move(site));
    }
  return sites.take();
}

std::string initText(const Unit &unit, const Loop &loop) { return loop.variable->getInit() ? unit.text(loop.variable->getInit()) : std::string(); }

/// "i += T" as text for another variable.
std::string stepText(const Unit &unit, const Loop &loop, const std::string &variable) {
  const auto *increment = loop.stmt->getInc()->IgnoreParens();
  if (isa<UnaryOperator>(increment)) return "++" + variable;
  if (const auto *assign = dyn_cast<CompoundAssignOperator>(increment)) return variable + " += " + unit.text(assign->getRHS());
  return {};
}

Result<Edits> takeOut(const Version &version, const Site &site, const Parameters &) {
  const Unit &unit = version.unit;
  const auto &removal = site.as<Removal>();
  Edits edits;
  if (removal.single) {
    auto view = viewOf(unit, removal.single);
    if (!view) return view.error();
    // A copy into another view is written element by element; a value is put together again.
    std::string values;
    for (unsigned lane = 0; lane < view->width; ++lane) values += (lane ? ", " : "") + view->element(lane);
    const Stmt *holder = site.kernel->parent(removal.single);
    while (holder && (isa<ImplicitCastExpr>(holder) || isa<CXXConstructExpr>(holder) || isa<ParenExpr>(holder))) holder = site.kernel->parent(holder);
    const Expr *target = nullptr;
    if (const auto *assign = dyn_cast_or_null<CXXOperatorCallExpr>(holder); assign && assign->getOperator() == OO_Equal) target = assign->getArg(0);
    if (const auto *assign = dyn_cast_or_null<BinaryOperator>(holder); assign && assign->getOpcode() == BO_Assign) target = assign->getLHS();
    bool alone = false;
    if (target && target != removal.single && isListed(*site.kernel, holder, &alone)) {
      if (auto into = viewOf(unit, target)) {
        auto place = statementPlace(unit, holder);
        if (!place) return place.error();
        std::string text;
        for (unsigned lane = 0; lane < view->width; ++lane) text += into->element(lane) + " = " + view->element(lane) + ";\n";
        edits.push_back({place->file, place->offset, place->length, alone ? "{\n" + text + "}" : text});
        for (auto &dead : removeDeadLocals(unit, removal.function, {removal.single})) edits.push_back(dead);
        return edits;
      }
    }
    auto edit = replace(unit, removal.single->getSourceRange(), "make_" + view->vectorType + "(" + values + ")");
    if (!edit) return edit.error();
    edits.push_back(*edit);
    for (auto &dead : removeDeadLocals(unit, removal.function, {removal.single})) edits.push_back(dead);
    return edits;
  }
  if (removal.branch) return keepTwin(unit, removal.function, *removal.branch);
  const Loop &loop = *removal.loop;
  auto place = statementPlace(unit, loop.stmt);
  if (!place) return place.error();
  std::string begin = initText(unit, loop);
  if (begin.empty()) return refusal("the loop's start has no text", unit.where(loop.stmt->getBeginLoc()));
  edits.push_back({place->file, place->offset, place->length, ""});
  if (loop.pragmaRange.isValid()) {
    auto pragma = replace(unit, loop.pragmaRange, "");
    if (!pragma) return pragma.error();
    edits.push_back(*pragma);
  }
  std::vector<const Stmt *> going{loop.stmt};
  if (removal.tail) {
    auto start = replace(unit, removal.tail->variable->getInit()->getSourceRange(), begin);
    if (!start) return start.error();
    edits.push_back(*start);
    going.push_back(removal.tail->variable->getInit());
  } else {
    const auto *variable = cast<VarDecl>(removal.tailStart->getSingleDecl());
    std::string name = variable->getNameAsString(), step = stepText(unit, loop, name);
    auto declaration = statementPlace(unit, removal.tailStart);
    auto guard = statementPlace(unit, removal.tailIf);
    if (!declaration) return declaration.error();
    if (!guard) return guard.error();
    if (step.empty()) return refusal("the loop's step has no text", unit.where(loop.stmt->getBeginLoc()));
    std::string header = "for (" + variable->getType().getUnqualifiedType().getAsString() + " " + name + " = " + begin + "; " + unit.text(removal.tailIf->getCond()) + "; " + step + ") ";
    edits.push_back({declaration->file, declaration->offset, declaration->length, ""});
    edits.push_back({guard->file, guard->offset, guard->length, header + statementText(unit, removal.tailIf->getThen())});
    going.push_back(removal.tailStart);
  }
  for (auto &dead : removeDeadLocals(unit, removal.function, going)) edits.push_back(dead);
  return edits;
}

/// A scalar loop that may go by vectors, or scalar reads side by side that one wide read may take the place of.
struct Run {
  const Loop *loop = nullptr;
  std::vector<const Access *> reads; // each at base + i
  NeighbourReads neighbours;         // without a loop
};

/// Text of the address of element 0 of a read that runs with the loop, or nothing.
std::string rowText(const Unit &unit, const Access &read, const Loop &loop) {
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(read.expr->IgnoreParenImpCasts()))
    if (const auto *index = dyn_cast<DeclRefExpr>(subscript->getIdx()->IgnoreParenImpCasts()); index && index->getDecl() == loop.variable) {
      const Expr *base = subscript->getBase()->IgnoreParenImpCasts();
      if (usesOf(base, loop.variable).empty()) return unit.text(base);
    }
  // The index keeps its own words, and so its types: a size_t in it must not become an int.
  std::map<const Stmt *, std::string> zero;
  for (const auto *use : usesOf(read.expr, loop.variable)) zero[use] = "0";
  std::string text = unit.textWith(read.expr, zero);
  if (text.empty()) return {};
  if (size_t tail = text.rfind(" + 0]"); tail != std::string::npos && tail + 5 == text.size()) text.replace(tail, 5, "]");
  return "&" + text;
}

void findNeighbours(const Version &version, const KernelModel &kernel, SiteList &sites) {
  for (NeighbourReads &neighbours : findNeighbourReads(kernel)) {
    const Access &first = neighbours.lowest();
    // The scalar side of a run-time check has its wide twin already.
    bool isTwin = false;
    for (const Stmt *at = neighbours.first; at; at = kernel.parent(at))
      if (const auto *branch = dyn_cast_or_null<IfStmt>(kernel.parent(at)); branch && branch->getElse() == at)
        for (const auto &other : kernel.accesses) isTwin |= other.buffer == first.buffer && isWide(other) && isInside(kernel, other.expr, branch->getThen());
    if (isTwin) continue;
    if (!neighbours.why.empty()) {
      sites.decline("unsupported_form", first.expr->getBeginLoc(), neighbours.why);
      continue;
    }
    auto locus = sites.locus("statement", first.buffer->getNameAsString(), first.expr->getSourceRange());
    if (!locus) {
      sites.decline(locus.error(), first.expr->getBeginLoc());
      continue;
    }
    if (!sites.firstAt(*locus)) continue;
    Site site;
    site.locus = *locus;
    site.kernel = &kernel;
    site.parameters["width"] = neighbours.width();
    site.facts["row"] = first.buffer;
    site.facts["loop"] = neighbours.region;
    site.facts["order_free"] = int64_t{1}; // read in the same place, used in the same order
    site.facts["length"] = first.index;
    site.carrier = neighbours.first->getSourceRange();
    Run run;
    run.neighbours = std::move(neighbours);
    site.keep(run);
    sites.add(std::move(site));
  }
}

Detection findScalarRuns(const Version &version) {
  SiteList sites(version);
  for (const auto &kernel : version.kernels) {
    for (const auto &each : kernel.loops) {
      const Loop &loop = *each;
      Run run{&loop, {}, {}};
      bool alreadyWide = false;
      AtomRef variable = loopVariable(loop.variable);
      for (const auto &access : kernel.accesses) {
        if (!isInside(kernel, access.expr, loop.stmt)) continue;
        alreadyWide |= isWide(access);
        if (access.kind != Access::Read || access.space != Space::Global || access.width != 1 || access.isVolatile || access.loops.empty() || access.loops.back() != &loop) continue;
        if (vectorTypeOf(access.accessed, 4).empty() || !access.buffer) continue;
        if (access.index.coefficient(variable) == IndexExpr(1) && !access.index.coefficient(variable).mentions(variable) &&
            !access.index.substitute(variable, IndexExpr(0)).mentions(variable))
          run.reads.push_back(&access);
      }
      if (run.reads.empty()) continue;
      auto where = loop.stmt->getForLoc();
      if (alreadyWide) {
        sites.decline("unsupported_form", where, "the loop already moves vectors");
        continue;
      }
      if (!loop.calls.empty()) {
        sites.decline("unsupported_form", where, "the loop stands in a helper");
        continue;
      }
      if (Exchange exchange = exchangeIn(loop.stmt); exchange.shuffle || exchange.barrier) {
        sites.decline("unsupported_form", where, "threads exchange values in the loop");
        continue;
      }
      Changes changes(kernel, {loop.stmt});
      const VarDecl *moving = nullptr;
      for (const Access *read : run.reads)
        if (!moving) moving = changes.of(read->expr, loop.variable);
      if (moving) {
        sites.decline("unsupported_form", where, "the row's address holds " + moving->getNameAsString() + ", which changes in the loop");
        continue;
      }
      IterationOrder order = iterationOrder(kernel, loop);
      if (!order.why.empty()) {
        sites.decline("unsupported_form", where, order.why);
        continue;
      }
      if (!threadsCover(kernel, loop)) {
        sites.decline("unsupported_form", where, "the threads do not share out the iterations evenly, so four neighbours cannot change hands");
        continue;
      }
      auto locus = sites.locus("loop", run.reads.front()->buffer->getNameAsString(), loop.stmt->getSourceRange());
      if (!locus) {
        sites.decline(locus.error(), where);
        continue;
      }
      if (!sites.firstAt(*locus)) continue;
      Site site;
      site.locus = *locus;
      site.kernel = &kernel;
      site.facts["row"] = run.reads.front()->buffer;
      site.facts["loop"] = &loop;
      site.facts["order_free"] = int64_t{order.free};
      site.facts["length"] = loop.end;
      site.carrier = loop.stmt->getSourceRange();
      site.keep(run);
      sites.add(std::move(site));
    }
    findNeighbours(version, kernel, sites);
  }
  return sites.take();
}

Result<Edits> toWide(const Version &version, const Site &site, const Parameters &parameters) {
  const Unit &unit = version.unit;
  const auto &run = site.as<Run>();
  if (!run.loop) return readNeighboursWide(version, *site.kernel, run.neighbours);
  const Loop &loop = *run.loop;
  auto chosen = parameters.find("width");
  unsigned width = chosen == parameters.end() ? 4 : static_cast<unsigned>(chosen->second);
  auto place = statementPlace(unit, loop.stmt);
  if (!place) return place.error();
  std::string variable = loop.variable->getNameAsString(), type = loop.variable->getType().getUnqualifiedType().getAsString();
  std::string begin = initText(unit, loop), step = stepText(unit, loop, variable);
  auto end = site.kernel->spelled(loop.end);
  if (const auto *compare = dyn_cast<BinaryOperator>(loop.stmt->getCond()->IgnoreParens()); compare && compare->getOpcode() == BO_LT)
    end = unit.text(compare->getRHS());
  if (begin.empty() || step.empty() || !end) return refusal("the loop's bounds have no text at this place", unit.where(loop.stmt->getBeginLoc()));

  // One vector variable a row that is read; rows that are read twice share it.
  std::map<std::string, std::string> vectorOf; // row text to variable
  std::map<const Stmt *, std::string> perRead;
  std::string loads, aligned;
  for (const Access *read : run.reads) {
    std::string row = rowText(unit, *read, loop);
    if (row.empty()) return refusal("the address of " + read->buffer->getNameAsString() + " has no text at this place", unit.where(read->expr->getBeginLoc()));
    auto [known, isNew] = vectorOf.try_emplace(row, "");
    if (isNew) {
      known->second = unusedName(version.unit.sources(), read->buffer->getNameAsString() + "Lanes");
      std::string vector = vectorTypeOf(read->accessed, width);
      loads += "const " + vector + " " + known->second + " = reinterpret_cast<const " + vector + " *>(" + row + ")[" + variable + "];\n";
      aligned += (aligned.empty() ? "" : " && ") + std::string("reinterpret_cast<size_t>(") + row + ") % " + std::to_string(4 * width) + " == 0";
    }
    perRead[read->expr] = known->second;
  }
  const Stmt *body = loop.stmt->getBody();
  std::string lanes;
  for (unsigned lane = 0; lane < width; ++lane) {
    std::map<const Stmt *, std::string> with;
    for (const auto &[read, vector] : perRead) with[read] = vector + "." + component(lane);
    std::string index = "(" + std::to_string(width) + " * " + variable + (lane ? " + " + std::to_string(lane) : "") + ")";
    for (const auto *use : usesOf(body, loop.variable)) {
      bool covered = std::any_of(perRead.begin(), perRead.end(), [&](const auto &read) { return isInside(*site.kernel, use, read.first); });
      if (!covered) with[use] = index;
    }
    std::string text = unit.textWith(body, with);
    if (text.empty()) return refusal("the loop's body has no text (a macro)", unit.where(body->getBeginLoc()));
    lanes += isa<CompoundStmt>(body) ? text + "\n" : text + ";\n";
  }
  std::string vectors = unusedName(version.unit.sources(), "vectors"), w = std::to_string(width);
  std::string pragma = loop.pragmaRange.isValid() ? "\n" + unit.text(loop.pragmaRange) + "\n" : "";
  std::string text = "const " + type + " " + vectors + " = " + aligned + " ? (" + *end + ") / " + w + " : 0;\n" + pragma + "for (" + type + " " + variable + " = " + begin + "; " + variable + " < " +
                     vectors + "; " + step + ") {\n" + loads + lanes + "}\nfor (" + type + " " + variable + " = " + w + " * " + vectors + " + " + begin + "; " + unit.text(loop.stmt->getCond()) + "; " +
                     step + ") " + statementText(unit, body);
  Edits edits;
  unsigned from = place->offset, length = place->length;
  if (!pragma.empty()) {
    auto at = unit.place(loop.pragmaRange);
    if (!at) return at.error();
    length += from - at->offset;
    from = at->offset;
  }
  // A loop that is the only statement of a branch needs braces for its three successors.
  bool inCompound = isa_and_nonnull<CompoundStmt>(site.kernel->parent(loop.stmt)) ||
                    (isa_and_nonnull<AttributedStmt>(site.kernel->parent(loop.stmt)) && isa_and_nonnull<CompoundStmt>(site.kernel->parent(site.kernel->parent(loop.stmt))));
  edits.push_back({place->file, from, length, inCompound ? text : "{\n" + text + "\n}"});
  return edits;
}

} // namespace

extern const Step vector_load = {
    .summary = "read neighbouring elements with one wide load",
    .stage = Stage::Memory,
    .revision = 1,
    .params = {{"width", oneOf({4, 2}), "elements a load"}},
    .conditions = {{"order_free", "order_free == 1", Soundness},
                   {"no_store_between", "unwritten(row, loop)", Soundness},
                   {"rows_aligned", "aligned(row, 4 * width) and divisible(length, width)", Profit}},
    .codegen = {.added = {"ld.global.v4", "ld.global.nc.v4", "ld.global.v2"}, .removed = {}},
    .intent = "Let each thread read 16 (or 8) neighbouring bytes with one instruction instead of four: fewer load instructions and address computations for the same "
              "bytes, and more bytes in flight a thread. It pays where a kernel waits for memory and the rows are aligned; elsewhere the scalar tail does all the work.",
    .simplify = {.detect = findWideReads, .edit = takeOut},
    .materialize = {.detect = findScalarRuns, .edit = toWide},
};

} // namespace klineage
