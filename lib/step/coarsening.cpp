// What the lanes of a thread are, and which outputs they make.
#include "step/coarsening.h"
#include "step/inlining.h"
#include "step/lockstep.h"
#include "step/one_thread_a_row.h"
#include "step/reduction.h"
#include "step/staging.h"
#include <algorithm>

namespace klineage {
namespace {

using namespace clang;
using Env = std::map<std::string, int64_t>;

/// The value with every quantity known; none when one is not.
std::optional<int64_t> evaluate(const IndexExpr &value, const Env &env) {
  int64_t sum = 0;
  for (const auto &[key, term] : value.terms()) {
    int64_t product = term.second;
    for (const AtomRef &atom : term.first) {
      if (auto known = env.find(atom->key); known != env.end()) {
        product *= known->second;
        continue;
      }
      if (atom->kind < Atom::Quotient || atom->kind > Atom::Maximum) return std::nullopt;
      auto left = evaluate(atom->left, env), right = evaluate(atom->right, env);
      if (!left || !right || *left < 0 || *right < 0) return std::nullopt;
      switch (atom->kind) {
      case Atom::Quotient: if (!*right) return std::nullopt; product *= *left / *right; break;
      case Atom::Remainder: if (!*right) return std::nullopt; product *= *left % *right; break;
      case Atom::And: product *= *left & *right; break;
      case Atom::Or: product *= *left | *right; break;
      case Atom::Xor: product *= *left ^ *right; break;
      case Atom::ShiftRight: product *= *right < 63 ? *left >> *right : 0; break;
      case Atom::Minimum: product *= std::min(*left, *right); break;
      default: product *= std::max(*left, *right); break;
      }
    }
    sum += product;
  }
  return sum;
}

bool isLaunchIndex(const Atom &atom) { return atom.kind == Atom::ThreadIdx || atom.kind == Atom::BlockIdx; }

bool mentionsLaunchIndex(const IndexExpr &value) {
  auto all = value.atoms();
  return std::any_of(all.begin(), all.end(), [](const AtomRef &atom) { return isLaunchIndex(*atom); });
}

/// A value divided by its strides: for each product of quantities that no thread decides, what multiplies it.
std::map<std::string, std::pair<IndexExpr, IndexExpr>> byStride(const IndexExpr &index) {
  std::map<std::string, std::pair<IndexExpr, IndexExpr>> groups;
  for (const auto &[key, term] : index.terms()) {
    IndexExpr stride(1), factor(term.second);
    for (const AtomRef &atom : term.first)
      if (mentionsLaunchIndex(IndexExpr::of(atom))) factor = factor * IndexExpr::of(atom);
      else stride = stride * IndexExpr::of(atom);
    auto &group = groups[stride.key()];
    group.first = stride;
    group.second = group.second + factor;
  }
  return groups;
}

int64_t elementsOf(const Buffer &buffer) {
  int64_t product = buffer.extents.empty() ? 0 : 1;
  for (int64_t extent : buffer.extents) product *= extent;
  return product;
}

class Finder {
public:
  Finder(const Version &version, const KernelModel &kernel) : version(version), kernel(kernel) { coarse.kernel = &kernel; }

  /// The stores stand in a helper that is given elements of a local array.
  bool storesThroughHelper() const {
    for (const Access *store : stores)
      if (store->calls.size() == 1)
        for (const VarDecl *local : localsNamedIn(store->calls.front()))
          if (const Buffer *buffer = kernel.bufferOf(local); buffer && local->getType()->isArrayType() && elementsOf(*buffer) > 1) return true;
    return false;
  }

  CoarseningFinding registers() {
    if (storesThroughHelper()) {
      Exchange exchange = exchangeIn(kernel.function->getBody());
      if (exchange || kernel.launches.empty()) return unfit("a register block")->finding;
      auto draft = std::make_shared<Draft>(version);
      Edits inlining = inlineStores(kernel);
      if (inlining.empty() || !draft->apply(inlining) || !draft->kernel(kernel)) return decline("unsupported_form", "the outputs are stored by a helper that cannot be put in place");
      Version view = draft->view();
      Finder inner(view, *draft->kernel(kernel));
      inner.collectStores();
      if (inner.storesThroughHelper()) return decline("unsupported_form", "the outputs are stored by helpers in helpers");
      CoarseningFinding finding = inner.registers();
      if (finding.found) finding.found->inlining = std::move(inlining), finding.found->inlined = draft;
      return finding;
    }
    if (!findAccumulator()) return {};
    if (auto no = unfit("a register block")) return no->finding;
    for (const Access &access : kernel.accesses)
      if (access.space == Space::Local && kernel.bufferOf(access.buffer) && elementsOf(*kernel.bufferOf(access.buffer)) > 1)
        for (const Loop *loop : access.loops)
          if (access.index.mentions(loopVariable(loop->variable))) addSpread(loop);
    return finish();
  }

