// Finding the regions: what do these statements leave behind, compared with a reduction of what they took?
#include "step/reduction.h"
#include "step/reduction_totals.h"
#include "step/text_order.h"
#include <algorithm>
#include <tuple>

namespace klineage {
using namespace clang;

namespace {

bool loneBarrier(const Stmt *stmt) {
  const auto *call = dyn_cast<CallExpr>(stmt);
  return call && exchangeIn(call).barrier && !exchangeIn(call).shared && !exchangeIn(call).shuffle;
}

/// A member of cub::BlockReduce or cub::WarpReduce.
bool isLibraryReduction(const CallExpr *call) {
  const auto *method = dyn_cast_or_null<CXXMethodDecl>(call->getDirectCallee());
  if (!method) return false;
  std::string name = method->getParent()->getNameAsString();
  bool library = false;
  for (const DeclContext *space = method->getParent(); space; space = space->getParent())
    if (const auto *named = dyn_cast<NamespaceDecl>(space)) library = library || named->getNameAsString() == "cub";
  return library && (name == "BlockReduce" || name == "WarpReduce");
}

void helpersIn(const Stmt *stmt, std::set<const FunctionDecl *> &found) {
  if (!stmt) return;
  if (const auto *call = dyn_cast<CallExpr>(stmt)) {
    const FunctionDecl *callee = call->getDirectCallee(), *body = nullptr;
    if (callee && !isShuffle(call) && callee->hasBody(body) && !body->getASTContext().getSourceManager().isInSystemHeader(body->getLocation()) && calleeName(call).compare(0, 2, "__") != 0 && exchangeIn(body->getBody()))
      found.insert(body);
  }
  for (const Stmt *child : stmt->children()) helpersIn(child, found);
}

class Finder {
public:
  Finder(const Version &version, const KernelModel &kernel)
      : ast(version.unit.ast(Side::Device)), kernel(kernel), shape(blockShapeOf(kernel)) {}

  std::vector<ReductionRegion> all(std::vector<Unexplained> *rest) {
    search(kernel.function);
    if (rest) *rest = unexplained();
    // A helper's own region counts unless each call of it stands in a larger region of its caller.
    std::vector<ReductionRegion> kept;
    for (ReductionRegion &region : found) {
      bool free = region.function == kernel.function;
      for (const auto &[caller, callee] : calls) {
        if (callee != region.function) continue;
        bool swallowed = false;
        for (const ReductionRegion &outer : found)
          swallowed = swallowed || (outer.function == caller && !outer.ownedByHelper && outer.calls.count(callee));
        free = free || !swallowed || callsOutside.count({caller, callee});
      }
      if (free) kept.push_back(region);
    }
    return kept;
  }

private:
  struct Guarded { const Expr *condition; bool negated; };

  const ASTContext &ast;
  const KernelModel &kernel;
  BlockShape shape;
  std::vector<ReductionRegion> found;
  std::set<const FunctionDecl *> searched;
  std::vector<std::pair<const FunctionDecl *, const FunctionDecl *>> calls;
  std::set<std::pair<const FunctionDecl *, const FunctionDecl *>> callsOutside; // beside the regions of the caller
  std::map<const Stmt *, std::string> failures; // why no region begins at a statement

