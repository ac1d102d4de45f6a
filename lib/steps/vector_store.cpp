// vector_store: write neighbouring elements with one wide store.
//
//   expert   reinterpret_cast<float4 *>(out)[i] = make_float4(a, b, c, d);
//   plain    out[4 * i] = a; out[4 * i + 1] = b; out[4 * i + 2] = c; out[4 * i + 3] = d;
//
// Taken out: a single wide store, or a branch with a wide store that has a scalar twin. Materialize checks the alignment at run time and keeps
// the scalar stores on the other path.
// Limits: 32-bit scalars, widths 2 and 4, views made by casting a scalar pointer; no volatile; a struct copy into a local array is no store.
#include "step/settled.h"
#include "step/vector_access.h"
#include <algorithm>

namespace klineage {
namespace {
using namespace clang;

struct WideStore {
  const FunctionDecl *function = nullptr;
  const Stmt *statement = nullptr; // the assignment
  const Expr *target = nullptr, *value = nullptr;
  const IfStmt *branch = nullptr;  // its scalar twin is the other side
  const ValueDecl *buffer = nullptr;
};

bool storesThroughPointer(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  if (!callee || !callee->getIdentifier() || call->getNumArgs() != 2) return false;
  llvm::StringRef name = callee->getName();
  return name == "__stcs" || name == "__stcg" || name == "__stwb" || name == "__stwt";
}

/// The assignment whose left side is the access.
bool findAssignment(const KernelModel &kernel, const Access &access, WideStore &store) {
  for (const Stmt *at = access.expr; at; at = kernel.parent(at)) {
    if (const auto *assign = dyn_cast<CXXOperatorCallExpr>(at); assign && assign->getOperator() == OO_Equal && assign->getNumArgs() == 2) {
      store.statement = assign;
      store.target = assign->getArg(0);
      store.value = assign->getArg(1);
      return true;
    }
    if (const auto *assign = dyn_cast<BinaryOperator>(at); assign && assign->getOpcode() == BO_Assign) {
      store.statement = assign;
      store.target = assign->getLHS();
      store.value = assign->getRHS();
      return true;
    }
    // __stcs(&vectors[i], value) and its kin: a store with a word to the cache, which the plain form does without.
    if (const auto *call = dyn_cast<CallExpr>(at); call && storesThroughPointer(call)) {
      const auto *address = dyn_cast<UnaryOperator>(call->getArg(0)->IgnoreParenImpCasts());
      if (!address || address->getOpcode() != UO_AddrOf) return false;
      store.statement = call;
      store.target = address->getSubExpr();
      store.value = call->getArg(1);
      return true;
    }
    if (!isa<Expr>(at)) return false;
  }
  return false;
}

const IfStmt *branchWithTwin(const KernelModel &kernel, const Access &access) {
  for (const Stmt *at = access.expr; at; at = kernel.parent(at)) {
    const auto *branch = dyn_cast_or_null<IfStmt>(kernel.parent(at));
    if (!branch || !branch->getElse() || branch->getThen() != at) continue;
    // Only a branch that does nothing but store: one that also loads wide belongs to vector_load.
    bool loads = false, twin = false;
    for (const auto &other : kernel.accesses) {
      if (other.kind == Access::Read && other.width > 1 && other.space != Space::Local && isInside(kernel, other.expr, branch->getThen())) loads = true;
      if (other.kind == Access::Write && other.buffer == access.buffer && other.width == 1 && isInside(kernel, other.expr, branch->getElse())) twin = true;
    }
    if (twin && !loads) return branch;
  }
  return nullptr;
}

Detection findWideStores(const Version &version) {
  SiteList sites(version);
  for (const auto &kernel : version.kernels)
    for (const auto &access : kernel.accesses) {
      if (access.kind != Access::Write || access.width < 2 || access.space == Space::Local) continue;
      auto begin = access.expr->getBeginLoc();
      if (lanesOf(access.accessed) != access.width) {
        sites.decline("unsupported_form", begin, whyNoLanes(access));
        continue;
      }
      if (access.isVolatile) {
        sites.decline("unsupported_form", begin, "the access is volatile");
        continue;
      }
      WideStore store;
      store.function = kernel.function;
      store.buffer = access.buffer;
      if (!access.calls.empty()) {
        const FunctionDecl *body = nullptr;
        if (const auto *callee = access.calls.back()->getDirectCallee(); callee && callee->hasBody(body)) store.function = body;
      }
      if (!findAssignment(kernel, access, store)) {
        sites.decline("unsupported_form", begin, "the vector is written by something other than an assignment");
        continue;
      }
      store.branch = branchWithTwin(kernel, access);
      if (auto view = viewOf(version.unit, store.target); !view && !store.branch) {
        sites.decline(view.error().what.find("macro") == std::string::npos ? "unsupported_form" : "macro", begin, view.error().what);
        continue;
      }
      if (store.branch)
        if (std::string why = whyNoTwin(kernel, *store.branch); !why.empty()) {
          sites.decline("unsupported_form", begin, why);
          continue;
        }
      if (!store.branch && !isListed(kernel, store.statement)) {
        sites.decline("unsupported_form", begin, "the store is part of an expression");
        continue;
      }
      const Stmt *carrier = store.branch ? static_cast<const Stmt *>(store.branch) : store.statement;
      auto locus = sites.locus("statement", access.buffer ? access.buffer->getNameAsString() : "?", carrier->getSourceRange());
      if (!locus) {
        sites.decline(locus.error(), begin);
        continue;
      }
      if (!sites.firstAt(*locus)) continue;
      Site site;
      site.locus = *locus;
      site.kernel = &kernel;
      site.parameters["width"] = access.width;
      site.carrier = carrier->getSourceRange();
      site.keep(store);
      sites.add(std::move(site));
    }
  return sites.take();
}

/// The elements of a vector value: of `make_float4(a, b, c, d)` its arguments, of a variable its components, else (or where the arguments must all be
/// there before the first is stored) of a temporary.
std::vector<std::string> elementsOf(const Unit &unit, const Expr *value, const VectorView &view, bool together, std::string &before) {
  std::vector<std::string> elements;
  const Expr *bare = value->IgnoreParenImpCasts();
  while (const auto *construct = dyn_cast<CXXConstructExpr>(bare)) {
    if (construct->getNumArgs() != 1) break;
    bare = construct->getArg(0)->IgnoreParenImpCasts();
  }
  if (const auto *temporary = dyn_cast<MaterializeTemporaryExpr>(bare)) bare = temporary->getSubExpr()->IgnoreParenImpCasts();
  if (const auto *call = dyn_cast<CallExpr>(bare); call && !together && call->getDirectCallee() && call->getNumArgs() == view.width &&
                                                    call->getDirectCallee()->getNameAsString() == "make_" + view.vectorType) {
    for (const auto *argument : call->arguments()) elements.push_back(unit.text(argument));
    return elements;
  }
  std::string name = isa<DeclRefExpr>(bare) ? unit.text(bare) : unusedName(unit.sources(), "lanes");
  if (!isa<DeclRefExpr>(bare)) before = "const " + view.vectorType + " " + name + " = " + unit.text(value) + ";\n";
  for (unsigned lane = 0; lane < view.width; ++lane) elements.push_back(name + "." + component(lane));
  return elements;
}

Result<Edits> toScalarStores(const Version &version, const Site &site, const Parameters &) {
  const Unit &unit = version.unit;
  const auto &store = site.as<WideStore>();
  Edits edits;
  if (store.branch) return keepTwin(unit, store.function, *store.branch);
  auto view = viewOf(unit, store.target);
  if (!view) return view.error();
  auto place = statementPlace(unit, store.statement);
  if (!place) return place.error();
  std::string before, stores;
  bool readsTarget = std::any_of(site.kernel->accesses.begin(), site.kernel->accesses.end(), [&](const Access &access) {
    return access.kind != Access::Write && (access.buffer == store.buffer || !access.buffer) && runsInside(*site.kernel, access.expr, access.calls, store.value);
  });
  auto elements = elementsOf(unit, store.value, *view, readsTarget, before);
  for (unsigned lane = 0; lane < view->width; ++lane) stores += view->element(lane) + " = " + elements[lane] + ";\n";
  bool inCompound = isa_and_nonnull<CompoundStmt>(site.kernel->parent(store.statement));
  std::string text = before + stores;
  if (!inCompound || !before.empty()) text = "{\n" + text + "}";
  edits.push_back({place->file, place->offset, place->length, text});
  for (auto &dead : removeDeadLocals(unit, store.function, {store.target})) edits.push_back(dead);
  return edits;
}

/// Scalar stores to neighbouring elements, in order, each the last statement of its own lane.
struct Neighbours {
  std::vector<const Access *> stores;
  std::vector<const Stmt *> statements;
  std::vector<const Expr *> values;
};

bool areSideBySide(const KernelModel &kernel, const Neighbours &run) {
  return std::all_of(run.statements.begin(), run.statements.end(), [&](const Stmt *one) { return kernel.parent(one) == kernel.parent(run.statements.front()); });
}

/// The plain `a[i] = value;` that an access is the target of.
const BinaryOperator *plainStore(const KernelModel &kernel, const Access &access) {
  const auto *assign = dyn_cast_or_null<BinaryOperator>(kernel.parent(access.expr));
  return assign && assign->getOpcode() == BO_Assign && assign->getLHS()->IgnoreParens() == access.expr->IgnoreParens() ? assign : nullptr;
}

/// The compound in which the lanes stand side by side: the store's own, or the one around a block of its own.
const CompoundStmt *laneHolder(const KernelModel &kernel, const Stmt *statement) {
  const auto *own = dyn_cast_or_null<CompoundStmt>(kernel.parent(statement));
  if (!own) return nullptr;
  if (const auto *outer = dyn_cast_or_null<CompoundStmt>(kernel.parent(own)); outer && own->body_back() == statement) return outer;
  return own;
}

/// The run of `width` neighbouring stores that begins with this one, or nothing.
std::optional<Neighbours> runFrom(const KernelModel &kernel, const Access &first, unsigned width) {
  Neighbours run;
  const auto *assign = plainStore(kernel, first);
  if (!assign) return std::nullopt;
  const CompoundStmt *holder = laneHolder(kernel, assign), *ownHolder = dyn_cast_or_null<CompoundStmt>(kernel.parent(assign));
  // A run begins at a multiple of its width above the lowest neighbour; whether that address is aligned is asked at run time.
  int64_t below = 0;
  for (bool more = true; more;) {
    more = false;
    for (const auto &access : kernel.accesses)
      if (access.kind == Access::Write && access.buffer == first.buffer && first.index - access.index == IndexExpr(below + 1) && plainStore(kernel, access) &&
          (laneHolder(kernel, plainStore(kernel, access)) == holder || kernel.parent(plainStore(kernel, access)) == ownHolder)) {
        ++below;
        more = true;
        break;
      }
  }
  if (below % width != 0) return std::nullopt;
  for (unsigned lane = 0; lane < width; ++lane)
    for (const auto &access : kernel.accesses) {
      if (access.kind != Access::Write || access.buffer != first.buffer || access.width != 1 || !access.calls.empty()) continue;
      if (!(access.index - first.index == IndexExpr(static_cast<int64_t>(lane)))) continue;
      const auto *store = plainStore(kernel, access);
      if (!store || (laneHolder(kernel, store) != holder && kernel.parent(store) != ownHolder) || access.guards.size() != first.guards.size()) continue;
      run.stores.push_back(&access);
      run.statements.push_back(store);
      run.values.push_back(store->getRHS());
      break;
    }
  return run.stores.size() == width ? std::optional(run) : std::nullopt;
}

/// The statements from one lane's store (or its block) to the last lane's, in the list that holds all.
std::vector<const Stmt *> fromLane(const KernelModel &kernel, const Neighbours &run, size_t from) {
  bool sideBySide = areSideBySide(kernel, run);
  auto listed = [&](size_t lane) { return sideBySide ? run.statements[lane] : kernel.parent(run.statements[lane]); };
  const Stmt *last = listed(0);
  for (size_t lane = 1; lane < run.statements.size(); ++lane)
    if (siblingsOf(kernel, listed(lane)).at > siblingsOf(kernel, last).at) last = listed(lane);
  return stretch(kernel, listed(from), last);
}

/// All values are there, and all addresses stand, behind the last of the statements; nothing in between asks for a store before.
std::string whyNotInOneGo(const KernelModel &kernel, const Neighbours &run) {
  bool sideBySide = areSideBySide(kernel, run);
  for (size_t lane = 0; lane < run.stores.size(); ++lane) {
    std::vector<const Stmt *> behind = fromLane(kernel, run, lane);
    if (behind.empty()) return "the stores stand in no one list of statements";
    if (sideBySide) behind.erase(behind.begin()); // the value is made where the store stands
    Changes changes(kernel, behind);
    if (!changes.interruption().empty()) return changes.interruption();
    for (const Expr *moved : {run.stores[lane]->expr, sideBySide ? run.values[lane] : run.stores[lane]->expr})
      if (const VarDecl *variable = changes.of(moved)) return variable->getNameAsString() + " changes between the stores";
    if (run.stores[lane]->expr->HasSideEffects(kernel.function->getASTContext(), /*IncludePossibleEffects=*/false)) return "the address has side effects";
    for (const Access &other : kernel.accesses) {
      if (other.kind == Access::Read || other.space == Space::Local || std::find(run.stores.begin(), run.stores.end(), &other) != run.stores.end()) continue;
      if (std::none_of(behind.begin(), behind.end(), [&](const Stmt *one) { return runsInside(kernel, other.expr, other.calls, one); })) continue;
      std::string name = other.buffer ? other.buffer->getNameAsString() : "memory";
      auto distance = (other.index - run.stores[lane]->index).constant();
      bool readsIt = std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access &read) {
        return read.kind != Access::Write && read.buffer == other.buffer && runsInside(kernel, read.expr, read.calls, run.values[lane]);
      });
      if (other.buffer != run.stores[lane]->buffer || !distance || *distance == 0 || readsIt) return name + " is written between the stores";
    }
  }
  return {};
}