  CoarseningFinding loop() {
    const Loop *found = nullptr;
    for (const auto &loop : kernel.loops)
      if (!loop->parent && loop->calls.empty() && loop->tripCount().value_or(0) > 1 && !stores.empty() &&
          std::all_of(stores.begin(), stores.end(), [&](const Access *store) { return std::count(store->loops.begin(), store->loops.end(), loop.get()) && store->index.mentions(loopVariable(loop->variable)); }))
        found = loop.get();
    if (!found) return {};
    for (const Access &access : kernel.accesses) // elements that outlive an iteration belong to a register block
      if (access.space == Space::Local && std::count(access.loops.begin(), access.loops.end(), found) && declaredOutside(access.buffer, *found)) return {};
    if (auto no = unfit("a loop over outputs")) return no->finding;
    if (const VarDecl *carried = carriedBy(*found))
      return decline("iterations_independent", carried->getNameAsString() + " is handed from one iteration of the loop to the next", found->stmt);
    addSpread(found);
    return finish();
  }

  void collectStores() {
    for (const Access &access : kernel.accesses)
      if (access.space == Space::Global && access.kind != Access::Read) stores.push_back(&access);
  }

private:
  struct Unfit { CoarseningFinding finding; };
  const Version &version;
  const KernelModel &kernel;
  Coarsening coarse;
  std::vector<const Access *> stores;
  std::map<std::string, IndexExpr> dimensions;

  CoarseningFinding decline(std::string reason, std::string text, const Stmt *at = nullptr) {
    CoarseningFinding finding;
    finding.decline = at ? declineAt(kernel, std::move(reason), at, std::move(text)) : declineAt(kernel, std::move(reason), kernel.function, std::move(text));
    return finding;
  }

  void addSpread(const Loop *loop) {
    if (!std::count(coarse.spread.begin(), coarse.spread.end(), loop)) coarse.spread.push_back(loop);
  }

  bool declaredOutside(const ValueDecl *decl, const Loop &loop) const {
    const auto *variable = dyn_cast_or_null<VarDecl>(decl);
    const Stmt *at = variable ? declarationOf(kernel, variable) : nullptr;
    for (; at; at = kernel.parent(at))
      if (at == loop.stmt) return false;
    return true;
  }

  /// A scalar from outside the loop that an iteration changes.
  const VarDecl *carriedBy(const Loop &loop) const {
    for (const VarDecl *local : localsNamedIn(loop.stmt->getBody()))
      if (declaredOutside(local, loop) && !assignmentsTo(local, loop.stmt->getBody()).empty()) return local;
    return nullptr;
  }

  /// The register array whose elements the stores write.
  bool findAccumulator() {
    for (const Access *store : stores)
      for (const Access &read : kernel.accesses) {
        if (read.space != Space::Local || read.kind == Access::Write || read.statement != store->statement) continue;
        const Buffer *buffer = kernel.bufferOf(read.buffer);
        if (!buffer || elementsOf(*buffer) < 2 || buffer->vectorWidth != 1) continue;
        if (coarse.accumulator && coarse.accumulator != read.buffer) return false;
        coarse.accumulator = dyn_cast<VarDecl>(read.buffer);
      }
    return coarse.accumulator;
  }

  std::optional<Unfit> unfit(const std::string &what) {
    auto no = [&](std::string reason, std::string text) { return Unfit{decline(std::move(reason), std::move(text))}; };
    Exchange exchange = exchangeIn(kernel.function->getBody());
    if (exchange.shared) return no("held_by", what + " whose block shares memory; take out shared_tile first");
    if (exchange.barrier || !kernel.barriers.empty()) return no("held_by", what + " whose threads wait for each other");
    if (exchange.shuffle) return no("held_by", what + " whose warps exchange values; take out warp_shuffle_reduce first");
    if (kernel.function->hasAttr<CUDALaunchBoundsAttr>()) return no("held_by", what + " with launch bounds; take out launch_bounds first");
    if (kernel.launches.empty()) return no("no_launch", what + ", and no launch of the kernel is in sight that could change with it");
    if (const auto *pattern = kernel.function->getTemplateInstantiationPattern())
      if (std::count_if(version.kernels.begin(), version.kernels.end(), [&](const KernelModel &other) { return other.function->getTemplateInstantiationPattern() == pattern; }) > 1)
        return no("unsupported_form", "several instantiations of the kernel are launched");
    for (unsigned axis = 0; axis < 3; ++axis) {
      auto size = kernel.blockSize(axis);
      if (!size) return no("unsupported_form", what + " whose block has no constant shape");
      dimensions.emplace(blockDim(axis)->key, IndexExpr(*size));
    }
    for (const ParmVarDecl *parameter : kernel.function->parameters())
      if (parameter->getType()->isPointerType() && kernel.changesOf(parameter) != 0) return no("unsupported_form", what + " that moves the pointer " + parameter->getNameAsString());
    for (const Access *store : stores) {
      if (store->kind != Access::Write) return no("unsupported_form", what + " whose outputs are updated in place or by atomics");
      if (!store->calls.empty()) return no("unsupported_form", what + " that a helper function writes");
      if (!store->exact || store->width != 1 || store->inOpenLoop) return no("opaque_index", "the place of an output is not told by an index: " + version.unit.text(store->expr));
    }
    for (const Access &access : kernel.accesses)
      if (access.space == Space::Unknown) return no("opaque_index", "an access through a pointer of unknown origin");
    return std::nullopt;
  }

