#include "step/promotion.h"
#include "step/block_tile.h"
#include "step/loop_tiling.h"
#include "step/padding.h"
#include "step/staging.h"
#include "step/tidy.h"
#include "step/transposition.h"

namespace klineage {
namespace {

using namespace clang;

/// A read that several threads make of the same element, in a loop that a tile can follow.
struct Reuse {
  const Access *read = nullptr;
  const Loop *loop = nullptr;   ///< Runs along the tile.
  const Loop *tiles = nullptr;  ///< The loop over tiles, when there is one already.
  std::vector<ThreadAxis> axes;
};

struct PromotionSite {
  Reuse reuse;
  std::optional<Turn> turn;
  std::optional<BlockTile> block;
};

std::optional<int64_t> tileStep(const Loop &inner) {
  const Loop *outer = inner.parent;
  if (!outer || !(inner.begin == IndexExpr(0)) || !(inner.step == IndexExpr(1))) return std::nullopt;
  auto tile = inner.end.constant();
  return tile && outer->step == IndexExpr(*tile) ? tile : std::nullopt;
}

/// The whole conditional read `inside ? a[i] : 0`, or the read alone.
const Expr *guardedRead(const KernelModel &kernel, const Access &access) {
  const Expr *whole = access.expr;
  const Stmt *at = kernel.parent(whole);
  while (at && (isa<ParenExpr>(at) || isa<ImplicitCastExpr>(at))) at = kernel.parent(at);
  auto *choice = dyn_cast_or_null<ConditionalOperator>(at);
  if (!choice || choice->getTrueExpr()->IgnoreParenImpCasts() != access.expr->IgnoreParens()) return whole;
  return choice;
}

/// Rewrites a tile loop so that the read goes through a shared tile.
class Promotion {
public:
  Promotion(const KernelModel &kernel, const Reuse &reuse) : kernel(kernel), reuse(reuse) {}
  Result<Edits> edits();

private:
  const KernelModel &kernel;
  const Reuse &reuse;