  /// Shuffles outside all regions: where the statement that leads to them stands, in the kernel or in a helper that holds regions itself.
  std::vector<Unexplained> unexplained() const {
    std::vector<Unexplained> rest;
    std::set<const FunctionDecl *> looked;
    auto holdsRegions = [&](const FunctionDecl *function) {
      return std::any_of(found.begin(), found.end(), [&](const ReductionRegion &region) { return region.function == function; });
    };
    std::function<void(const Stmt *, const Stmt *)> look = [&](const Stmt *stmt, const Stmt *statement) {
      if (!stmt) return;
      for (const ReductionRegion &region : found)
        if (std::find(region.statements.begin(), region.statements.end(), stmt) != region.statements.end()) return;
      if (failures.count(stmt)) statement = stmt;
      if (const auto *call = dyn_cast<CallExpr>(stmt)) {
        const FunctionDecl *callee = call->getDirectCallee(), *body = nullptr;
        bool helper = !isShuffle(call) && callee && callee->hasBody(body) && searched.count(body);
        if (helper && holdsRegions(body)) {
          if (looked.insert(body).second) look(body->getBody(), nullptr);
        } else if (statement && (isShuffle(call) || isLibraryReduction(call) || (helper && exchangeIn(body->getBody()).shuffle))) {
          std::string why = failures.at(statement);
          if (isLibraryReduction(call)) why = "the reduction is a library's own, and no statement of the sources holds it";
          else if (isShuffle(call) && call->getType()->isRecordType()) why = "it combines values of " + call->getType().getUnqualifiedType().getAsString() + ", whose arithmetic is not followed";
          if (std::none_of(rest.begin(), rest.end(), [&](const Unexplained &one) { return one.statement == statement; })) rest.push_back({statement, why});
        }
      }
      for (const Stmt *child : stmt->children()) look(child, statement);
    };
    look(kernel.function->getBody(), nullptr);
    return rest;
  }

  void search(const FunctionDecl *function) {
    if (!searched.insert(function).second || !function->getBody()) return;
    std::set<const FunctionDecl *> helpers;
    helpersIn(function->getBody(), helpers);
    for (const FunctionDecl *helper : helpers) {
      calls.push_back({function, helper});
      search(helper);
    }
    TextOrder order(function->getBody());
    size_t before = found.size();
    visit(function, function->getBody(), order, {}, nullptr);
    for (const FunctionDecl *helper : helpers) {
      size_t inside = 0, total = 0;
      for (const auto &[ref, at] : order.references) {
        const FunctionDecl *body = nullptr;
        const auto *callee = dyn_cast<FunctionDecl>(ref->getDecl());
        if (!callee || !callee->hasBody(body) || body != helper) continue;
        ++total;
        for (size_t i = before; i < found.size(); ++i)
          if (!found[i].ownedByHelper && at >= order.spans[found[i].statements.front()].first && at < order.spans[found[i].statements.back()].last) ++inside;
      }
      if (inside < total) callsOutside.insert({function, helper});
    }
  }

  void visit(const FunctionDecl *function, const Stmt *stmt, const TextOrder &order, std::vector<Guarded> guards, const Stmt *outerLoop) {
    if (!stmt || !exchangeIn(stmt)) return;
    if (const auto *body = dyn_cast<CompoundStmt>(stmt)) return list(function, body, order, guards, outerLoop);
    if (const auto *branch = dyn_cast<IfStmt>(stmt)) {
      auto inner = guards;
      inner.push_back({branch->getCond(), false});
      visit(function, branch->getThen(), order, inner, outerLoop);
      inner.back().negated = true;
      visit(function, branch->getElse(), order, inner, outerLoop);
      return;
    }
    const Stmt *loopBody = nullptr;
    if (const auto *loop = dyn_cast<ForStmt>(stmt)) loopBody = loop->getBody();
    if (const auto *loop = dyn_cast<WhileStmt>(stmt)) loopBody = loop->getBody();
    if (const auto *loop = dyn_cast<DoStmt>(stmt)) loopBody = loop->getBody();
    if (loopBody) return visit(function, loopBody, order, guards, outerLoop ? outerLoop : stmt);
    if (const auto *attributed = dyn_cast<AttributedStmt>(stmt)) visit(function, attributed->getSubStmt(), order, guards, outerLoop);
  }

