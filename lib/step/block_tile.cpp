#include "step/block_tile.h"
#include "step/known.h"
#include "step/remap.h"

namespace klineage {
namespace {

using namespace clang;

bool standsIn(const std::vector<const Loop *> &loops, const Loop &loop) { return std::find(loops.begin(), loops.end(), &loop) != loops.end(); }

/// What differs between threads, or within the loops of one thread that are not around the tile.
class Locality {
public:
  Locality(const Access &access, const Loop &along) {
    bool inside = false;
    for (const Loop *loop : access.loops) {
      inside |= loop == &along;
      if (inside) loops.push_back(loop);
    }
  }
  bool isLocal(const Atom &atom) const {
    if (atom.kind == Atom::ThreadIdx) return true;
    if (atom.kind == Atom::LoopVariable) return std::any_of(loops.begin(), loops.end(), [&](const Loop *loop) { return loop->variable == atom.decl; });
    if (atom.kind != Atom::Quotient && atom.kind != Atom::Remainder) return false;
    return atom.right.constant() && allLocal(atom.left);
  }
  bool mentions(const IndexExpr &value) const {
    for (const AtomRef &atom : value.atoms())
      if (isLocal(*atom)) return true;
    return false;
  }
  std::vector<AtomRef> atoms() const {
    std::vector<AtomRef> own = {threadIdx(0), threadIdx(1), threadIdx(2)};
    for (const Loop *loop : loops) own.push_back(loopVariable(loop->variable));
    return own;
  }
  std::vector<const Loop *> loops;

private:
  bool allLocal(const IndexExpr &value) const {
    for (const auto &[key, term] : value.terms())
      for (const AtomRef &atom : term.first)
        if (!isLocal(*atom)) return false;
    return true;
  }
};

struct Split {
  IndexExpr slow, fast, uniform;
  std::string stride;
};

/// index = uniform + slow * stride + fast, the stride being one parameter; none when the local parts do not fall apart so.
std::optional<Split> splitOf(const IndexExpr &index, const Locality &locality) {
  Split split;
  for (const auto &[key, term] : index.terms()) {
    const auto &[monomial, coefficient] = term;
    IndexExpr local(coefficient), whole = IndexExpr::term(monomial, coefficient);
    const Atom *stride = nullptr;
    unsigned others = 0;
    bool anyLocal = false;
    for (const AtomRef &atom : monomial) {
      if (locality.isLocal(*atom)) local = local * IndexExpr::of(atom), anyLocal = true;
      else if (atom->kind == Atom::Parameter && !stride) stride = atom.get();
      else ++others;
    }
    if (others || (!anyLocal && monomial.size() > 1)) {
      if (anyLocal || locality.mentions(whole)) return std::nullopt;
      split.uniform = split.uniform + whole;
    } else if (!stride) {
      split.fast = split.fast + local;
    } else {
      if (!split.stride.empty() && split.stride != stride->key) return std::nullopt;
      split.stride = stride->key;
      split.slow = split.slow + local;
    }
  }
  return split;
}

/// With the ranges of the loops around it.
std::optional<std::pair<int64_t, int64_t>> rangeOf(const KernelModel &kernel, IndexExpr value, const Locality &locality, int64_t steps) {
  for (const Loop *loop : locality.loops) {
    auto last = loop == locality.loops.front() ? std::optional<int64_t>(steps) : upperBound(loop->end);
    if (!loop->begin.constant() || !last) return std::nullopt;
    value = value.substitute(loopVariable(loop->variable), IndexExpr::of(loopVariable(loop->variable, loop->begin, IndexExpr(*last))));
  }
  auto low = lowerBound(kernel.bound(value)), high = upperBound(kernel.bound(value));
  if (!low || !high) return std::nullopt;
  return std::make_pair(*low, *high);
}

bool isZero(const Expr *expr) {
  expr = expr->IgnoreParenImpCasts();
  if (auto *number = dyn_cast<FloatingLiteral>(expr)) return number->getValue().isZero();
  if (auto *number = dyn_cast<IntegerLiteral>(expr)) return number->getValue() == 0;
  return false;
}

/// The whole conditional read `inside ? a[i] : 0`, or the read alone; null when it is something else outside.
const Stmt *wholeRead(const KernelModel &kernel, const Access &access) {
  const Stmt *at = kernel.parent(access.expr);
  while (at && (isa<ParenExpr>(at) || isa<ImplicitCastExpr>(at))) at = kernel.parent(at);
  auto *choice = dyn_cast_or_null<ConditionalOperator>(at);
  if (!choice || choice->getTrueExpr()->IgnoreParenImpCasts() != access.expr->IgnoreParens()) return access.expr;
  if (!isZero(choice->getFalseExpr())) return nullptr;
  const Stmt *paren = kernel.parent(choice);
  return paren && isa<ParenExpr>(paren) ? paren : choice;
}

/// A condition that a read stands under, told for the thread that copies; the conditions of all reads must be the same ones.
struct Told {
  std::vector<Conjunct> parts;
  std::set<std::string> keys;
};

std::optional<Told> conditionsOf(const KernelModel &kernel, const BlockTile &tile, const BlockTile::Read &read, const Remap &remap,
                                 const std::vector<ThreadAxis> &axes) {
  Told told;
  std::vector<Guard> around = kernel.guardsOf(tile.tiles->stmt);
  for (const Guard &guard : read.access->guards) {
    if (std::any_of(around.begin(), around.end(), [&](const Guard &each) { return each.condition == guard.condition; })) continue;
    for (const Conjunct &part : conjunctsOf(kernel, guard.condition, guard.negated)) {
      if (!part.positive) return std::nullopt;
      bool others = false;
      for (const ThreadAxis &axis : axes) others |= axis.decides(*part.positive) && !axis.decides(read.access->index);
      if (others) continue;
      auto mapped = remap.map(*part.positive);
      if (!mapped) return std::nullopt;
      if (told.keys.insert(mapped->key()).second) told.parts.push_back(part);
    }
  }
  return told;
}

/// The flat number of a thread in its block.
std::optional<Piece> flatThread(const KernelModel &kernel, const PlaceInKernel &place) {
  IndexExpr flat;
  unsigned axes = 0;
  for (unsigned axis = 3; axis-- > 0;) {
    auto size = kernel.blockSize(axis);
    if (!size) return std::nullopt;
    if (*size > 1) ++axes;
    flat = flat * IndexExpr(*size) + (*size > 1 ? IndexExpr::of(threadIdx(axis)) : IndexExpr(0));
  }
  return axes ? place.print(flat) : Piece{"0"};
}

/// One subscript of the tile as the copying thread says it: a local plus a number.
struct Said {
  std::string name;
  int64_t plus = 0;
  IndexExpr value() const { return IndexExpr::of(writtenQuantity(name)) + IndexExpr(plus); }
  Piece text() const { return plus ? Piece{name + " + " + std::to_string(plus), Piece::Sum} : Piece{name}; }
};

/// Writes what the threads of a block do to fill a tile.
class Filling {
public:
  Filling(const KernelModel &kernel, const BlockTile &tile, const std::vector<ThreadAxis> &axes, std::string name)
      : kernel(kernel), tile(tile), axes(axes), name(std::move(name)), place(kernel, tile.along->stmt) {}
  Result<std::string> text();
  std::string at(const std::string &slow, const std::string &fast) const { return name + (tile.turned ? "[" + fast + "][" + slow + "]" : "[" + slow + "][" + fast + "]"); }

private:
  const KernelModel &kernel;
  const BlockTile &tile;
  const std::vector<ThreadAxis> &axes;
  std::string name;
  PlaceInKernel place;