  struct Dimension {
    AtomRef atom;           ///< A thread axis or the loop variable.
    int64_t extent = 0;
    std::string read;       ///< As the computing thread says it.
    std::string copy;       ///< As the copying thread says it.
    std::string loop;       ///< The head of the copying loop, when one thread copies several.
    IndexExpr copyIndex;
  };
  void share(Dimension &dimension, const ThreadAxis *axis, const char *name) const;
};

void Promotion::share(Dimension &dimension, const ThreadAxis *axis, const char *name) const {
  if (axis && axis->extent == dimension.extent) {
    dimension.copy = axis->text, dimension.copyIndex = IndexExpr::of(axis->atom);
    return;
  }
  std::string variable = freshName(kernel, name);
  dimension.copy = variable;
  dimension.copyIndex = IndexExpr::of(writtenQuantity(variable));
  std::string first = axis ? axis->text : "0", step = axis ? std::to_string(axis->extent) : "1";
  dimension.loop = "for (int " + variable + " = " + first + "; " + variable + " < " + std::to_string(dimension.extent) + "; " + variable + " += " + step + ") ";
}

Result<Edits> Promotion::edits() {
  const Access &read = *reuse.read;
  const Loop &inner = *reuse.loop, &outer = *reuse.tiles;
  AtomRef along = loopVariable(inner.variable);
  std::vector<Dimension> dimensions;
  dimensions.push_back({along, *inner.end.constant(), inner.variable->getNameAsString(), {}, {}, {}});
  for (const ThreadAxis &axis : reuse.axes)
    if (axis.decides(read.index)) dimensions.push_back({axis.atom, axis.extent, axis.text, {}, {}, {}});
  if (dimensions.size() > 2) return refusal("the tile of " + read.buffer->getNameAsString() + " would have three dimensions");
  // The neighbours in memory come last, and neighbouring threads bring them.
  std::stable_sort(dimensions.begin(), dimensions.end(), [&](const Dimension &a, const Dimension &b) {
    auto fast = [&](const Dimension &one) { return read.index.coefficient(one.atom) == IndexExpr(1); };
    return !fast(a) && fast(b);
  });
  const ThreadAxis *fastAxis = &reuse.axes[0], *slowAxis = reuse.axes.size() > 1 ? &reuse.axes[1] : nullptr;
  share(dimensions.back(), fastAxis, "c");
  if (dimensions.size() == 2) share(dimensions.front(), slowAxis, "r");

  PlaceInKernel place(kernel, inner.stmt);
  std::vector<Meeting> meetings;
  std::vector<AtomRef> own;
  for (const Dimension &dimension : dimensions) {
    place.spell(writtenQuantity(dimension.copy), dimension.copy);
    if (dimension.copyIndex == IndexExpr::of(dimension.atom)) continue;
    meetings.push_back({IndexExpr::of(dimension.atom), dimension.copyIndex, Piece{dimension.copy, dimension.loop.empty() ? Piece::Product : Piece::Primary}});
    own.push_back(dimension.atom);
  }
  Remap remap(kernel, place, meetings, own);
  std::string condition;
  for (const Guard &guard : read.guards) {
    // Guards around the whole tile loop hold for everything in it.
    bool outside = false;
    for (const Guard &each : kernel.guardsOf(outer.stmt)) outside |= each.condition == guard.condition;
    if (outside) continue;
    for (const Conjunct &part : conjunctsOf(kernel, guard.condition, guard.negated)) {
      bool others = false;
      for (const ThreadAxis &axis : reuse.axes)
        others |= part.positive && axis.decides(*part.positive) && !axis.decides(read.index);
      if (others) continue;
      auto text = remap.print(part.expr);
      if (!text) return refusal("the guard " + kernel.unit->text(part.expr) + " cannot be said for the thread that copies", kernel.unit->where(part.expr->getBeginLoc()));
      condition += (condition.empty() ? "" : " && ") + (part.negated ? "!(" + text->text + ")" : text->within(Piece::And));
    }
  }
  auto value = remap.print(read.expr);
  if (!value) return refusal("the element that a thread copies cannot be said", kernel.unit->where(read.expr->getBeginLoc()));
  std::string type = read.element.getUnqualifiedType().getAsString(kernel.function->getASTContext().getPrintingPolicy());
  std::string tile = freshName(kernel, read.buffer->getNameAsString() + "Tile");
  std::string declaration = "__shared__ " + type + " " + tile, copied = tile, wanted = tile, heads;
  for (const Dimension &dimension : dimensions) heads += dimension.loop;
  // Where neighbouring threads read down the rows the tile is turned: their words then lie side by side, in different banks.
  if (dimensions.size() == 2 && dimensions.front().atom->key == fastAxis->atom->key) std::swap(dimensions.front(), dimensions.back());
  for (const Dimension &dimension : dimensions) {
    declaration += "[" + std::to_string(dimension.extent) + "]";
    copied += "[" + dimension.copy + "]";
    wanted += "[" + dimension.read + "]";
  }
  if (dimensions.size() == 1 && slowAxis) heads = "if (" + Piece{slowAxis->text, Piece::Product}.within(Piece::Equality) + " == 0) " + heads;
  std::string zero = zeroOf(read.element);
  std::string copy = heads + copied + " = " + (condition.empty() ? value->text : condition + " ? " + value->within(Piece::Or) + " : " + zero) + ";\n";

  Edits edits;
  auto outerPlace = kernel.unit->place(wholeLoop(kernel, outer)), innerPlace = kernel.unit->place(wholeLoop(kernel, inner));
  if (!outerPlace) return refusal(outerPlace.error().what);
  if (!innerPlace) return refusal(innerPlace.error().what);
  edits.push_back({outerPlace->file, outerPlace->offset, 0, declaration + ";\n"});
  const Barrier *barrier = nullptr;
  for (const Barrier &each : kernel.barriers)
    if (!barrier && each.kind == Barrier::Block && !each.loops.empty() && each.loops.back() == &outer) barrier = &each;
  if (barrier) {
    auto at = kernel.unit->place(barrier->call);
    if (!at) return refusal(at.error().what);
    edits.push_back({at->file, at->offset, 0, copy});
  } else {
    edits.push_back({innerPlace->file, innerPlace->offset, 0, copy + "__syncthreads();\n"});
    unsigned end = innerPlace->offset + innerPlace->length;
    const std::string &text = kernel.unit->sources().files.at(innerPlace->file);
    if (text[end - 1] != '}' && text[end] == ';') ++end;
    edits.push_back({innerPlace->file, end, 0, "\n__syncthreads();\n"});
  }
  for (const Access &each : kernel.accesses) {
    if (each.kind != Access::Read || each.buffer != read.buffer || !(each.index == read.index)) continue;
    if (std::find(each.loops.begin(), each.loops.end(), &inner) == each.loops.end()) continue;
    const Stmt *whole = guardedRead(kernel, each);
    if (whole != each.expr)
      if (auto *paren = dyn_cast_or_null<ParenExpr>(kernel.parent(whole))) whole = paren;
    auto at = kernel.unit->place(whole);
    if (!at) return refusal(at.error().what);
    edits.push_back({at->file, at->offset, at->length, wanted});
  }
  return edits;
}

bool promotable(const Access &access) {
  return access.kind == Access::Read && access.space == Space::Global && access.exact && access.width == 1 && !access.isVolatile &&
         access.calls.empty() && !access.loops.empty() && access.buffer;
}

/// Rectangles of which each thread reads several elements. Their reads are no sites of their own.
void addBlockTiles(const Version &version, const KernelModel &kernel, const std::vector<ThreadAxis> &axes, Detection &found, std::set<const Access *> &taken) {
  for (const auto &loop : kernel.loops) {
    int64_t cut = loop->parent ? 0 : 16;
    if (cut && (loop->tripCount().value_or(1024) < 16 || cannotTile(kernel, *loop))) continue;
    for (BlockTile &tile : blockTiles(kernel, *loop, axes, cut)) {
      const Access &read = *tile.reads.front().access;
      auto place = version.unit.place(read.expr);
      if (!place) {
        found.declines.push_back(declineAt(kernel, "macro", read.expr, place.error().what));
        continue;
      }
      for (const BlockTile::Read &each : tile.reads) taken.insert(each.access);
      Site site;
      site.locus = {"statement", read.buffer->getNameAsString(), place->file, place->offset};
      site.kernel = &kernel;
      if (tile.tiles) site.parameters["tile"] = tile.steps;
      site.carrier = loop->stmt->getSourceRange();
      bindTileFacts(site, kernel, tile.tiles ? tile.tiles : loop.get(), read.buffer,
                    tile.elements() / tile.steps * int64_t(kernel.unit->ast(Side::Device).getTypeSizeInChars(read.element).getQuantity()));
      site.facts["reuse"] = tile.reuse();
      site.facts["tile"] = tile.steps;
      PromotionSite own;
      own.reuse.axes = axes, own.block = std::move(tile);
      site.keep(std::move(own));
      found.sites.push_back(std::move(site));
    }
  }
}

Result<Edits> promoteBlock(const Version &version, const Site &site, const BlockTile &tile, const std::vector<ThreadAxis> &axes, int64_t steps) {
  if (tile.tiles) return promoteBlockTile(*site.kernel, tile, axes);
  Draft draft(version);
  std::string name;
  auto tiled = tileLoop(*site.kernel, *tile.along, steps, axes, name);
  if (!tiled) return tiled.error();
  if (Status applied = draft.apply(*tiled); !applied) return applied.error();
  const Access &read = *tile.reads.front().access;
  if (const KernelModel *kernel = draft.kernel(*site.kernel))
    for (const auto &loop : kernel->loops) {
      if (!loop->parent || loop->parent->variable->getNameAsString() != name) continue;
      auto axesNow = threadAxes(*kernel);
      for (const BlockTile &now : blockTiles(*kernel, *loop, axesNow)) {
        if (now.reads.front().access->buffer->getNameAsString() != read.buffer->getNameAsString() || now.reads.size() != tile.reads.size()) continue;
        auto edits = promoteBlockTile(*kernel, now, axesNow);
        if (!edits) return edits.error();
        if (Status applied = draft.apply(*edits); !applied) return applied.error();
        return draft.finish();
      }
    }
  return refusal("the reads of " + read.buffer->getNameAsString() + " are not found again in the tiled loop");
}

} // namespace

Detection promotions(const Version &version) {
  Detection found;
  std::set<std::string> seen;
  for (const KernelModel &kernel : version.kernels) {
    std::vector<ThreadAxis> axes = threadAxes(kernel);
    bool declined = false;
    std::set<const Access *> taken;
    addBlockTiles(version, kernel, axes, found, taken);
    for (const Access &access : kernel.accesses) {
      if (!promotable(access) || taken.count(&access)) continue;
      const Loop *loop = access.loops.back();
      AtomRef along = loopVariable(loop->variable);
      if (!access.index.mentions(along)) continue;
      auto place = version.unit.place(access.expr);
      std::string key = place ? place->file + ":" + std::to_string(loop->stmt->getBeginLoc().getRawEncoding()) + access.index.key() : "";
      if (!seen.insert(key).second) continue;
      if (axes.empty()) {
        if (!declined && kernel.launches.empty()) found.declines.push_back(declineAt(kernel, "no_launch", access.expr, "the block's shape is not known, so a tile has no shape either"));
        declined = true;
        continue;
      }
      int64_t reuse = 1;
      for (const ThreadAxis &axis : axes)
        if (!axis.decides(access.index)) reuse *= axis.extent;
      if (reuse < 2) continue;
      auto tiled = tileStep(*loop);
      if (!tiled) {
        if (loop->tripCount().value_or(1024) < 16) continue;
        if (auto why = cannotTile(kernel, *loop)) {
          found.declines.push_back(*why);
          continue;
        }
      }
      if (!place) {
        found.declines.push_back(declineAt(kernel, "macro", access.expr, place.error().what));
        continue;
      }
      Site site;
      site.locus = {"statement", access.buffer->getNameAsString(), place->file, place->offset};
      site.kernel = &kernel;
      if (tiled) site.parameters["tile"] = *tiled;
      site.carrier = loop->stmt->getSourceRange();
      int64_t across = 1;
      for (const ThreadAxis &axis : axes)
        if (axis.decides(access.index)) across *= axis.extent;
      bindTileFacts(site, kernel, tiled ? loop->parent : loop, access.buffer,
                    across * int64_t(kernel.unit->ast(Side::Device).getTypeSizeInChars(access.element).getQuantity()));
      site.facts["reuse"] = reuse;
      site.facts["tile"] = tiled.value_or(16);
      site.keep(PromotionSite{{&access, loop, tiled ? loop->parent : nullptr, axes}, std::nullopt, std::nullopt});
      found.sites.push_back(std::move(site));
    }
    for (const Access &access : kernel.accesses) {
      auto site = turnAt(kernel, access, axes);
      auto place = site ? version.unit.place(access.expr) : Result<Unit::Place>(refusal("no turn"));
      if (!place || !seen.insert(place->file + ":turn:" + std::to_string(place->offset)).second) continue;
      Site turned;
      turned.locus = {"statement", access.buffer->getNameAsString(), place->file, place->offset};
      turned.kernel = &kernel;
      turned.parameters["tile"] = axes[0].extent;
      turned.carrier = access.statement->getSourceRange();
      bindTileFacts(turned, kernel, site->rows, access.buffer, axes[0].extent * int64_t(kernel.unit->ast(Side::Device).getTypeSizeInChars(access.element).getQuantity()));
      turned.facts["reuse"] = int64_t(8); // a sector of 32 bytes is fetched for one element of 4
      turned.facts["tile"] = axes[0].extent;
      turned.keep(PromotionSite{{}, *site, std::nullopt});
      found.sites.push_back(std::move(turned));
    }
  }
  return found;
}

Result<Edits> promote(const Version &version, const Site &site, const Parameters &parameters) {
  const auto &[reuse, turned, block] = site.as<PromotionSite>();
  if (block) {
    auto wanted = parameters.find("tile");
    return promoteBlock(version, site, *block, reuse.axes, wanted == parameters.end() ? block->steps : wanted->second);
  }
  if (turned) return turn(*site.kernel, *turned);
  Draft draft(version);
  const KernelModel *kernel = site.kernel;
  Reuse now = reuse;
  if (!reuse.tiles) {
    auto wanted = parameters.find("tile");
    std::string name, along = reuse.loop->variable->getNameAsString();
    auto tiled = tileLoop(*kernel, *reuse.loop, wanted == parameters.end() ? 16 : wanted->second, reuse.axes, name);
    if (!tiled) return tiled.error();
    if (Status applied = draft.apply(*tiled); !applied) return applied.error();
    kernel = draft.kernel(*site.kernel);
    now.read = nullptr;
    if (kernel)
      for (const Access &access : kernel->accesses) {
        if (!promotable(access) || access.loops.size() < 2 || access.loops[access.loops.size() - 2]->variable->getNameAsString() != name) continue;
        if (access.buffer->getNameAsString() != reuse.read->buffer->getNameAsString() || now.read) continue;
        // The element of step k0 + k, with k0 at 0, is the one that the site named.
        now = {&access, access.loops.back(), access.loops[access.loops.size() - 2], threadAxes(*kernel)};
      }
    if (!now.read) return refusal("the read of " + reuse.read->buffer->getNameAsString() + " is not found again in the tiled loop");
  }
  auto edits = Promotion(*kernel, now).edits();
  if (!edits) return edits.error();
  if (Status applied = draft.apply(*edits); !applied) return applied.error();
  return draft.finish();
}

void bindTileFacts(Site &site, const KernelModel &kernel, const Loop *loop, const ValueDecl *source, int64_t bytesPerStep) {
  if (loop) site.facts["bounds"] = loop;
  else site.facts["bounds"] = IndexExpr(1);
  site.facts["source"] = source;
  site.facts["bytes_per_step"] = bytesPerStep;
  site.facts.emplace("tile", int64_t(16));
  site.facts.emplace("reuse", int64_t(1));
}

Edits withoutSharedBytes(const KernelModel &kernel) {
  for (const Buffer &buffer : kernel.buffers)
    if (buffer.space == Space::Shared) return {};
  Edits edits;
  for (const Launch &launch : kernel.launches) {
    if (!launch.sharedBytes || isa<CXXDefaultArgExpr>(launch.sharedBytes)) continue;
    auto place = kernel.unit->place(launch.sharedBytes, Side::Host);
    if (place && kernel.unit->text(launch.sharedBytes, Side::Host) != "0") edits.push_back({place->file, place->offset, place->length, "0"});
  }
  return edits;
}

} // namespace klineage