  void list(const FunctionDecl *function, const CompoundStmt *body, const TextOrder &order, std::vector<Guarded> guards, const Stmt *outerLoop) {
    std::vector<const Stmt *> statements(body->body_begin(), body->body_end());
    size_t free = 0; // statements before it belong to an earlier region
    for (size_t at = 0; at < statements.size();) {
      const Stmt *stmt = statements[at];
      if (const auto *exit = dyn_cast<IfStmt>(stmt); exit && !exit->getElse() && endsInReturn(exit->getThen())) guards.push_back({exit->getCond(), true});
      Exchange exchange = exchangeIn(stmt);
      if ((exchange.shuffle || exchange.shared) && !loneBarrier(stmt)) {
        // The pair of an online softmax needs each thread's own maximum, which copies made just before hold: begin there if that explains it.
        size_t copies = at;
        while (copies > free && isCopy(statements[copies - 1])) --copies;
        size_t length = copies < at ? regionAt(function, body, statements, copies, order, guards, outerLoop) : 0;
        bool pair = length && std::any_of(found.back().totals.begin(), found.back().totals.end(), [](const Total &total) { return total.combine == Combine::ScaledSum; });
        if (pair) { free = at = copies + length; continue; }
        if (length) found.pop_back();
        length = regionAt(function, body, statements, at, order, guards, outerLoop);
        if (length) { free = at += length; continue; }
        visit(function, stmt, order, guards, outerLoop);
      }
      ++at;
    }
  }

  static bool isCopy(const Stmt *stmt) {
    const auto *decls = dyn_cast<DeclStmt>(stmt);
    return decls && std::all_of(decls->decl_begin(), decls->decl_end(), [](const Decl *decl) {
             const auto *variable = dyn_cast<VarDecl>(decl);
             if (variable && variable->hasAttr<CUDASharedAttr>()) return true;
             return variable && variable->getInit() && isa<DeclRefExpr>(variable->getInit()->IgnoreParenImpCasts());
           });
  }

  static bool endsInReturn(const Stmt *stmt) {
    if (const auto *body = dyn_cast<CompoundStmt>(stmt)) return !body->body_empty() && endsInReturn(body->body_back());
    return isa<ReturnStmt>(stmt);
  }

  /// The best region that begins with this statement; answers its number of statements, or 0.
  size_t regionAt(const FunctionDecl *function, const CompoundStmt *body, const std::vector<const Stmt *> &statements, size_t first,
                  const TextOrder &order, const std::vector<Guarded> &guards, const Stmt *outerLoop) {
    bool unseen = false;
    size_t length = regionAt(function, body, statements, first, order, guards, outerLoop, Trial::few, unseen);
    if (!unseen) return length;
    if (length) found.pop_back(); // few samples may have a largest one where they please, or answer a test one way
    return regionAt(function, body, statements, first, order, guards, outerLoop, Trial::many, unseen);
  }