  Result<std::string> element(const Said &slow, const Said &fast) const;
  Result<std::string> together(const std::string &row, const std::string &column, const Piece &thread) const;
};

/// The element of the source that belongs into tile[slow][fast], zero where no read would take it.
Result<std::string> Filling::element(const Said &slow, const Said &fast) const {
  const Access &first = *tile.reads.front().access;
  auto remapOf = [&](const BlockTile::Read &read) {
    std::vector<Meeting> meetings = {{read.slow - IndexExpr(tile.slowLow), slow.value(), slow.text()}, {read.fast - IndexExpr(tile.fastLow), fast.value(), fast.text()}};
    return Remap(kernel, place, meetings, Locality(*read.access, *tile.along).atoms());
  };
  Remap remap = remapOf(tile.reads.front());
  auto conditions = conditionsOf(kernel, tile, tile.reads.front(), remap, axes);
  if (!conditions) return refusal("a guard cannot be said for the thread that copies", kernel.unit->where(first.expr->getBeginLoc()));
  for (const BlockTile::Read &read : tile.reads) {
    auto own = conditionsOf(kernel, tile, read, remapOf(read), axes);
    if (!own || own->keys != conditions->keys) return refusal("the reads of " + first.buffer->getNameAsString() + " stand under different guards", kernel.unit->where(read.access->expr->getBeginLoc()));
  }
  std::string condition;
  auto add = [&](const std::string &text) { condition += (condition.empty() ? "" : " && ") + text; };
  for (const Conjunct &part : conditions->parts) {
    auto text = remap.print(part.expr);
    if (!text) return refusal("the guard " + kernel.unit->text(part.expr) + " cannot be said for the thread that copies", kernel.unit->where(part.expr->getBeginLoc()));
    add(part.negated ? "!(" + text->text + ")" : text->within(Piece::And));
  }
  if (!tile.along->end.constant()) { // a last tile that is not whole
    auto text = remap.print(tile.along->stmt->getCond());
    if (!text) return refusal("where the last tile ends cannot be said for the thread that copies", kernel.unit->where(tile.along->stmt->getBeginLoc()));
    add(text->within(Piece::And));
  }
  auto value = remap.print(first.expr);
  if (!value) return refusal("the element that a thread copies cannot be said", kernel.unit->where(first.expr->getBeginLoc()));
  return condition.empty() ? value->text : condition + " ? " + value->within(Piece::Or) + " : " + zeroOf(first.element.getUnqualifiedType());
}

/// Few elements a thread: all are loaded before the first is stored, so that one wait covers them. A turned tile takes runs of neighbours
/// of one row (stores of threads side by side then meet in few banks), another one takes whole rows. Empty when the shape does not divide so.
Result<std::string> Filling::together(const std::string &row, const std::string &column, const Piece &thread) const {
  if (tile.elements() % tile.threads) return std::string();
  int64_t each = tile.elements() / tile.threads, step = 0;
  std::string flat = thread.within(Piece::Product), head = "const int " + row + " = ";
  if (each > 8) return std::string();
  if (tile.turned && tile.fastExtent % each == 0 && tile.fastExtent > each) {
    std::string groups = std::to_string(tile.fastExtent / each);
    head += flat + " / " + groups + ", " + column + " = " + flat + " % " + groups + (each > 1 ? " * " + std::to_string(each) : "") + ";\n";
  } else if (tile.threads % tile.fastExtent == 0) {
    std::string width = std::to_string(tile.fastExtent);
    head += flat + " / " + width + ", " + column + " = " + flat + " % " + width + ";\n";
    step = tile.threads / tile.fastExtent;
  } else {
    return std::string();
  }
  std::string type = tile.reads.front().access->element.getUnqualifiedType().getAsString(kernel.function->getASTContext().getPrintingPolicy());
  std::string loads, stores, part = freshName(kernel, tile.reads.front().access->buffer->getNameAsString() + "Part");
  for (int64_t i = 0; i < each; ++i) {
    Said slow{row, step ? i * step : 0}, fast{column, step ? 0 : i};
    auto text = element(slow, fast);
    if (!text) return text.error();
    std::string own = part + std::to_string(i), target = at(slow.text().text, fast.text().text);
    if (each == 1) return head + target + " = " + *text + ";\n";
    loads += "const " + type + " " + own + " = " + *text + ";\n";
    stores += target + " = " + own + ";\n";
  }
  return head + loads + stores;
}

Result<std::string> Filling::text() {
  std::string r = freshName(kernel, "r"), c = freshName(kernel, "c"), e = freshName(kernel, "e");
  for (const std::string &each : {r, c}) place.spell(writtenQuantity(each), each);
  auto thread = flatThread(kernel, place);
  if (!thread) return refusal("the block's shape is not known");
  auto few = together(r, c, *thread);
  if (!few || !few->empty()) return few;
  auto value = element({r, 0}, {c, 0});
  if (!value) return value;
  std::string width = std::to_string(tile.fastExtent);
  return "for (int " + e + " = " + thread->text + "; " + e + " < " + std::to_string(tile.elements()) + "; " + e + " += " + std::to_string(tile.threads) + ") {\n" +
         "const int " + r + " = " + e + " / " + width + ", " + c + " = " + e + " % " + width + ";\n" + at(r, c) + " = " + *value + ";\n}\n";
}

} // namespace

int64_t BlockTile::reuse() const {
  int64_t times = 0;
  for (const Read &read : reads) {
    int64_t turns = steps;
    const auto &loops = read.access->loops;
    for (auto loop = std::find(loops.begin(), loops.end(), along) + 1; loop < loops.end(); ++loop) turns *= upperBound((*loop)->end).value_or(1);
    times += turns * threads;
  }
  return times / elements();
}

std::vector<BlockTile> blockTiles(const KernelModel &kernel, const Loop &along, const std::vector<ThreadAxis> &axes, int64_t cut) {
  std::vector<BlockTile> found;
  const Loop *tiles = along.parent;
  int64_t steps = cut ? cut : upperBound(along.end).value_or(0);
  if (axes.empty() || bool(tiles) == bool(cut) || !(along.begin == IndexExpr(0)) || !(along.step == IndexExpr(1)) || steps < 2 || along.leavesEarly) return found;
  std::map<std::string, BlockTile> groups;
  std::map<std::string, std::set<std::string>> different;
  for (const Access &access : kernel.accesses) {
    if (access.kind != Access::Read || access.space != Space::Global || !access.exact || access.width != 1 || access.isVolatile || !access.calls.empty() || !access.buffer) continue;
    if (!standsIn(access.loops, along) || !wholeRead(kernel, access)) continue;
    Locality locality(access, along);
    auto split = splitOf(access.index, locality);
    if (!split || (!split->slow.mentions(loopVariable(along.variable)) && !split->fast.mentions(loopVariable(along.variable)))) continue;
    std::string key = std::to_string(reinterpret_cast<uintptr_t>(access.buffer)) + split->uniform.key() + split->stride;
    BlockTile &tile = groups[key];
    auto slow = rangeOf(kernel, split->slow, locality, steps), fast = rangeOf(kernel, split->fast, locality, steps);
    if (!slow || !fast) continue;
    auto widen = [&](int64_t &low, int64_t &extent, std::pair<int64_t, int64_t> range) {
      int64_t last = tile.reads.empty() ? range.second : std::max(low + extent - 1, range.second);
      low = tile.reads.empty() ? range.first : std::min(low, range.first);
      extent = last - low + 1;
    };
    widen(tile.slowLow, tile.slowExtent, *slow), widen(tile.fastLow, tile.fastExtent, *fast);
    tile.along = &along, tile.tiles = tiles, tile.steps = steps;
    tile.reads.push_back({&access, split->slow, split->fast});
    different[key].insert(access.index.key());
    // A loop of the thread's own over its elements counts as several.
    for (const Loop *loop : locality.loops)
      if (loop != &along && access.index.mentions(loopVariable(loop->variable))) different[key].insert("loop");
  }
  for (auto &[key, tile] : groups) {
    if (tile.reads.empty() || (different[key].size() < 2 && !different[key].count("loop"))) continue;
    for (const ThreadAxis &axis : axes) tile.threads *= axis.extent;
    bool slowByThread = false, fastByThread = false;
    for (const ThreadAxis &axis : axes) slowByThread |= axis.decides(tile.reads[0].slow), fastByThread |= axis.decides(tile.reads[0].fast);
    tile.turned = slowByThread && !fastByThread;
    if (tile.elements() > 12288 || tile.reuse() < 2) continue;
    found.push_back(tile);
  }
  return found;
}

Result<Edits> promoteBlockTile(const KernelModel &kernel, const BlockTile &tile, const std::vector<ThreadAxis> &axes) {
  const Access &first = *tile.reads.front().access;
  QualType element = first.element.getUnqualifiedType();
  std::string type = element.getAsString(kernel.function->getASTContext().getPrintingPolicy()), name = freshName(kernel, first.buffer->getNameAsString() + "Tile");
  if (!isa_and_nonnull<CompoundStmt>(kernel.parent(wholeLoop(kernel, *tile.along)))) return refusal("the loop along the tile stands in no block", kernel.unit->where(tile.along->stmt->getBeginLoc()));
  Filling filling(kernel, tile, axes, name);
  auto fill = filling.text();
  if (!fill) return fill.error();

  Edits edits;
  auto outerPlace = kernel.unit->place(wholeLoop(kernel, *tile.tiles)), innerPlace = kernel.unit->place(wholeLoop(kernel, *tile.along));
  if (!outerPlace) return refusal(outerPlace.error().what);
  if (!innerPlace) return refusal(innerPlace.error().what);
  edits.push_back({outerPlace->file, outerPlace->offset, 0,
                   "__shared__ " + type + " " + filling.at(std::to_string(tile.slowExtent), std::to_string(tile.fastExtent)) + ";\n"});
  const Barrier *barrier = nullptr; // right before the loop; with another one after it nothing is missing
  bool after = false;
  for (const Barrier &each : kernel.barriers)
    if (each.kind == Barrier::Block && each.calls.empty() && !each.loops.empty() && each.loops.back() == tile.tiles && each.call) {
      bool before = kernel.unit->manager(Side::Device).isBeforeInTranslationUnit(each.call->getBeginLoc(), tile.along->stmt->getBeginLoc());
      if (before) barrier = &each;
      else after = true;
    }
  if (barrier && after) {
    auto where = kernel.unit->place(barrier->call);
    if (!where) return refusal(where.error().what);
    edits.push_back({where->file, where->offset, 0, *fill});
  } else {
    edits.push_back({innerPlace->file, innerPlace->offset, 0, *fill + "__syncthreads();\n"});
    unsigned end = innerPlace->offset + innerPlace->length;
    const std::string &text = kernel.unit->sources().files.at(innerPlace->file);
    if (text[end - 1] != '}' && text[end] == ';') ++end;
    edits.push_back({innerPlace->file, end, 0, "\n__syncthreads();\n"});
  }
  for (const BlockTile::Read &read : tile.reads) {
    PlaceInKernel here(kernel, read.access->statement);
    auto slow = here.print(read.slow - IndexExpr(tile.slowLow)), fast = here.print(read.fast - IndexExpr(tile.fastLow));
    if (!slow || !fast) return refusal("which element of the tile is read cannot be said", kernel.unit->where(read.access->expr->getBeginLoc()));
    auto where = kernel.unit->place(wholeRead(kernel, *read.access));
    if (!where) return refusal(where.error().what);
    edits.push_back({where->file, where->offset, where->length, filling.at(slow->text, fast->text)});
  }
  return edits;
}

} // namespace klineage