  using Fixed = std::map<std::string, IndexExpr>;

  /// Calls `each` for every iteration of the spread loops around the access; false when another loop is around it.
  bool iterations(const Access &access, const std::function<bool(const Fixed &)> &each) const {
    std::vector<Fixed> all{dimensions};
    for (const Loop *loop : access.loops) {
      if (!std::count(coarse.spread.begin(), coarse.spread.end(), loop)) return false;
      auto trips = loop->tripCount();
      auto first = loop->begin.constant(), by = loop->step.constant();
      if (!trips || *trips < 1 || !first || !by || all.size() * *trips > 1024) return false;
      std::vector<Fixed> next;
      for (const Fixed &fixed : all)
        for (int64_t turn = 0; turn < *trips; ++turn) {
          next.push_back(fixed);
          next.back()[loopVariable(loop->variable)->key] = IndexExpr(*first + turn * *by);
        }
      all = std::move(next);
    }
    return std::all_of(all.begin(), all.end(), each);
  }

  std::optional<std::vector<int64_t>> elementOf(const Access &store, const Fixed &fixed) const {
    std::optional<std::vector<int64_t>> element;
    if (!coarse.accumulator) {
      std::vector<int64_t> turn;
      for (const Loop *loop : coarse.spread) turn.push_back(*fixed.at(loopVariable(loop->variable)->key).constant());
      return turn;
    }
    for (const Access &read : kernel.accesses) {
      if (read.statement != store.statement || read.buffer != coarse.accumulator) continue;
      std::vector<int64_t> one;
      std::vector<IndexExpr> subscripts = read.subscripts;
      if (subscripts.empty()) subscripts.push_back(read.index);
      for (const IndexExpr &subscript : subscripts) {
        auto value = subscript.substitute(fixed).constant();
        if (!value) return std::nullopt;
        one.push_back(*value);
      }
      if (element && *element != one) return std::nullopt;
      element = one;
    }
    return element;
  }

  CoarseningFinding finish() {
    for (const Loop *loop : coarse.spread)
      if (loop->unrollPragma && *loop->unrollPragma != 1) return decline("held_by", "the loop over the outputs of a thread is unrolled; take out unroll first", loop->stmt);
    std::set<std::vector<int64_t>> seen;
    std::set<std::string> buffers;
    std::vector<std::map<std::string, std::pair<IndexExpr, IndexExpr>>> places;
    for (const Access *store : stores) {
      buffers.insert(std::to_string(reinterpret_cast<uintptr_t>(store->buffer)));
      bool told = iterations(*store, [&](const Fixed &fixed) {
        auto element = elementOf(*store, fixed);
        if (!element || !seen.insert(*element).second) return false;
        coarse.lanes.push_back({*element, {}});
        places.push_back(byStride(store->index.substitute(fixed)));
        return true;
      });
      if (!told) return decline("unsupported_form", "each output is not stored once, from a place of its own: " + version.unit.text(store->statement));
    }
    if (buffers.size() != 1 || coarse.lanes.size() < 2) return decline("unsupported_form", "a thread stores to several buffers");
    for (const auto &[key, group] : places.front())
      if (mentionsLaunchIndex(group.second)) {
        bool kept = group.second == IndexExpr::of(blockIdx(2)) && kernel.blockSize(2) == 1; // a batch: not touched
        if (!kept) coarse.axes.push_back({.stride = group.first});
      }
    if (coarse.axes.empty() || coarse.axes.size() > 2) return decline("opaque_index", "the outputs have no row and column that the index tells apart");
    for (size_t lane = 0; lane < places.size(); ++lane)
      for (const OutputAxis &axis : coarse.axes) {
        auto group = places[lane].find(axis.stride.key());
        coarse.lanes[lane].place.push_back(group == places[lane].end() ? IndexExpr() : group->second.second);
      }
    if (auto no = tiles()) return *no;
    extents();
    shape();
    names();
    CoarseningFinding finding;
    finding.found = std::move(coarse);
    return finding;
  }