Detection findScalarStores(const Version &version) {
  SiteList sites(version);
  for (const auto &kernel : version.kernels)
    for (const auto &access : kernel.accesses) {
      if (access.kind != Access::Write || access.width != 1 || access.isVolatile || !access.calls.empty() || !access.buffer) continue;
      if ((access.space != Space::Global && access.space != Space::Shared) || vectorTypeOf(access.accessed, 4).empty()) continue;
      auto run = runFrom(kernel, access, 4);
      if (!run && !(run = runFrom(kernel, access, 2))) continue;
      auto locus = sites.locus("statement", access.buffer->getNameAsString(), run->statements.front()->getSourceRange());
      if (!locus) {
        sites.decline(locus.error(), access.expr->getBeginLoc());
        continue;
      }
      // The scalar side of a run-time check has its wide twin already.
      bool isTwin = false;
      for (const Stmt *at = run->statements.front(); at; at = kernel.parent(at))
        if (const auto *branch = dyn_cast_or_null<IfStmt>(kernel.parent(at)); branch && branch->getElse() == at)
          for (const auto &other : kernel.accesses) isTwin |= other.buffer == access.buffer && other.width > 1 && isInside(kernel, other.expr, branch->getThen());
      if (isTwin || !sites.firstAt(*locus)) continue;
      if (std::string why = whyNotInOneGo(kernel, *run); !why.empty()) {
        sites.decline("unsupported_form", run->statements.front()->getBeginLoc(), why);
        continue;
      }
      // What is read between the first and the last store must not be what is stored.
      const ValueDecl *readBetween = nullptr;
      auto [begin, end] = std::minmax_element(run->stores.begin(), run->stores.end(), [](const Access *a, const Access *b) { return a->order < b->order; });
      for (const auto &other : kernel.accesses)
        if (other.kind != Access::Write && other.space == access.space && other.order > (*begin)->order && other.order < (*end)->order && readBetween != access.buffer)
          readBetween = other.buffer;
      Site site;
      site.locus = *locus;
      site.kernel = &kernel;
      site.parameters["width"] = static_cast<int64_t>(run->stores.size());
      site.facts["target"] = access.buffer;
      site.facts["none_read_between"] = int64_t{readBetween == nullptr};
      site.facts["read_between"] = readBetween ? readBetween : access.buffer;
      site.facts["first"] = access.index;
      site.carrier = {run->statements.front()->getBeginLoc(), run->statements.back()->getEndLoc()};
      site.keep(*run);
      sites.add(std::move(site));
    }
  return sites.take();
}