  /// With that many runs; `unseen` where more of them may answer otherwise.
  size_t regionAt(const FunctionDecl *function, const CompoundStmt *body, const std::vector<const Stmt *> &statements, size_t first, const TextOrder &order,
                  const std::vector<Guarded> &guards, const Stmt *outerLoop, unsigned runs, bool &unseen) {
    Trial trial(ast, shape, runs);
    unsigned begin = order.spans.at(statements[first]).first;
    trial.setSettled([&](const VarDecl *variable) { return !order.changedBefore(variable, begin); });
    Lockstep guarding = trial.sides.front();
    std::vector<char> active = guarding.activeWhere(nullptr, false);
    for (const Guarded &guard : guards) {
      guarding.setActive(active);
      active = guarding.activeWhere(guard.condition, guard.negated);
    }
    trial.setActive(active);
    std::optional<ReductionRegion> best;
    std::string &why = failures[statements[first]];
    for (size_t at = first; at < statements.size(); ++at) {
      bool followed = trial.run(statements[at]);
      if (!followed || !trial.clean()) {
        if (at == first) why = !followed ? trial.trouble() : trial.touchedMemory() ? "it stores to memory between the exchanges" : "it reads shared memory that was filled before";
        break;
      }
      ReductionRegion region;
      region.statements.assign(statements.begin() + first, statements.begin() + at + 1);
      auto left = leaves(trial, active, region, order, outerLoop, isa<ReturnStmt>(statements[at]));
      if (!left) {
        if (at == first) why = left.error().what;
        continue;
      }
      if (const Expr *test = trial.seenOneWay()) {
        unseen = true;
        if (at == first) why = "all samples decide " + kernel.unit->text(test) + " one way, and what the other leads to was not seen";
        continue;
      }
      // The widest group, then a total that all threads have, then one in variables; of equals the shortest.
      auto rank = [](const ReductionRegion &one) {
        bool every = true, variables = true;
        for (const Total &total : one.totals) {
          every = every && total.everyThread;
          variables = variables && !total.place.element;
        }
        return std::tuple(one.group, every, variables);
      };
      unseen = unseen || std::any_of(region.totals.begin(), region.totals.end(), [](const Total &total) { return isExtremum(total.combine); });
      bool better = !best || rank(region) > rank(*best);
      region.shuffles = trial.sides.front().shuffles();
      if (better) best = region;
    }
    if (!best) return 0;
    for (size_t next = first + best->statements.size(); next < statements.size() && loneBarrier(statements[next]); ++next)
      best->statements.push_back(statements[next]);
    best->kernel = &kernel;
    best->function = function;
    best->body = body;
    for (const Stmt *stmt : best->statements) {
      Exchange exchange = exchangeIn(stmt);
      best->exchange.shuffle |= exchange.shuffle;
      best->exchange.barrier |= exchange.barrier;
      best->exchange.shared |= exchange.shared;
      helpersIn(stmt, best->calls);
    }
    best->wholeBlock = best->group == shape.size() && (shape.known || best->group > 32);
    best->ownedByHelper = owned(*best);
    found.push_back(*best);
    return best->statements.size();
  }

  bool owned(const ReductionRegion &region) const {
    if (region.calls.size() != 1 || region.totals.size() != 1) return false;
    const FunctionDecl *helper = *region.calls.begin();
    // Nothing but the call exchanges: the statement with the call's body taken away is quiet.
    for (const Stmt *stmt : region.statements)
      if (!loneBarrier(stmt) && directExchange(stmt)) return false;
    auto reduction = reductionOf(helper, kernel, shape);
    return reduction && reduction->total.group == region.group;
  }

  static bool directExchange(const Stmt *stmt) {
    if (!stmt) return false;
    if (const auto *ref = dyn_cast<DeclRefExpr>(stmt); ref && ref->getDecl()->hasAttr<CUDASharedAttr>()) return true;
    if (const auto *call = dyn_cast<CallExpr>(stmt)) {
      std::set<const FunctionDecl *> helper;
      helpersIn(call, helper);
      if (helper.empty() && exchangeIn(call)) return true;
      for (const Expr *argument : call->arguments())
        if (directExchange(argument)) return true;
      return false;
    }
    for (const Stmt *child : stmt->children())
      if (directExchange(child)) return true;
    return false;
  }

  static Error refused(std::string why) { return refusal(std::move(why), ""); }

