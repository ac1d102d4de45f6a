#include "step/neighbour_reads.h"
#include "step/settled.h"
#include <algorithm>

namespace klineage {
namespace {
using namespace clang;

/// The statement of a list that makes the read whenever it runs; null where a branch of its own decides.
const Stmt *listedStatement(const KernelModel &kernel, const Access &access) {
  const Stmt *child = access.expr;
  for (const Stmt *at = kernel.parent(child); at; child = at, at = kernel.parent(at)) {
    if (isa<CompoundStmt>(at)) return child;
    if (isa<LambdaExpr>(at)) return nullptr;
    if (const auto *choice = dyn_cast<AbstractConditionalOperator>(at); choice && choice->getCond() != child) return nullptr;
    if (const auto *logical = dyn_cast<BinaryOperator>(at); logical && logical->isLogicalOp() && logical->getLHS() != child) return nullptr;
    if (!isa<Expr>(at) && !isa<DeclStmt>(at)) return nullptr;
  }
  return nullptr;
}

bool movesByWholeVectors(const IndexExpr &index, unsigned width) {
  for (const AtomRef &atom : index.atoms()) {
    if (atom->kind != Atom::ThreadIdx && atom->kind != Atom::BlockIdx && atom->kind != Atom::LoopVariable) continue;
    if (auto step = index.coefficient(atom).constant(); step && *step % int64_t(width) != 0) return false;
  }
  return true;
}

struct Candidate {
  const Access *access;
  const Stmt *statement;
  const Stmt *list;
};

std::vector<const Candidate *> neighboursOf(const std::vector<Candidate> &all, const Candidate &from, int64_t distance) {
  std::vector<const Candidate *> found;
  for (const Candidate &one : all)
    if (one.access->buffer == from.access->buffer && one.list == from.list && one.access->index - from.access->index == IndexExpr(distance)) found.push_back(&one);
  return found;
}

unsigned positionIn(const Stmt *list, const Stmt *statement) {
  const auto *body = cast<CompoundStmt>(list);
  return static_cast<unsigned>(std::find(body->body_begin(), body->body_end(), statement) - body->body_begin());
}

/// The declaration of a shared array whose alignment can be settled there, so that no address has to be asked. Every run begins at whole vectors of it.
const DeclStmt *alignableArray(const KernelModel &kernel, const Access &first, unsigned width) {
  const auto *array = dyn_cast<VarDecl>(first.buffer);
  if (!array || first.space != Space::Shared || !array->hasAttr<CUDASharedAttr>() || array->hasExternalStorage() || !array->getType()->isConstantArrayType()) return nullptr;
  if (knownDivisor(first.index) % width != 0 && !(first.index == IndexExpr(0))) return nullptr;
  struct Finder : RecursiveASTVisitor<Finder> {
    const VarDecl *wanted = nullptr;
    const DeclStmt *found = nullptr;
    bool VisitDeclStmt(DeclStmt *stmt) {
      if (stmt->isSingleDecl() && stmt->getSingleDecl() == wanted) found = stmt;
      return true;
    }
  } finder;
  finder.wanted = array;
  finder.TraverseStmt(kernel.function->getBody());
  return finder.found;
}

} // namespace

namespace {

/// Between the place of the wide read and each scalar one nothing changes the address, and everything in between runs.
std::string whyNotInOneGo(const KernelModel &kernel, const NeighbourReads &run) {
  for (const auto &lane : run.lanes)
    for (const Access *read : lane) {
      Changes changes(kernel, stretch(kernel, run.first, listedStatement(kernel, *read)));
      if (const VarDecl *variable = changes.of(read->expr)) return "the address holds " + variable->getNameAsString() + ", which changes between the reads";
      if (!changes.interruption().empty()) return changes.interruption();
      if (read->expr->HasSideEffects(kernel.function->getASTContext(), /*IncludePossibleEffects=*/false)) return "the address has side effects";
    }
  return {};
}

} // namespace

std::vector<NeighbourReads> findNeighbourReads(const KernelModel &kernel) {
  std::vector<Candidate> all;
  for (const Access &access : kernel.accesses) {
    if (access.kind != Access::Read || access.width != 1 || access.isVolatile || !access.exact || !access.calls.empty() || !access.buffer) continue;
    if ((access.space != Space::Global && access.space != Space::Shared) || vectorTypeOf(access.accessed, 4).empty()) continue;
    const Stmt *statement = listedStatement(kernel, access);
    if (statement) all.push_back({&access, statement, kernel.parent(statement)});
  }
  std::vector<NeighbourReads> runs;
  std::set<const Access *> taken;
  for (unsigned width : {4u, 2u})
    for (const Candidate &first : all) {
      if (taken.count(first.access) || !movesByWholeVectors(first.access->index, width)) continue;
      // Vectors begin at multiples of their width above the lowest neighbour.
      int64_t below = 0;
      while (!neighboursOf(all, first, -(below + 1)).empty()) ++below;
      if (below % width != 0) continue;
      NeighbourReads run;
      std::vector<const Stmt *> statements;
      for (unsigned lane = 0; lane < width; ++lane) {
        auto reads = neighboursOf(all, first, lane);
        if (reads.empty() || taken.count(reads.front()->access)) break;
        run.lanes.emplace_back();
        for (const Candidate *one : reads) {
          run.lanes.back().push_back(one->access);
          statements.push_back(one->statement);
        }
      }
      if (run.width() != width) continue;
      run.first = *std::min_element(statements.begin(), statements.end(), [&](const Stmt *a, const Stmt *b) { return positionIn(first.list, a) < positionIn(first.list, b); });
      bool several = std::any_of(statements.begin(), statements.end(), [&](const Stmt *one) { return one != run.first; });
      run.region = several ? first.list : run.first;
      run.why = whyNotInOneGo(kernel, run);
      for (const auto &lane : run.lanes) taken.insert(lane.begin(), lane.end());
      runs.push_back(std::move(run));
    }
  return runs;
}

Result<Edits> readNeighboursWide(const Version &version, const KernelModel &kernel, const NeighbourReads &run) {
  const Unit &unit = version.unit;
  const Access &first = run.lowest();
  std::string address = unit.text(first.expr), vector = vectorTypeOf(first.accessed, run.width()), lanes = unusedName(unit.sources(), first.buffer->getNameAsString() + "Lanes"), scalars;
  if (address.empty()) return refusal("the reads have no text (a macro)", unit.where(first.expr->getBeginLoc()));
  Edits edits;
  for (unsigned lane = 0; lane < run.width(); ++lane) {
    scalars += (lane ? ", " : "") + unit.text(run.lanes[lane].front()->expr);
    for (const Access *read : run.lanes[lane]) {
      auto edit = replace(unit, read->expr->getSourceRange(), lanes + "." + component(lane));
      if (!edit) return edit.error();
      edits.push_back(*edit);
    }
  }
  auto place = statementPlace(unit, run.first);
  if (!place) return place.error();
  std::string wide = "*reinterpret_cast<const " + vector + " *>(&" + address + ")", bytes = std::to_string(4 * run.width());
  if (const DeclStmt *declaration = alignableArray(kernel, first, run.width())) {
    const auto *array = cast<VarDecl>(first.buffer);
    if (unit.ast(Side::Device).toCharUnitsFromBits(array->getMaxAlignment()).getQuantity() < 4 * run.width()) {
      auto at = unit.place(declaration);
      if (!at) return at.error();
      edits.push_back({at->file, at->offset, 0, "__align__(" + bytes + ") "});
    }
  } else {
    wide = "reinterpret_cast<size_t>(&" + address + ") % " + bytes + " == 0 ? " + wide + " : make_" + vector + "(" + scalars + ")";
  }
  std::string text = "const " + vector + " " + lanes + " = " + wide + ";\n";
  edits.push_back({place->file, place->offset, 0, text});
  return edits;
}

} // namespace klineage