  /// Threads and lanes of a block hit each place of its tile once.
  std::optional<CoarseningFinding> tiles() {
    size_t count = coarse.axes.size();
    std::vector<std::vector<IndexExpr>> own(coarse.lanes.size());
    std::set<unsigned> blockAxes;
    for (size_t at = 0; at < count; ++at) {
      std::optional<unsigned> blockAxis;
      std::set<int64_t> firsts;
      for (const Lane &lane : coarse.lanes) {
        const IndexExpr &place = lane.place[at];
        for (unsigned axis = 0; axis < 3; ++axis)
          if (place.mentions(blockIdx(axis)) && (!blockAxis || *blockAxis == axis)) blockAxis = axis;
        auto tile = blockAxis ? place.coefficient(blockIdx(*blockAxis)).constant() : std::optional<int64_t>();
        if (!tile || *tile < 1) return decline("opaque_index", "blocks do not tile the output: " + place.key());
        coarse.axes[at].tile = *tile;
        coarse.axes[at].blockAxis = *blockAxis;
      }
      if (!blockAxes.insert(*blockAxis).second) return decline("opaque_index", "rows and columns of the output are counted by one block index");
    }
    for (size_t lane = 0; lane < coarse.lanes.size(); ++lane)
      for (size_t at = 0; at < count; ++at)
        own[lane].push_back(coarse.lanes[lane].place[at] - IndexExpr(coarse.axes[at].tile) * IndexExpr::of(blockIdx(coarse.axes[at].blockAxis)));
    std::set<std::vector<int64_t>> hit;
    std::vector<std::set<int64_t>> firsts(count);
    int64_t whole = 1, threads = 1;
    for (const OutputAxis &axis : coarse.axes) whole *= axis.tile;
    for (unsigned axis = 0; axis < 3; ++axis) threads *= *kernel.blockSize(axis);
    auto no = [&] { return decline("unsupported_form", "the outputs of a block are no whole tile that its threads cover once"); };
    if (whole != threads * int64_t(coarse.lanes.size())) return no();
    for (int64_t z = 0; z < *kernel.blockSize(2); ++z)
      for (int64_t y = 0; y < *kernel.blockSize(1); ++y)
        for (int64_t x = 0; x < *kernel.blockSize(0); ++x) {
          Env env{{threadIdx(0)->key, x}, {threadIdx(1)->key, y}, {threadIdx(2)->key, z}};
          for (const auto &place : own) {
            std::vector<int64_t> at;
            for (size_t axis = 0; axis < count; ++axis) {
              auto value = evaluate(place[axis], env);
              if (!value || *value < 0 || *value >= coarse.axes[axis].tile) return no();
              at.push_back(*value);
              if (x + y + z == 0) firsts[axis].insert(*value);
            }
            if (!hit.insert(at).second) return no();
          }
          if (x == 1 && y + z == 0 && count == 2) { // the coordinate that neighbouring threads walk along becomes x
            Env first{{threadIdx(0)->key, 0}, {threadIdx(1)->key, 0}, {threadIdx(2)->key, 0}};
            bool moves = evaluate(own[0][0], env) != evaluate(own[0][0], first);
            coarse.axes[0].axis = moves ? 0 : 1;
            coarse.axes[1].axis = moves ? 1 : 0;
          }
        }
    for (size_t axis = 0; axis < count; ++axis) coarse.axes[axis].lanes = firsts[axis].size();
    for (unsigned axis = 0; axis < 3; ++axis)
      for (const Launch &launch : kernel.launches)
        if (!blockAxes.count(axis) && !(launch.gridShape[axis] == IndexExpr(1)) && !(axis == 2 && kernel.blockSize(2) == 1))
          return decline("opaque_index", "the place of the outputs does not depend on every block index");
    return std::nullopt;
  }

