#include "step/pipelining.h"
#include "step/loop_tiling.h"
#include "step/remap.h"
#include "step/staging.h"
#include "step/tidy.h"

namespace klineage {
namespace {

using namespace clang;

/// What a statement of the loop's body (or one before the loop) does.
enum class Role { Neutral, Barrier, Produce, Compute };

/// A loop and the shared tiles that it fills and reads.
struct TileLoop {
  const Loop *loop = nullptr;
  const CompoundStmt *body = nullptr, *around = nullptr;
  std::vector<const Buffer *> buffers;
  std::vector<Role> roles;                 ///< One a statement of the body.
  std::vector<const Stmt *> before;        ///< Statements of `around` that fill the tiles ahead of the loop, with what feeds them.
  std::vector<const Stmt *> barriersBefore;
  std::set<const VarDecl *> carried;       ///< Locals that hand values from global memory to the tiles.
};

bool contains(const KernelModel &kernel, const Stmt *outer, const Stmt *inner) {
  for (const Stmt *at = inner; at; at = kernel.parent(at))
    if (at == outer) return true;
  return false;
}

bool isTile(const TileLoop &tiles, const ValueDecl *decl) {
  return std::any_of(tiles.buffers.begin(), tiles.buffers.end(), [&](const Buffer *buffer) { return buffer->decl == decl; });
}

bool writesTile(const KernelModel &kernel, const TileLoop &tiles, const Stmt *stmt) {
  for (const Access &access : kernel.accesses)
    if (access.kind == Access::Write && isTile(tiles, access.buffer) && contains(kernel, stmt, access.expr)) return true;
  return false;
}

bool holdsBarrier(const KernelModel &kernel, const Stmt *stmt) {
  for (const Barrier &barrier : kernel.barriers)
    if (barrier.call && contains(kernel, stmt, barrier.call)) return true;
  return false;
}

/// The locals that statements which fill a tile read, other than integers.
void addCarried(const KernelModel &kernel, TileLoop &tiles, const Stmt *stmt) {
  for (const VarDecl *local : localsNamedIn(stmt))
    if (!isInteger(local->getType()) && !local->getType()->isPointerType() && !local->hasAttr<CUDASharedAttr>()) tiles.carried.insert(local);
}

bool feedsCarried(const TileLoop &tiles, const Stmt *stmt) {
  for (const VarDecl *local : tiles.carried)
    if (!assignmentsTo(local, stmt).empty()) return true;
  struct Finder : RecursiveASTVisitor<Finder> {
    const TileLoop *tiles;
    bool found = false;
    bool VisitBinaryOperator(BinaryOperator *op) {
      if (!op->isAssignmentOp()) return true;
      for (const VarDecl *local : localsNamedIn(op->getLHS())) found |= tiles->carried.count(local) != 0;
      return true;
    }
    bool VisitVarDecl(VarDecl *decl) { return found |= tiles->carried.count(decl) && decl->getInit(), true; }
  } finder;
  finder.tiles = &tiles;
  finder.TraverseStmt(const_cast<Stmt *>(stmt));
  return finder.found;
}

/// A local that the loop's own statements give its value.
bool feedsIn(const TileLoop &tiles, const VarDecl *local) {
  TileLoop only;
  only.carried = {local};
  return feedsCarried(only, tiles.body);
}

/// The loop with every statement's role; none when it is no loop over tiles.
std::optional<TileLoop> tileLoopOf(const KernelModel &kernel, const Loop &loop) {
  TileLoop tiles;
  tiles.loop = &loop;
  tiles.body = dyn_cast<CompoundStmt>(loop.stmt->getBody());
  const Stmt *whole = wholeLoop(kernel, loop);
  tiles.around = dyn_cast_or_null<CompoundStmt>(kernel.parent(whole));
  if (!tiles.body || !tiles.around || loop.descending || !loop.step.constant()) return std::nullopt;
  for (const Buffer &buffer : kernel.buffers) {
    if (buffer.space != Space::Shared || buffer.extents.size() < 2) continue;
    bool reads = false, writes = false, plain = true;
    for (const Access *access : kernel.accessesOf(buffer.decl)) {
      if (std::find(access->loops.begin(), access->loops.end(), &loop) == access->loops.end()) continue;
      reads |= access->kind == Access::Read, writes |= access->kind == Access::Write;
      plain &= access->calls.empty() && !access->asyncSource && (access->kind == Access::Read || access->kind == Access::Write);
    }
    if (reads && writes && plain) tiles.buffers.push_back(&buffer);
  }
  if (tiles.buffers.empty()) return std::nullopt;
  for (const Stmt *stmt : tiles.body->body())
    if (writesTile(kernel, tiles, stmt)) addCarried(kernel, tiles, stmt);
  bool barrier = false;
  for (const Stmt *stmt : tiles.body->body()) {
    Role role = Role::Compute;
    barrier |= holdsBarrier(kernel, stmt);
    if (writesTile(kernel, tiles, stmt) || feedsCarried(tiles, stmt)) role = Role::Produce;
    else if (holdsBarrier(kernel, stmt)) role = isa<CallExpr>(stmt) ? Role::Barrier : Role::Compute;
    else if (auto *declares = dyn_cast<DeclStmt>(stmt); declares && isPure(stmt)) {
      role = Role::Neutral;
      for (const Decl *each : declares->decls())
        if (auto *decl = dyn_cast<VarDecl>(each); !decl || !isInteger(decl->getType())) role = Role::Compute;
    }
    if (role == Role::Compute && holdsBarrier(kernel, stmt)) return std::nullopt;
    tiles.roles.push_back(role);
  }
  if (!barrier) return std::nullopt;
  bool filling = false;
  for (const Stmt *stmt : tiles.around->body()) {
    if (stmt == whole) break;
    bool writes = writesTile(kernel, tiles, stmt);
    if (writes || feedsCarried(tiles, stmt)) tiles.before.push_back(stmt);
    filling |= writes;
    if (filling && !writes && holdsBarrier(kernel, stmt)) tiles.barriersBefore.push_back(stmt);
  }
  return tiles;
}

bool filledBefore(const KernelModel &kernel, const TileLoop &tiles) {
  return std::any_of(tiles.before.begin(), tiles.before.end(), [&](const Stmt *stmt) { return writesTile(kernel, tiles, stmt); });
}

/// What stands in the brackets right behind the tile's name, also inside a wide view of it.
std::optional<IndexExpr> outermostSubscript(const KernelModel &kernel, const Access &access) {
  struct Finder : RecursiveASTVisitor<Finder> {
    const ValueDecl *buffer;
    const Expr *found = nullptr;
    bool VisitArraySubscriptExpr(ArraySubscriptExpr *expr) {
      auto *ref = dyn_cast<DeclRefExpr>(expr->getBase()->IgnoreParenImpCasts());
      if (ref && ref->getDecl() == buffer) found = expr->getIdx();
      return !found;
    }
  } finder;
  finder.buffer = access.buffer;
  finder.TraverseStmt(const_cast<Expr *>(access.expr));
  if (!finder.found) return std::nullopt;
  return kernel.lift(finder.found);
}

/// The outermost brackets of each tile name the stage: extent as declared, and never the same in the loop's writes and reads.
std::optional<int64_t> stagesOf(const KernelModel &kernel, const TileLoop &tiles) {
  std::optional<int64_t> stages;
  for (const Buffer *buffer : tiles.buffers) {
    if (buffer->extents.size() < 3 || (stages && *stages != buffer->extents[0])) return std::nullopt;
    stages = buffer->extents[0];
    std::optional<IndexExpr> reads, writes;
    for (const Access *access : kernel.accessesOf(buffer->decl)) {
      auto stage = outermostSubscript(kernel, *access);
      if (!stage) return std::nullopt;
      if (std::find(access->loops.begin(), access->loops.end(), tiles.loop) == access->loops.end()) continue;
      auto &known = access->kind == Access::Read ? reads : writes;
      if (known && !(*known == *stage)) return std::nullopt;
      known = *stage;
    }
    if (!reads || !writes || *reads == *writes) return std::nullopt;
  }
  return stages;
}

/// `name[stage]` wherever the declaration is named so; the text behind the name up to the bracket's end.
Result<Edits> withoutStage(const KernelModel &kernel, const TileLoop &tiles) {
  struct Finder : RecursiveASTVisitor<Finder> {
    const TileLoop *tiles;
    std::vector<const ArraySubscriptExpr *> found;
    bool VisitArraySubscriptExpr(ArraySubscriptExpr *expr) {
      auto *ref = dyn_cast<DeclRefExpr>(expr->getBase()->IgnoreParenImpCasts());
      if (ref && isTile(*tiles, ref->getDecl())) found.push_back(expr);
      return true;
    }
  } finder;
  finder.tiles = &tiles;
  finder.TraverseStmt(kernel.function->getBody());
  Edits edits;
  auto cut = [&](SourceRange name, SourceRange whole) -> Status {
    auto from = kernel.unit->place(name), all = kernel.unit->place(whole);
    if (!from) return refusal(from.error().what);
    if (!all) return refusal(all.error().what);
    unsigned begin = from->offset + from->length;
    edits.push_back({from->file, begin, all->offset + all->length - begin, ""});
    return Done{};
  };
  for (const ArraySubscriptExpr *expr : finder.found)
    if (Status done = cut(expr->getBase()->IgnoreParenImpCasts()->getSourceRange(), expr->getSourceRange()); !done) return done.error();
  for (const Buffer *buffer : tiles.buffers) {
    auto *decl = cast<VarDecl>(buffer->decl);
    ArrayTypeLoc outer;
    for (TypeLoc type = decl->getTypeSourceInfo()->getTypeLoc(); !type.isNull() && outer.isNull(); type = type.getNextTypeLoc())
      if (auto array = type.getAs<ArrayTypeLoc>()) outer = array;
    if (outer.isNull()) return refusal("the stages of " + decl->getNameAsString() + " are not written in its declaration");
    if (Status done = cut(SourceRange(decl->getLocation(), decl->getLocation()), SourceRange(decl->getLocation(), outer.getRBracketLoc())); !done) return done.error();
  }
  return edits;
}

/// The text of a statement with the loop's variable said anew.
std::optional<std::string> said(const KernelModel &kernel, const Stmt *stmt, const Remap &remap) {
  std::map<const Stmt *, std::string> replaced;
  for (const Expr *expr : outermostExpressions(stmt)) {
    if (!remap.dependsOnWriter(expr)) continue;
    auto piece = remap.print(expr);
    if (!piece) return std::nullopt;
    if (expr == stmt) return piece->text + ";";
    replaced[expr] = piece->text;
  }
  std::string text = kernel.unit->textWith(stmt, replaced);
  if (!text.empty() && text.back() != '}' && text.back() != ';') text += ";";
  return text;
}

std::string withoutBarriers(std::string text) {
  for (size_t at; (at = text.find("__syncthreads();")) != std::string::npos;) text.erase(at, 16);
  return text;
}

Remap remapOf(const KernelModel &kernel, const PlaceInKernel &place, const TileLoop &tiles, const IndexExpr &written, const IndexExpr &read, Piece text) {
  Remap remap(kernel, place, {{written, read, std::move(text)}}, {loopVariable(tiles.loop->variable)});
  remap.stable = [](const VarDecl *) { return true; };
  struct Finder : RecursiveASTVisitor<Finder> {
    std::set<const VarDecl *> found;
    bool VisitVarDecl(VarDecl *decl) { return found.insert(decl), true; }
  };
  // Only locals declared inside the statements that move: those of the body itself stay where they are.
  for (size_t i = 0; i < tiles.roles.size(); ++i) {
    const Stmt *stmt = *(tiles.body->body_begin() + i);
    if (tiles.roles[i] != Role::Produce || isa<DeclStmt>(stmt)) continue;
    Finder finder;
    finder.TraverseStmt(const_cast<Stmt *>(stmt));
    remap.kept.insert(finder.found.begin(), finder.found.end());
  }
  return remap;
}

const ValueDecl *sourceOf(const KernelModel &kernel, const TileLoop &tiles) {
  for (const Access &access : kernel.accesses) {
    if (access.kind != Access::Read || access.space != Space::Global || !access.buffer) continue;
    size_t i = 0;
    for (const Stmt *stmt : tiles.body->body()) {
      const Stmt *at = access.calls.empty() ? static_cast<const Stmt *>(access.expr) : access.calls.front();
      if (tiles.roles[i++] == Role::Produce && contains(kernel, stmt, at)) return access.buffer;
    }
  }
  return nullptr;
}

/// The loop of the draft that stands where this one stood: the same one in source order.
std::optional<TileLoop> again(const KernelModel &before, const TileLoop &tiles, const KernelModel &now) {
  for (size_t i = 0; i < before.loops.size() && i < now.loops.size(); ++i)
    if (before.loops[i].get() == tiles.loop) return tileLoopOf(now, *now.loops[i]);
  return std::nullopt;
}

template <typename Visit> Detection forEachTileLoop(const Version &version, Visit visit) {
  Detection found;
  std::set<std::pair<std::string, unsigned>> seen;
  for (const KernelModel &kernel : version.kernels)
    for (const auto &loop : kernel.loops) {
      if (!loop->calls.empty()) continue;
      auto tiles = tileLoopOf(kernel, *loop);
      if (!tiles) continue;
      auto place = version.unit.place(loop->stmt);
      if (!place || !seen.insert({place->file, place->offset}).second) continue;
      Site site;
      site.locus = {"loop", loop->variable->getNameAsString(), place->file, place->offset};
      site.kernel = &kernel;
      site.carrier = loop->stmt->getSourceRange();
      if (auto *source = sourceOf(kernel, *tiles)) site.facts["source"] = source;
      int64_t bytes = 0;
      for (const Buffer *buffer : tiles->buffers) bytes += buffer->bytes.value_or(0);
      site.facts["bytes_a_stage"] = bytes;
      site.facts["loop"] = loop.get();
      visit(kernel, std::move(*tiles), std::move(site), found);
    }
  return found;
}

} // namespace

Detection pipelinedLoops(const Version &version) {
  return forEachTileLoop(version, [](const KernelModel &kernel, TileLoop tiles, Site site, Detection &found) {
    auto stages = stagesOf(kernel, tiles);
    if (!stages || !filledBefore(kernel, tiles)) return;
    if (*stages != 2) {
      found.declines.push_back(declineAt(kernel, "unsupported_form", tiles.loop->stmt, "a pipeline of more than two stages"));
      return;
    }
    site.parameters["stages"] = *stages;
    site.facts["bytes_a_stage"] = std::get<int64_t>(site.facts["bytes_a_stage"]) / *stages;
    site.keep(std::move(tiles));
    found.sites.push_back(std::move(site));
  });
}

Detection serialLoops(const Version &version) {
  return forEachTileLoop(version, [](const KernelModel &kernel, TileLoop tiles, Site site, Detection &found) {
    if (stagesOf(kernel, tiles) || filledBefore(kernel, tiles)) return;
    // Copies, barrier, work, barrier.
    std::vector<Role> shape;
    for (Role role : tiles.roles)
      if (role != Role::Neutral && (shape.empty() || shape.back() != role)) shape.push_back(role);
    if (shape != std::vector<Role>{Role::Produce, Role::Barrier, Role::Compute, Role::Barrier}) return;
    for (const Buffer *buffer : tiles.buffers)
      for (const Access *access : kernel.accessesOf(buffer->decl))
        if (access->subscripts.size() != buffer->extents.size()) return;
    site.keep(std::move(tiles));
    found.sites.push_back(std::move(site));
  });
}

Result<Edits> makeSerial(const Version &version, const Site &site, const Parameters &) {
  const TileLoop &staged = site.as<TileLoop>();
  auto stage = withoutStage(*site.kernel, staged);
  if (!stage) return stage.error();
  Draft draft(version);
  if (Status applied = draft.apply(*stage); !applied) return applied.error();
  const KernelModel *kernel = draft.kernel(*site.kernel);
  auto tiles = kernel ? again(*site.kernel, staged, *kernel) : std::nullopt;
  if (!tiles || tiles->roles != staged.roles) return ourFault("the loop is not found again without its stages");
  const Loop &loop = *tiles->loop;
  IndexExpr t = IndexExpr::of(loopVariable(loop.variable)), next = t + loop.step;
  PlaceInKernel place(*kernel, tiles->body);
  Remap remap = remapOf(*kernel, place, *tiles, next, t, Piece{loop.variable->getNameAsString()});
  std::string neutral, produce, compute;
  for (size_t i = 0; i < tiles->roles.size(); ++i) {
    const Stmt *stmt = *(tiles->body->body_begin() + i);
    auto own = [&] {
      std::string text = kernel->unit->text(stmt);
      return text + (text.empty() || text.back() == '}' || text.back() == ';' ? "\n" : ";\n");
    };
    if (tiles->roles[i] == Role::Neutral) neutral += own();
    if (tiles->roles[i] == Role::Compute) compute += own();
    if (tiles->roles[i] != Role::Produce) continue;
    std::vector<const Stmt *> parts{stmt};
    if (auto *branch = dyn_cast<IfStmt>(stmt); branch && !branch->getElse()) {
      // `if (there is a next tile)`: now every tile is this turn's own.
      std::vector<Conjunct> conditions = conjunctsOf(*kernel, branch->getCond());
      if (conditions.size() == 1 && conditions[0].positive && *conditions[0].positive == loop.end - next) {
        parts.clear();
        if (auto *block = dyn_cast<CompoundStmt>(branch->getThen())) parts.assign(block->body_begin(), block->body_end());
        else parts.push_back(branch->getThen());
      }
    }
    for (const Stmt *part : parts) {
      auto text = said(*kernel, part, remap);
      if (!text) return refusal("the copy of the next tile cannot be said for this one", kernel->unit->where(part->getBeginLoc()));
      produce += withoutBarriers(*text) + "\n";
    }
  }
  auto body = kernel->unit->place(tiles->body);
  if (!body) return refusal(body.error().what);
  Edits edits{{body->file, body->offset, body->length, "{\n" + neutral + produce + "__syncthreads();\n" + compute + "__syncthreads();\n}"}};
  for (const Stmt *stmt : tiles->barriersBefore)
    if (auto edit = removal(*kernel->unit, stmt)) edits.push_back(*edit);
  for (const Stmt *stmt : tiles->before) {
    auto *declares = dyn_cast<DeclStmt>(stmt);
    if (!declares) {
      auto edit = removal(*kernel->unit, stmt);
      if (!edit) return edit.error();
      edits.push_back(*edit);
      continue;
    }
    // The local stays for the loop; what it held before the loop goes.
    for (const Decl *each : declares->decls()) {
      auto *decl = dyn_cast<VarDecl>(each);
      if (!decl || !decl->getInit()) continue;
      auto name = kernel->unit->place(SourceRange(decl->getLocation(), decl->getLocation())), value = kernel->unit->place(decl->getInit());
      if (!name || !value) return refusal("the first value of " + decl->getNameAsString() + " comes from a macro");
      unsigned begin = name->offset + name->length;
      edits.push_back({name->file, begin, value->offset + value->length - begin, ""});
    }
  }
  if (Status applied = draft.apply(edits); !applied) return applied.error();
  if (Status tidied = tidy(draft, *site.kernel); !tidied) return tidied.error();
  return draft.finish();
}

Result<Edits> makePipelined(const Version &version, const Site &site, const Parameters &) {
  const TileLoop &tiles = site.as<TileLoop>();
  const KernelModel &kernel = *site.kernel;
  const Loop &loop = *tiles.loop;
  std::string t = loop.variable->getNameAsString(), stage = freshName(kernel, "stage"), step = std::to_string(*loop.step.constant());
  IndexExpr now = IndexExpr::of(loopVariable(loop.variable));
  PlaceInKernel place(kernel, tiles.body), outside(kernel, loop.stmt);
  auto first = outside.print(loop.begin);
  if (!first) return refusal("the loop's first value has no text");
  auto *condition = dyn_cast<BinaryOperator>(loop.stmt->getCond());
  auto end = condition && condition->getOpcode() == BO_LT ? std::optional<Piece>(Piece{version.unit.text(condition->getRHS()->IgnoreImplicit()), precedenceOf(condition->getRHS())})
                                                          : outside.print(loop.end);
  if (!end || end->text.empty()) return refusal("the loop's bound has no text");
  Remap atFirst = remapOf(kernel, place, tiles, now, loop.begin, *first);
  Remap atNext = remapOf(kernel, place, tiles, now, now + loop.step, Piece{t + " + " + step, Piece::Sum});
  // Tiles get their stage by text: `tile[` becomes `tile[stage][`.
  auto staged = [&](std::string text, const std::string &which) {
    for (const Buffer *buffer : tiles.buffers) {
      std::string name = buffer->decl->getNameAsString() + "[";
      for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += name.size() + which.size() + 2) {
        if (at && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_')) continue;
        text.insert(at + name.size() - 1, "[" + which + "]");
      }
    }
    return text;
  };
  std::string neutral, ahead, fetch, store, compute;
  unsigned values = 0;
  for (size_t i = 0; i < tiles.roles.size(); ++i) {
    const Stmt *stmt = *(tiles.body->body_begin() + i);
    if (tiles.roles[i] == Role::Compute || tiles.roles[i] == Role::Neutral) {
      std::string text = version.unit.text(stmt);
      (tiles.roles[i] == Role::Compute ? compute : neutral) += staged(text, stage) + (text.empty() || text.back() == '}' || text.back() == ';' ? "\n" : ";\n");
    }
    if (tiles.roles[i] != Role::Produce) continue;
    auto before = said(kernel, stmt, atFirst);
    if (!before) return refusal("the first tile cannot be said before the loop", version.unit.where(stmt->getBeginLoc()));
    ahead += staged(*before, "0") + "\n";
    std::string another = "if (" + t + " + " + step + " < " + end->within(Piece::Shift) + ") ";
    bool fills = writesTile(kernel, tiles, stmt), carries = false; // carries: the value lies in a local of the kernel's own already
    for (const VarDecl *local : localsNamedIn(stmt)) carries |= tiles.carried.count(local) && feedsIn(tiles, local);
    auto *op = dyn_cast<BinaryOperator>(stmt);
    auto value = op && op->getOpcode() == BO_Assign && !carries ? atNext.print(op->getRHS()) : std::nullopt;
    if (!fills) {
      auto text = said(kernel, stmt, atNext);
      if (!text) return refusal("the next tile cannot be said in this turn", version.unit.where(stmt->getBeginLoc()));
      fetch += another + "{\n" + *text + "\n}\n";
    } else if (value) { // through a register, so that the load is under way while the block works
      std::string name = freshName(kernel, "next" + std::to_string(values++));
      std::string type = op->getLHS()->getType().getUnqualifiedType().getAsString(kernel.function->getASTContext().getPrintingPolicy());
      fetch += type + " " + name + " = " + zeroOf(op->getLHS()->getType()) + ";\n";
      fetch += another + name + " = " + value->text + ";\n";
      store += staged(version.unit.text(op->getLHS()), "1 - " + stage) + " = " + name + ";\n";
    } else {
      auto text = said(kernel, stmt, atNext);
      if (!text) return refusal("the next tile cannot be said in this turn", version.unit.where(stmt->getBeginLoc()));
      store += staged(*text, "1 - " + stage) + "\n";
    }
  }
  auto body = version.unit.place(tiles.body), whole = version.unit.place(wholeLoop(kernel, loop));
  if (!body || !whole) return refusal("the loop comes from a macro");
  IndexExpr turn = loop.begin == IndexExpr(0) ? now : now - loop.begin;
  auto turnText = place.print(turn);
  if (!turnText) return refusal("the number of the turn has no text");
  std::string number = step == "1" ? turnText->within(Piece::Product) : turnText->within(Piece::Product) + " / " + step;
  Edits edits{{whole->file, whole->offset, 0, ahead + "__syncthreads();\n"},
              {body->file, body->offset, body->length,
               "{\nconst int " + stage + " = " + number + " % 2;\n" + neutral + fetch + compute + "if (" + t + " + " + step + " < " + end->within(Piece::Shift) + ") {\n" + store +
                   "}\n__syncthreads();\n}"}};
  for (const Buffer *buffer : tiles.buffers) {
    auto name = version.unit.place(SourceRange(buffer->decl->getLocation(), buffer->decl->getLocation()));
    if (!name) return refusal(name.error().what);
    edits.push_back({name->file, name->offset + name->length, 0, "[2]"});
  }
  return edits;
}

} // namespace klineage
