// shared_tile: keep a tile that a block reads several times, or in the wrong direction, in shared memory.
//
//   expert   for (t = 0; t < n; t += 16) { s[ty][tx] = a[row * n + t + tx]; __syncthreads(); for (k...) sum += s[ty][k] * ...; __syncthreads(); }
//   plain    for (k = 0; k < n; ++k) sum += a[row * n + k] * ...;
//
// Limits: copies of global memory only (a reduction's scratch is no tile); each read sees the copy of its own iteration;
// padding, double buffering and wide accesses of the tile are taken out first.
#include "step/padding.h"
#include "step/promotion.h"
#include "step/source_text.h"
#include "step/staging.h"
#include "step/tidy.h"

namespace klineage {
namespace {

using namespace clang;

/// How many steps of the loop around it a tile covers; for a tile without such a loop its inner extent.
int64_t tileOf(const Staging &staging) {
  if (!staging.common.empty()) {
    const Loop *loop = staging.common.back();
    if (auto step = loop->step.constant(); step && *step > 1) return *step;
    for (const Access *read : staging.reads)
      if (read->loops.size() > staging.common.size())
        if (auto trips = read->loops[staging.common.size()]->tripCount()) return *trips;
  }
  if (!staging.buffer->extents.empty()) return staging.buffer->extents.back();
  const KernelModel &kernel = *staging.kernel;
  return kernel.launches.empty() ? 1 : kernel.launches.front().blockSize(0).value_or(1);
}

Detection tiles(const Version &version) {
  Detection found;
  std::set<std::pair<std::string, unsigned>> seen;
  for (const KernelModel &kernel : version.kernels)
    for (const Buffer &buffer : kernel.buffers) {
      if (buffer.space != Space::Shared) continue;
      auto place = version.unit.place(SourceRange(buffer.decl->getLocation(), buffer.decl->getLocation()));
      if (!place) {
        found.declines.push_back(declineAt(kernel, "macro", buffer.decl, place.error().what));
        continue;
      }
      if (!seen.insert({place->file, place->offset}).second) continue;
      auto staged = stagingOf(kernel, buffer);
      if (auto *no = std::get_if<NotStaged>(&staged)) {
        if (!no->quiet) found.declines.push_back(no->decline);
        continue;
      }
      Staging &staging = std::get<Staging>(staged);
      if (paddingOf(kernel, buffer)) {
        found.declines.push_back(declineAt(kernel, "held_by", buffer.decl, buffer.decl->getNameAsString() + " is padded; take out shared_pad first"));
        continue;
      }
      std::optional<Decline> declined;
      for (const StagedCopy &copy : staging.copies)
        for (const Loop *loop : copy.ownLoops)
          if (loop->unrollPragma) declined = declineAt(kernel, "held_by", loop->stmt, "the loop that fills " + buffer.decl->getNameAsString() + " is unrolled; take out unroll first");
      for (const Access *read : staging.reads)
        if (!declined && !withoutStaging(staging, *read))
          declined = declineAt(kernel, "opaque_index", read->expr, "the subscripts do not tell which copied element " + version.unit.text(read->expr) + " is");
      if (declined) {
        found.declines.push_back(*declined);
        continue;
      }
      Site site;
      site.locus = {"buffer", buffer.decl->getNameAsString(), place->file, place->offset};
      site.kernel = &kernel;
      site.parameters["tile"] = tileOf(staging);
      site.facts["source"] = staging.sources.front();
      site.carrier = staging.copies.front().statement->getSourceRange();
      bindTileFacts(site, kernel, staging.common.empty() ? nullptr : staging.common.back(), staging.sources.front(), 0);
      site.keep(std::move(staging));
      found.sites.push_back(std::move(site));
    }
  return found;
}

Piece::Precedence contextOf(const KernelModel &kernel, const Expr *expr) {
  const Stmt *child = expr, *parent = kernel.parent(expr);
  while (parent && isa<ImplicitCastExpr>(parent)) child = parent, parent = kernel.parent(parent);
  if (auto *op = dyn_cast_or_null<BinaryOperator>(parent)) {
    if (op->isAssignmentOp()) return Piece::Any;
    Piece::Precedence own = precedenceOf(op->getOpcode());
    return op->getRHS() == child ? Piece::Precedence(own - 1) : own;
  }
  if (auto *subscript = dyn_cast_or_null<ArraySubscriptExpr>(parent)) return subscript->getIdx() == child ? Piece::Any : Piece::Primary;
  if (parent && (isa<CXXOperatorCallExpr>(parent) || isa<UnaryOperator>(parent) || isa<CastExpr>(parent) || isa<MemberExpr>(parent) || isa<ConditionalOperator>(parent)))
    return Piece::Primary;
  return Piece::Any;
}

/// Helpers that brought the tile's elements and that nobody calls any more.
Edits withoutHelpers(const Unit &unit, const Staging &staging) {
  std::set<std::string> names;
  for (const StagedCopy &copy : staging.copies)
    for (const Alternative &one : copy.resolved)
      for (const CallExpr *call : one.value.calls)
        if (call->getDirectCallee()) names.insert(call->getDirectCallee()->getNameAsString());
  struct Finder : RecursiveASTVisitor<Finder> {
    const std::set<std::string> *names;
    std::vector<const FunctionDecl *> defined;
    std::set<std::string> used;
    bool shouldVisitTemplateInstantiations() const { return true; }
    bool VisitFunctionDecl(FunctionDecl *function) {
      if (function->isThisDeclarationADefinition() && names->count(function->getNameAsString())) defined.push_back(function);
      return true;
    }
    bool VisitDeclRefExpr(DeclRefExpr *ref) {
      if (isa<FunctionDecl>(ref->getDecl())) used.insert(ref->getDecl()->getNameAsString());
      return true;
    }
    bool VisitOverloadExpr(OverloadExpr *ref) { return used.insert(ref->getName().getAsString()), true; }
  } finder;
  finder.names = &names;
  if (!names.empty()) finder.TraverseDecl(unit.ast(Side::Device).getTranslationUnitDecl());
  Edits edits;
  for (const FunctionDecl *function : finder.defined) {
    if (finder.used.count(function->getNameAsString()) || function->isExternallyVisible()) continue;
    if (auto edit = removeFunction(unit, function)) edits.push_back(*edit);
  }
  return edits;
}

Result<Edits> takeOut(const Version &version, const Site &site, const Parameters &) {
  const Staging &staging = site.as<Staging>();
  const KernelModel &kernel = *site.kernel;
  Edits edits;
  for (const Access *read : staging.reads) {
    auto piece = withoutStaging(staging, *read);
    if (!piece) return piece.error();
    auto place = version.unit.place(read->expr);
    if (!place) return refusal(place.error().what, version.unit.where(read->expr->getBeginLoc()));
    edits.push_back({place->file, place->offset, place->length, piece->within(contextOf(kernel, read->expr))});
  }
  for (const Stmt *fill : staging.fillStatements) {
    auto edit = removal(version.unit, fill);
    if (!edit) return edit.error();
    edits.push_back(*edit);
  }
  // Dynamic shared memory may be named by pointers into it: what nobody names any more goes with the dead code.
  if (auto *variable = cast<VarDecl>(staging.buffer->decl); !variable->hasExternalStorage()) {
    auto declaration = removal(kernel, variable);
    if (!declaration) return declaration.error();
    edits.push_back(*declaration);
  }
  Draft draft(version);
  if (Status applied = draft.apply(edits); !applied) return applied.error();
  if (Status tidied = tidy(draft, kernel); !tidied) return tidied.error();
  if (Edits helpers = withoutHelpers(draft.unit(), staging); !helpers.empty())
    if (Status applied = draft.apply(helpers); !applied) return applied.error();
  if (Edits bytes = withoutSharedBytes(*draft.kernel(kernel)); !bytes.empty())
    if (Status applied = draft.apply(bytes); !applied) return applied.error();
  return draft.finish();
}

} // namespace

extern const Step shared_tile = {
    .summary = "keep a tile that a block reads several times, or in the wrong direction, in shared memory",
    .stage = Stage::Structure,
    .revision = 1,
    .params = {{"tile", oneOf({16, 32, 8}), "steps of the reduction loop that one tile covers (elements)"}},
    .conditions =
        {
            {"source_unwritten", "unwritten(source)", Soundness},
            {"uniform_trips", "uniform(bounds)", Soundness},
            {"fits_shared", "shared_bytes + tile * bytes_per_step <= shared_limit", Soundness},
            {"reused", "reuse >= 2", Profit},
        },
    .codegen = {.added = {"st.shared", "ld.shared", "bar.sync"}, .removed = {}},
    .intent = "Bring the tile of a global array that a whole block needs into shared memory once, with neighbouring threads reading neighbouring "
              "elements, and read it from there. It pays because each element then crosses the memory system once a block instead of once a "
              "thread, and because a transposed access costs bank cycles instead of whole sectors.",
    .simplify = {.detect = tiles, .edit = takeOut},
    .materialize = {.detect = promotions, .edit = promote},
};

} // namespace klineage