  /// Every store is guarded by coordinate < parameter.
  void extents() {
    for (size_t at = 0; at < coarse.axes.size(); ++at) {
      std::optional<IndexExpr> bound;
      bool all = true;
      size_t lane = 0;
      for (const Access *store : stores)
        iterations(*store, [&](const Fixed &fixed) {
          const IndexExpr &place = coarse.lanes[lane++].place[at];
          bool guarded = false;
          for (const Comparison &fact : kernel.known(store->guards)) {
            if (fact.relation != Comparison::Less && fact.relation != Comparison::LessOrEqual) continue;
            IndexExpr limit = place - fact.difference.substitute(fixed) + IndexExpr(fact.relation == Comparison::LessOrEqual ? 1 : 0);
            if (mentionsLaunchIndex(limit)) continue;
            if (!bound) bound = limit;
            guarded |= *bound == limit;
          }
          all &= guarded;
          return true;
        });
      if (!all || !bound) continue;
      for (const ParmVarDecl *parameter : kernel.function->parameters())
        if (parameter->getType()->isIntegerType() && *bound == IndexExpr::of(klineage::parameter(parameter))) coarse.axes[at].extent = parameter->getFunctionScopeIndex();
    }
  }

  /// A coordinate is called as the kernel calls it, else by its direction.
  void names() {
    struct Locals : RecursiveASTVisitor<Locals> {
      std::vector<const VarDecl *> found;
      bool VisitVarDecl(VarDecl *decl) { return decl->isLocalVarDecl() && isInteger(decl->getType()) ? found.push_back(decl) : void(), true; }
    } locals;
    locals.TraverseStmt(kernel.function->getBody());
    Fixed fixed = dimensions;
    for (const Loop *loop : coarse.spread) fixed[loopVariable(loop->variable)->key] = loop->begin;
    std::set<std::string> taken;
    for (size_t at = 0; at < coarse.axes.size(); ++at) {
      auto is = [&](const Expr *value) { return value && kernel.lift(value).substitute(fixed) == coarse.lanes.front().place[at]; };
      std::string &name = coarse.axes[at].name;
      for (const VarDecl *local : locals.found) {
        bool same = is(local->getInit());
        for (const Expr *change : assignmentsTo(local, kernel.function->getBody()))
          if (const auto *op = dyn_cast<BinaryOperator>(change)) same |= op->getOpcode() == BO_Assign && is(op->getRHS());
        if (!same || !name.empty() || taken.count(local->getNameAsString())) continue;
        name = local->getNameAsString();
        const ASTContext &context = kernel.function->getASTContext();
        QualType type = local->getType().getUnqualifiedType();
        if (context.getTypeSize(type) > 32) coarse.axes[at].wideType = type.getAsString(context.getPrintingPolicy());
      }
      if (name.empty()) name = freshName(kernel, coarse.axes.size() == 1 ? "index" : coarse.axes[at].axis ? "row" : "col");
      taken.insert(name);
    }
  }

  /// The block of the plain form.
  void shape() {
    auto size = [&](unsigned axis) { return *kernel.blockSize(axis); };
    if (coarse.axes.size() == 1) {
      coarse.axes[0].threads = size(0) * size(1) * size(2);
      coarse.sameBlock = size(1) * size(2) == 1;
      return;
    }
    coarse.sameBlock = size(2) == 1 && std::all_of(coarse.axes.begin(), coarse.axes.end(), [&](const OutputAxis &axis) { return axis.tile % size(axis.axis) == 0; }) && size(1) > 1;
    for (OutputAxis &axis : coarse.axes) {
      axis.threads = coarse.sameBlock ? size(axis.axis) : 16;
      while (axis.tile % axis.threads) axis.threads /= 2;
    }
  }
};

} // namespace

int64_t Coarsening::alongColumns() const {
  int64_t product = 1;
  for (const OutputAxis &axis : axes)
    if (axis.axis == 0) product *= axis.lanes;
  return product;
}

int64_t Coarsening::alongRows() const {
  int64_t product = 1;
  for (const OutputAxis &axis : axes)
    if (axis.axis != 0) product *= axis.lanes;
  return product;
}

namespace {

/// A finding is one only when its plain form can be written.
CoarseningFinding checked(const KernelModel &kernel, CoarseningFinding finding) {
  if (!finding.found) return finding;
  auto body = plainBody(*finding.found, /*all=*/false);
  if (body) return finding;
  CoarseningFinding declined;
  declined.decline = declineAt(kernel, "unsupported_form", kernel.function, body.error().what);
  return declined;
}

} // namespace

CoarseningFinding findRegisterBlock(const Version &version, const KernelModel &kernel) {
  Finder finder(version, kernel);
  finder.collectStores();
  return checked(kernel, finder.registers());
}

CoarseningFinding findThreadLoop(const Version &version, const KernelModel &kernel) {
  Finder finder(version, kernel);
  finder.collectStores();
  return checked(kernel, finder.loop());
}

} // namespace klineage