Result<Edits> toWideStore(const Version &version, const Site &site, const Parameters &) {
  const Unit &unit = version.unit;
  const auto &run = site.as<Neighbours>();
  unsigned width = static_cast<unsigned>(run.stores.size());
  std::string vector = vectorTypeOf(run.stores.front()->accessed, width), scalar = run.stores.front()->accessed.getUnqualifiedType().getAsString();
  std::string address = "&" + unit.text(run.stores.front()->expr), lanes = unusedName(unit.sources(), "lanes");
  const Stmt *first = run.statements.front();
  bool sideBySide = areSideBySide(*site.kernel, run);
  const Stmt *last = fromLane(*site.kernel, run, 0).back(); // a store, or its block
  std::string wide, narrow;
  for (unsigned lane = 0; lane < width; ++lane) {
    std::string value = sideBySide ? unit.text(run.values[lane]) : lanes + "." + component(lane);
    wide += (lane ? ", " : "") + value;
    narrow += unit.text(run.stores[lane]->expr) + " = " + value + ";\n";
  }
  if (wide.empty() || address == "&") return refusal("the stores have no text (a macro)", unit.where(first->getBeginLoc()));
  std::string target = "*reinterpret_cast<" + vector + " *>(" + address + ")";
  std::string choice = "if (reinterpret_cast<size_t>(" + address + ") % " + std::to_string(4 * width) + " == 0) {\n" + target + " = " +
                       (sideBySide ? "make_" + vector + "(" + wide + ")" : lanes) + ";\n} else {\n" + narrow + "}";
  Edits edits;
  for (unsigned lane = 0; lane < width; ++lane) {
    auto place = statementPlace(unit, run.statements[lane]);
    if (!place) return place.error();
    std::string text = sideBySide ? std::string() : lanes + "." + component(lane) + " = " + unit.text(run.values[lane]) + ";";
    if (sideBySide && run.statements[lane] == last) text = choice;
    edits.push_back({place->file, place->offset, place->length, text});
  }
  if (sideBySide) return edits;
  // Each lane stands in its own block: the vector is declared before the first block and stored after the last.
  const Stmt *firstBlock = site.kernel->parent(first);
  for (const Stmt *one : run.statements)
    if (const Stmt *block = site.kernel->parent(one); siblingsOf(*site.kernel, block).at < siblingsOf(*site.kernel, firstBlock).at) firstBlock = block;
  auto begin = unit.place(firstBlock), end = unit.place(last);
  if (!begin) return begin.error();
  if (!end) return end.error();
  edits.push_back({begin->file, begin->offset, 0, vector + " " + lanes + ";\n"});
  edits.push_back({end->file, end->offset + end->length, 0, "\n" + choice});
  return edits;
}

} // namespace

extern const Step vector_store = {
    .summary = "write neighbouring elements with one wide store",
    .stage = Stage::Memory,
    .revision = 1,
    .params = {{"width", oneOf({4, 2}), "elements a store; forced by the run of neighbours"}},
    .conditions = {{"nothing_read_between", "none_read_between == 1 or disjoint(target, read_between)", Soundness},
                   {"aligned_target", "aligned(target, 4 * width) and divisible(first, width)", Profit}},
    .codegen = {.added = {"st.global.v4", "st.global.v2", "st.shared.v4"}, .removed = {}},
    .intent = "Let each thread write 16 (or 8) neighbouring bytes with one instruction instead of four: fewer store instructions, and whole sectors in one request. "
              "It pays where the destination is aligned and the kernel is bound by memory or by instruction issue.",
    .simplify = {.detect = findWideStores, .edit = toScalarStores},
    .materialize = {.detect = findScalarStores, .edit = toWideStore},
};

} // namespace klineage