  /// Fills in what lives on after the statements; a refusal when that is not all totals of reductions.
  Status leaves(const Trial &trial, const std::vector<char> &active, ReductionRegion &region, const TextOrder &order, const Stmt *outerLoop,
              bool returns) const {
    auto spanOf = [&](const Stmt *stmt) { return order.spans.at(stmt); };
    unsigned begin = spanOf(region.statements.front()).first, end = spanOf(region.statements.back()).last;
    std::vector<std::pair<TotalPlace, Observed>> outs;
    std::set<const ValueDecl *> handled;
    std::set<std::pair<const ValueDecl *, int64_t>> anew;
    Classifier classifier(trial, active, shape.size());
    for (const auto &[ref, at] : order.references) {
      const ValueDecl *decl = ref->getDecl();
      if (at >= begin && at < end) continue;
      if (std::none_of(trial.sides.begin(), trial.sides.end(), [&](const Lockstep &side) { return side.wrote(decl); })) continue;
      bool later = at >= end;
      if (!later) { // an earlier statement of the loop sees it in the next round, unless it is made anew in each
        if (!outerLoop || at < spanOf(outerLoop).first || order.stores.count(ref)) continue;
        if (madeInside(decl, outerLoop)) continue;
      }
      if (order.stores.count(ref)) {
        if (!decl->hasAttr<CUDASharedAttr>() || !later) continue;
        auto one = order.constantSubscript.find(ref); // written anew, all or one element: what follows is another value
        if (one != order.constantSubscript.end()) anew.insert({decl, one->second});
        else handled.insert(decl);
        continue;
      }
      if (decl->hasAttr<CUDASharedAttr>()) {
        if (handled.count(decl) || !later) continue;
        auto subscript = order.constantSubscript.find(ref);
        int64_t element = subscript != order.constantSubscript.end() ? subscript->second : 0;
        if (anew.count({decl, element})) continue;
        if (subscript == order.constantSubscript.end() && decl->getType()->isArrayType()) return refused("shared memory is read afterwards at places that are not constant");
        Observed values;
        for (const Lockstep &side : trial.sides) {
          auto value = side.element(decl, element);
          if (!value) return refused("shared memory is read afterwards that it did not fill");
          values.emplace_back(side.threads(), *value);
        }
        TotalPlace place{decl, -1, element};
        if (std::none_of(outs.begin(), outs.end(), [&](const auto &out) { return out.first == place; }))
          outs.push_back({place, std::move(values)});
        continue;
      }
      if (!handled.insert(decl).second) continue;
      if (order.kept.count(decl)) return refused("a pointer may name " + decl->getNameAsString() + ", which the lanes combine");
      if (decl->getType()->isArrayType()) {
        auto elements = observeElements(trial, decl, elementsReadBeside(decl, order, begin, end));
        outs.insert(outs.end(), elements.begin(), elements.end());
        continue;
      }
      for (auto &out : observe(trial, decl)) {
        std::vector<Total> probe;
        if (decl->getType()->isIntegerType() && !classifier.scalar(out.first, out.second) && keeps(decl, region)) continue;
        outs.push_back(out);
      }
    }
    if (returns) outs.push_back({TotalPlace{}, trial.returned()});
    if (!classifyAll(classifier, outs, region.totals)) return refused(outs.empty() ? "nothing that it combines is used afterwards" : "what the lanes end with is no sum, product, maximum or minimum of one value of each lane");
    if (Status kept = keepDeclarations(region, order, end); !kept) return kept;
    region.group = region.totals.front().group;
    for (const Total &total : region.totals)
      if (total.group != region.group) return refused("groups of two sizes combine in one stretch");
    return Done{};
  }

  /// What the statements declare and only later code fills stays: slots that are used again, a variable that has no value yet.
  static Status keepDeclarations(ReductionRegion &region, const TextOrder &order, unsigned end) {
    auto isTotal = [&](const Decl *decl) {
      return std::any_of(region.totals.begin(), region.totals.end(), [&](const Total &total) { return total.place.decl == decl; });
    };
    for (const Stmt *stmt : region.statements) {
      const auto *decls = dyn_cast<DeclStmt>(stmt);
      if (!decls || std::find(region.kept.begin(), region.kept.end(), stmt) != region.kept.end()) continue;
      const VarDecl *needed = nullptr;
      bool rewritten = false;
      for (const Decl *one : decls->decls()) {
        const auto *decl = dyn_cast<VarDecl>(one);
        if (!decl) continue;
        bool shared = decl->hasAttr<CUDASharedAttr>(), total = isTotal(decl);
        rewritten = rewritten || (total && !shared); // it is declared anew with its input
        for (const auto &[ref, at] : order.references)
          if (ref->getDecl() == decl && at >= end && (!total || (shared && order.stores.count(ref)))) needed = decl;
        if (needed == decl && !shared && decl->getInit()) return refused("it declares " + decl->getNameAsString() + ", which later code uses");
      }
      if (needed && rewritten) return refused("one declaration holds a total and " + needed->getNameAsString() + ", which later code uses");
      if (needed) region.kept.push_back(stmt);
    }
    return Done{};
  }

  /// Which elements the function reads outside the stretch, when all subscripts there are constants.
  static std::optional<std::set<int64_t>> elementsReadBeside(const ValueDecl *array, const TextOrder &order, unsigned begin, unsigned end) {
    std::set<int64_t> elements;
    if (array->getType()->getAsArrayTypeUnsafe()->getElementType()->isArrayType()) return std::nullopt;
    for (const auto &[ref, at] : order.references) {
      if (ref->getDecl() != array || (at >= begin && at < end) || order.stores.count(ref)) continue;
      auto subscript = order.constantSubscript.find(ref);
      if (subscript == order.constantSubscript.end()) return std::nullopt;
      elements.insert(subscript->second);
    }
    return elements;
  }

  static bool madeInside(const ValueDecl *decl, const Stmt *loop) {
    bool inside = false;
    std::function<void(const Stmt *)> look = [&](const Stmt *stmt) {
      if (!stmt || inside) return;
      if (const auto *decls = dyn_cast<DeclStmt>(stmt))
        for (const Decl *one : decls->decls()) inside = inside || one == decl;
      for (const Stmt *child : stmt->children()) look(child);
    };
    look(loop);
    return inside;
  }

  /// A thread index that is declared inside the region and only read afterwards.
  static bool keeps(const ValueDecl *decl, ReductionRegion &region) {
    for (const Stmt *stmt : region.statements) {
      const auto *decls = dyn_cast<DeclStmt>(stmt);
      if (!decls || !decls->isSingleDecl() || decls->getSingleDecl() != decl || exchangeIn(stmt)) continue;
      region.kept.push_back(stmt);
      return true;
    }
    return false;
  }
};

} // namespace

BlockShape blockShapeOf(const KernelModel &kernel) {
  BlockShape shape;
  if (kernel.launches.empty()) return shape;
  for (const Launch &launch : kernel.launches)
    for (unsigned axis : {1u, 2u}) shape.axes[axis - 1] |= launch.blockSize(axis) != 1;
  BlockShape known;
  known.known = true;
  for (unsigned axis = 0; axis < 3; ++axis) {
    auto size = kernel.launches.front().blockSize(axis);
    if (!size || *size < 1) return shape;
    known.extent[axis] = *size;
  }
  for (const Launch &launch : kernel.launches)
    for (unsigned axis = 0; axis < 3; ++axis)
      if (launch.blockSize(axis) != known.extent[axis]) return shape;
  return known.size() <= 1024 ? known : shape;
}

std::vector<ReductionRegion> findReductions(const Version &version, const KernelModel &kernel, std::vector<Unexplained> *rest) {
  return Finder(version, kernel).all(rest);
}

std::optional<HelperReduction> reductionOf(const FunctionDecl *function, const KernelModel &kernel, const BlockShape &shape) {
  const FunctionDecl *body = nullptr;
  if (!function || !function->hasBody(body) || body->getReturnType()->isVoidType()) return std::nullopt;
  Trial trial(kernel.unit->ast(Side::Device), shape, Trial::few);
  std::vector<char> active(size_t(shape.size()), 1);
  auto classified = [&]() -> std::optional<Total> {
    if (!trial.run(body->getBody()) || !trial.clean()) return std::nullopt;
    return Classifier(trial, active, shape.size()).scalar(TotalPlace{}, trial.returned());
  };
  auto total = classified();
  if (total && (trial.seenOneWay() || isExtremum(total->combine))) {
    trial = Trial(kernel.unit->ast(Side::Device), shape, Trial::many);
    total = classified();
    if (trial.seenOneWay()) return std::nullopt;
  }
  if (!total || !total->input.variable) return std::nullopt;
  for (unsigned i = 0; i < body->getNumParams(); ++i)
    if (body->getParamDecl(i) == total->input.variable) return HelperReduction{i, *total};
  return std::nullopt;
}

} // namespace klineage
