// two_phase_reduction: fold a range in parts that run side by side, then fold their totals with a second launch.
//
//   expert   fold<<<(parts + 127) / 128, 128>>>(x, totals, n, parts);   fold<<<1, 128>>>(totals, out, parts, 1);
//            // fold: for (int i = part; i < n; i += parts) sum += x[i];  out[part] = sum;
//   plain    fold<<<1, 1>>>(x, out, n);
//            // fold: for (int i = 0; i < n; ++i) sum += x[i];  out[0] = sum;
//
// Both ways change the launcher with the kernel. Going back, the parts are those of single threads (cooperative_row goes first). Going forward, the totals
// go to a pointer of the launcher that nothing uses, or else to memory taken from the stream.
// Limits: sums, products, maxima, minima; one total a kernel; both launches stand in one list of one launcher.
#include "step/index_text.h"
#include "step/part_fold.h"
#include "step/reduction_edit.h"
#include "step/site_building.h"
#include "step/source_text.h"
#include "step/statements.h"
#include "step/specialize.h"
#include <algorithm>

namespace klineage {
namespace {
using namespace clang;

constexpr int threadsOfABlock = 128;

Site siteOf(const Version &version, const PartFold &fold) {
  Site site;
  const FunctionDecl *function = fold.kernel->function;
  site.locus = {"statement", fold.total->getNameAsString(), {}, 0};
  if (auto place = version.unit.place(fold.store)) {
    site.locus.file = place->file;
    site.locus.offset = place->offset;
  }
  site.kernel = fold.kernel;
  site.carrier = function->getBody()->getSourceRange();
  return site;
}

/// Elements that an argument of the launcher has room for, in the smallest instance.
std::optional<int64_t> roomOf(const Version &version, const ValueDecl *buffer) {
  const ArgumentFacts *facts = version.environment.find(buffer->getNameAsString());
  if (!facts || facts->values.empty()) return std::nullopt;
  return *std::min_element(facts->values.begin(), facts->values.end());
}

/// A kernel whose text serves several instantiations or launches cannot be changed for one.
bool launchedOnce(const Version &version, const KernelModel &kernel) {
  const FunctionDecl *pattern = kernel.function->getTemplateInstantiationPattern();
  size_t same = 0;
  for (const KernelModel &other : version.kernels) same += pattern && other.function->getTemplateInstantiationPattern() == pattern;
  return same <= 1 && kernel.launches.size() == 1;
}

// ------------------------------------------------------------------ host text

/// A call with its semicolon, as a whole statement of a list; an error when it is a part of something else.
Result<Unit::Place> hostStatement(const Unit &unit, const FunctionDecl *launcher, const Stmt *stmt) {
  const Stmt *whole = nullptr;
  forEach(launcher->getBody(), [&](const Stmt *outer) {
    const auto *list = dyn_cast<CompoundStmt>(outer);
    if (!list) return;
    for (const Stmt *one : list->body()) {
      const Stmt *inner = one;
      if (const auto *cleanups = dyn_cast<ExprWithCleanups>(inner)) inner = cleanups->getSubExpr();
      if (inner == stmt) whole = one;
    }
  });
  std::string where = unit.where(stmt->getBeginLoc(), Side::Host);
  if (!whole) return refusal("the launch is no statement of its own", where);
  auto place = unit.place(whole, Side::Host);
  if (!place) return place.error();
  const std::string &text = unit.sources().files.at(place->file);
  if (isa<DeclStmt>(whole)) return *place;
  size_t end = text.find_first_not_of(" \t\r\n", place->offset + place->length);
  if (end == std::string::npos || text[end] != ';') return refusal("no semicolon follows the launch", where);
  place->length = unsigned(end + 1 - place->offset);
  return *place;
}

bool within(const Unit::Place &place, const Edits &edits) {
  return std::any_of(edits.begin(), edits.end(), [&](const Edit &edit) {
    return edit.file == place.file && place.offset >= edit.offset && place.offset + place.length <= edit.offset + edit.length;
  });
}

/// Locals of the launcher that the edits leave without a use.
void removeUnusedOnHost(const Unit &unit, const FunctionDecl *launcher, Edits &edits) {
  for (bool changed = true; changed;) {
    changed = false;
    forEach(launcher->getBody(), [&](const Stmt *stmt) {
      const auto *decls = dyn_cast<DeclStmt>(stmt);
      const auto *variable = decls && decls->isSingleDecl() ? dyn_cast<VarDecl>(decls->getSingleDecl()) : nullptr;
      if (!variable || (variable->getInit() && variable->getInit()->HasSideEffects(unit.ast(Side::Host)))) return;
      auto place = unit.place(decls, Side::Host);
      if (!place || within(*place, edits)) return;
      auto references = referencesTo(launcher->getBody(), variable);
      bool dead = !references.empty() && std::all_of(references.begin(), references.end(), [&](const DeclRefExpr *ref) {
        auto at = unit.place(ref, Side::Host);
        return at && within(*at, edits);
      });
      if (!dead) return;
      takeLine(unit, *place);
      std::erase_if(edits, [&](const Edit &edit) { return edit.file == place->file && edit.offset >= place->offset && edit.offset + edit.length <= place->offset + place->length; });
      edits.push_back({place->file, place->offset, place->length, ""});
      changed = true;
    });
  }
}

/// Takes out one of a list: with the comma before it, or after it when it is the first.
template <typename RangeOf> Status cutFromList(const Unit &unit, unsigned index, unsigned size, Side side, RangeOf rangeOf, Edits &edits) {
  auto mine = unit.place(rangeOf(index), side);
  if (!mine) return mine.error();
  if (size == 1) {
    edits.push_back({mine->file, mine->offset, mine->length, ""});
    return Done{};
  }
  auto beside = unit.place(rangeOf(index ? index - 1 : index + 1), side);
  if (!beside) return beside.error();
  unsigned begin = index ? beside->offset + beside->length : mine->offset;
  unsigned end = index ? mine->offset + mine->length : beside->offset;
  edits.push_back({mine->file, begin, end - begin, ""});
  return Done{};
}

Status replaceOnHost(const Unit &unit, const Expr *expr, const std::string &text, Edits &edits) {
  auto place = unit.place(expr, Side::Host);
  if (!place) return place.error();
  edits.push_back({place->file, place->offset, place->length, text});
  return Done{};
}

// ------------------------------------------------------------------ back

/// The first launch hands its buffer to a later launch of the same launcher.
bool handsOn(const Version &version, const KernelModel &kernel) {
  for (const Launch &launch : kernel.launches)
    for (const Access &access : kernel.accesses) {
      const auto *parameter = access.kind == Access::Read ? nullptr : dyn_cast_or_null<ParmVarDecl>(access.buffer);
      auto readsIt = [&](const Access &read) { return read.kind != Access::Write && read.buffer == parameter; };
      if (parameter && std::any_of(kernel.accesses.begin(), kernel.accesses.end(), readsIt)) continue; // worked on in place
      const ValueDecl *buffer = parameter ? bufferGiven(launch, parameter->getFunctionScopeIndex()) : nullptr;
      auto takes = [&](const Launch &later) {
        for (unsigned i = 0; i < later.buffers.size(); ++i)
          if (bufferGiven(later, i) == buffer) return true;
        return false;
      };
      for (const KernelModel &other : version.kernels)
        for (const Launch &later : other.launches)
          if (buffer && &later != &launch && later.launcher == launch.launcher && takes(later) && launch.call->getBeginLoc() < later.call->getBeginLoc())
            return true;
    }
  return false;
}

Detection phases(const Version &version) {
  SiteList sites(version);
  for (const KernelModel &kernel : version.kernels) {
    if (!handsOn(version, kernel)) continue;
    auto decline = [&](const std::string &reason, const std::string &text) { sites.decline(reason, kernel.function->getLocation(), text); };
    auto fold = findPartFold(kernel);
    if (!fold.found || !fold.found->parts) {
      if (exchangeIn(kernel.function->getBody()) || !kernel.barriers.empty()) decline("held_by", "the parts are folded by whole blocks: cooperative_row and warp_shuffle_reduce go first");
      else if (!fold.why.empty()) decline("unsupported_form", "it hands a buffer to the next launch, but not the totals of parts: " + fold.why);
      continue;
    }
    bool many = false;
    for (const Launch &launch : kernel.launches) {
      if (launch.values[fold.found->parts->count].constant() == 1) continue;
      auto second = findSecondPhase(version, *fold.found, launch);
      if (!second.found) {
        if (!second.why.empty()) decline("unsupported_form", second.why);
        continue;
      }
      size_t others = kernel.launches.size() - 1 - (second.found->second.kernel == &kernel);
      const FunctionDecl *pattern = kernel.function->getTemplateInstantiationPattern();
      for (const KernelModel &other : version.kernels) others += &other != &kernel && pattern && other.function->getTemplateInstantiationPattern() == pattern;
      if (many || others) {
        decline("unsupported_form", "the kernel is launched in other places too, and its text can change for all of them only");
        continue;
      }
      many = true;
      Site site = siteOf(version, *fold.found);
      if (auto count = upperBound(launch.values[fold.found->parts->count])) { // the launcher may take fewer for a short range
        site.parameters["parts"] = *count;
        if (auto room = roomOf(version, second.found->scratch)) site.facts["room"] = *room;
        else site.facts["room"] = *count; // the kernel as given vouches for its own buffer
      } else site.facts["room"] = std::numeric_limits<int64_t>::max();
      site.keep(std::move(*second.found));
      sites.add(std::move(site));
    }
  }
  return sites.take();
}

/// Statements of the launcher that only take and give back the memory between the phases.
Result<Edits> withoutScratch(const Unit &unit, const TwoPhases &phases) {
  Edits edits;
  const FunctionDecl *launcher = phases.firstLaunch->launcher;
  if (isa<ParmVarDecl>(phases.scratch)) return edits;
  std::optional<Error> problem;
  forEach(launcher->getBody(), [&](const Stmt *stmt) {
    const auto *call = dyn_cast<CallExpr>(stmt);
    if (!call || isa<CUDAKernelCallExpr>(call) || !call->getDirectCallee() || referencesTo(call, phases.scratch).empty()) return;
    std::string name = call->getDirectCallee()->getNameAsString();
    if (name != "cudaMallocAsync" && name != "cudaFreeAsync" && name != "cudaMalloc" && name != "cudaFree") return;
    auto place = hostStatement(unit, launcher, call);
    if (!place) problem = place.error();
    else {
      takeLine(unit, *place);
      edits.push_back({place->file, place->offset, place->length, ""});
    }
  });
  if (problem) return *problem;
  return edits;
}

/// Takes out the part's index and its bound; what stood inside the bound stays.
Status withoutGuard(const Unit &unit, const GuardedRow &parts, Edits &edits) {
  const auto *inner = dyn_cast<CompoundStmt>(parts.guard->getThen());
  bool around = inner && std::find(inner->body_begin(), inner->body_end(), parts.statements.front()) != inner->body_end();
  for (const Stmt *stmt : {static_cast<const Stmt *>(parts.declaration), static_cast<const Stmt *>(parts.guard)}) {
    auto place = wholeStatement(unit, stmt);
    if (!place) return place.error();
    if (stmt == parts.guard && around) {
      auto body = unit.place(inner);
      if (!body) return body.error();
      edits.push_back({place->file, place->offset, body->offset + 1 - place->offset, ""});
      edits.push_back({body->file, body->offset + body->length - 1, 1, ""});
      continue;
    }
    takeLine(unit, *place);
    edits.push_back({place->file, place->offset, place->length, ""});
  }
  return Done{};
}

Result<Edits> toOnePart(const Version &version, const Site &site, const Parameters &) {
  const auto &phases = site.as<TwoPhases>();
  const Unit &unit = version.unit;
  const PartFold &fold = phases.first;
  const FunctionDecl *function = fold.kernel->function;
  const Launch &first = *phases.firstLaunch, &second = *phases.secondLaunch;

  std::map<const ValueDecl *, std::optional<std::string>> numbers{{fold.parts->row, "0"}, {fold.count(), "1"}};
  Specializer *asked = nullptr;
  Specializer specializer(unit, [&](const Expr *expr) -> std::optional<std::string> {
    const auto *ref = dyn_cast<DeclRefExpr>(expr);
    if (!ref) return std::nullopt;
    if (auto known = numbers.find(ref->getDecl()); known != numbers.end()) return known->second;
    const auto *variable = dyn_cast<VarDecl>(ref->getDecl());
    if (!variable || std::find(fold.indices.begin(), fold.indices.end(), variable) == fold.indices.end()) return std::nullopt;
    std::string text = asked->textOf(variable->getInit());
    bool number = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
    return numbers[variable] = number ? std::optional(text) : std::nullopt;
  });
  asked = &specializer;
  Edits edits;
  for (const Stmt *stmt : fold.parts->statements) {
    auto made = specializer.edits(stmt);
    if (!made) return made.error();
    edits.insert(edits.end(), made->begin(), made->end());
  }
  if (Status done = withoutGuard(unit, *fold.parts, edits); !done) return done.error();
  if (Status done = removeUnused(version, function, edits, {}); !done) return done.error();
  auto parameter = [&](unsigned i) { return function->getParamDecl(i)->getSourceRange(); };
  if (Status done = cutFromList(unit, fold.parts->count, function->getNumParams(), Side::Device, parameter, edits); !done) return done.error();

  if (Status done = replaceOnHost(unit, first.grid, "1", edits); !done) return done.error();
  if (Status done = replaceOnHost(unit, first.block, "1", edits); !done) return done.error();
  unsigned out = cast<ParmVarDecl>(fold.written->buffer)->getFunctionScopeIndex();
  unsigned target = cast<ParmVarDecl>(phases.second.written->buffer)->getFunctionScopeIndex();
  if (Status done = replaceOnHost(unit, first.arguments[out], unit.text(second.arguments[target], Side::Host), edits); !done) return done.error();
  auto argument = [&](unsigned i) { return first.arguments[i]->getSourceRange(); };
  if (Status done = cutFromList(unit, fold.parts->count, first.arguments.size(), Side::Host, argument, edits); !done) return done.error();
  auto gone = hostStatement(unit, second.launcher, second.call);
  if (!gone) return gone.error();
  takeLine(unit, *gone);
  edits.push_back({gone->file, gone->offset, gone->length, ""});
  auto scratch = withoutScratch(unit, phases);
  if (!scratch) return scratch.error();
  edits.insert(edits.end(), scratch->begin(), scratch->end());
  removeUnusedOnHost(unit, first.launcher, edits);
  if (phases.second.kernel != fold.kernel && phases.second.kernel->launches.size() == 1)
    if (auto removed = removeFunction(unit, phases.second.kernel->function)) edits.push_back(*removed);
  return edits;
}

// ------------------------------------------------------------------ forward

struct WholeFold {
  PartFold fold;
  const ParmVarDecl *scratch = nullptr; ///< Of the launcher, host side; null: memory from the stream.
};

Detection wholes(const Version &version) {
  SiteList sites(version);
  for (const KernelModel &kernel : version.kernels) {
    auto fold = findPartFold(kernel);
    if (!fold.found) {
      if (!fold.why.empty()) sites.decline("unsupported_form", kernel.function->getLocation(), fold.why);
      continue;
    }
    if (fold.found->parts) continue;
    if (!launchedOnce(version, kernel)) {
      sites.decline("unsupported_form", kernel.function->getLocation(), "the kernel is launched in several places, and its text can change for all of them only");
      continue;
    }
    WholeFold whole{*fold.found, nullptr};
    const FunctionDecl *launcher = kernel.launches.front().launcher;
    for (const ParmVarDecl *parameter : launcher->parameters()) {
      QualType type = parameter->getType();
      if (whole.scratch || !type->isPointerType() || type->getPointeeType().isConstQualified() || !referencesTo(launcher->getBody(), parameter).empty()) continue;
      if (type->getPointeeType().getCanonicalType().getAsString() == whole.fold.total->getType().getCanonicalType().getUnqualifiedType().getAsString()) whole.scratch = parameter;
    }
    Site site = siteOf(version, whole.fold);
    if (!whole.scratch) site.facts["room"] = std::numeric_limits<int64_t>::max();
    else if (auto room = roomOf(version, whole.scratch)) site.facts["room"] = *room;
    site.keep(std::move(whole));
    sites.add(std::move(site));
  }
  return sites.take();
}

/// The kernel that folds the totals, where the first one cannot: it does more to an element than taking it.
std::string combiningKernel(const std::string &name, const PartFold &fold, const std::string &type) {
  const Unit &unit = *fold.kernel->unit;
  std::string total = "total", start = unit.text(fold.total->getInit());
  return "\n\n__global__ void " + name + "(const " + type + " *__restrict__ totals, " + type + " *__restrict__ out, int count, int parts) {\n"
         "const int part = blockIdx.x * blockDim.x + threadIdx.x;\nif (part >= parts) return;\n" + type + " total = " + start + ";\n"
         "for (int i = part; i < count; i += parts) " + combineStatement(fold.combine, total, "totals[i]", fold.total->getType()) + "\nout[part] = total;\n}";
}

Result<Edits> toParts(const Version &version, const Site &site, const Parameters &parameters) {
  const auto &whole = site.as<WholeFold>();
  const PartFold &fold = whole.fold;
  const Unit &unit = version.unit;
  const FunctionDecl *function = fold.kernel->function;
  const Launch &launch = fold.kernel->launches.front();
  auto chosen = parameters.find("parts");
  int64_t count = chosen == parameters.end() ? 1024 : chosen->second;
  if (count < 2 || count > 65536) return refusal("parts must be from 2 to 65536", site.locus.file);
  std::string number = std::to_string(count);
  std::set<std::string> taken;
  std::string part = freshName(*fold.kernel, "part"), parts = freshName(*fold.kernel, "parts");
  std::string type = fold.total->getType().getUnqualifiedType().getAsString();

  Edits edits;
  auto replaceOnDevice = [&](const Stmt *stmt, const std::string &text) -> Status {
    auto place = unit.place(stmt);
    if (!place) return place.error();
    edits.push_back({place->file, place->offset, place->length, text});
    return Done{};
  };
  auto open = unit.place(function->getBody());
  if (!open) return open.error();
  edits.push_back({open->file, open->offset + 1, 0, "\nconst int " + part + " = blockIdx.x * blockDim.x + threadIdx.x;\nif (" + part + " >= " + parts + ") return;"});
  for (size_t i = 0; i < fold.loops.size(); ++i) {
    const Loop &loop = *fold.loops[i];
    const Expr *begin = loop.variable->getInit();
    if (const auto *init = dyn_cast_or_null<BinaryOperator>(loop.stmt->getInit())) begin = init->getRHS();
    if (!begin) return refusal("a loop's counter starts in another place", unit.where(loop.stmt->getBeginLoc()));
    std::string stride = fold.strides[i] == 1 ? "" : std::to_string(fold.strides[i]) + " * ";
    if (Status done = replaceOnDevice(begin, loop.begin.constant() == 0 ? stride + part : unit.text(begin) + " + " + stride + part); !done) return done.error();
    if (Status done = replaceOnDevice(loop.stmt->getInc(), loop.variable->getNameAsString() + " += " + stride + parts); !done) return done.error();
  }
  const Expr *target = fold.store->getLHS()->IgnoreParens();
  if (const auto *element = dyn_cast<ArraySubscriptExpr>(target)) {
    if (Status done = replaceOnDevice(element->getIdx(), part); !done) return done.error();
  } else if (const auto *op = dyn_cast<UnaryOperator>(target); op && op->getOpcode() == UO_Deref) {
    if (Status done = replaceOnDevice(target, unit.text(op->getSubExpr()) + "[" + part + "]"); !done) return done.error();
  } else return refusal("the store's place is neither a subscript nor a plain pointer", unit.where(target->getBeginLoc()));
  auto last = unit.place(function->getParamDecl(function->getNumParams() - 1)->getSourceRange());
  if (!last) return last.error();
  edits.push_back({last->file, last->offset + last->length, 0, ", int " + parts});

  // The launcher: many parts into the scratch buffer, then one.
  auto statement = hostStatement(unit, launch.launcher, launch.call);
  if (!statement) return statement.error();
  unsigned out = cast<ParmVarDecl>(fold.written->buffer)->getFunctionScopeIndex();
  std::string scratch = whole.scratch ? whole.scratch->getNameAsString() : freshName(unit, "totals", taken);
  std::string output = unit.text(launch.arguments[out], Side::Host), stream = launch.stream ? unit.text(launch.stream, Side::Host) : "";
  std::string config = ", 0" + (stream.empty() ? std::string() : ", " + stream) + ">>>(", threads = std::to_string(threadsOfABlock);
  std::string callee = unit.text(launch.call->getCallee(), Side::Host), again;
  auto plain = fold.plain();
  if (plain) {
    for (unsigned i = 0; i < launch.arguments.size(); ++i) {
      const ParmVarDecl *parameter = function->getParamDecl(i);
      again += (i ? ", " : "") + (parameter == plain->buffer ? scratch : parameter == plain->length ? number : unit.text(launch.arguments[i], Side::Host));
    }
    again += ", 1";
  } else {
    const auto *definition = function->getTemplateInstantiationPattern() ? function->getTemplateInstantiationPattern() : function;
    auto end = unit.place(definition->getBody());
    if (!end) return end.error();
    callee = freshName(unit, "combine" + std::string(1, char(std::toupper(static_cast<unsigned char>(fold.total->getNameAsString()[0])))) + fold.total->getNameAsString().substr(1), taken);
    edits.push_back({end->file, end->offset + end->length, 0, combiningKernel(callee, fold, type)});
    again = scratch + ", " + output + ", " + number + ", 1";
  }
  if (Status done = replaceOnHost(unit, launch.grid, std::to_string((count + threadsOfABlock - 1) / threadsOfABlock), edits); !done) return done.error();
  if (Status done = replaceOnHost(unit, launch.block, threads, edits); !done) return done.error();
  if (Status done = replaceOnHost(unit, launch.arguments[out], scratch, edits); !done) return done.error();
  auto lastArgument = unit.place(launch.arguments.back(), Side::Host);
  if (!lastArgument) return lastArgument.error();
  edits.push_back({lastArgument->file, lastArgument->offset + lastArgument->length, 0, ", " + number});
  std::string after = "\n" + callee + "<<<1, " + threads + config + again + ");", on = stream.empty() ? "nullptr" : stream;
  if (!whole.scratch) {
    edits.push_back({statement->file, statement->offset, 0, type + " *" + scratch + " = nullptr;\nif (cudaMallocAsync(&" + scratch + ", " + number + " * sizeof(" + type + "), " + on + ") != cudaSuccess) return;\n"});
    after += "\ncudaFreeAsync(" + scratch + ", " + on + ");";
  }
  edits.push_back({statement->file, statement->offset + statement->length, 0, after});
  return edits;
}

} // namespace

extern const Step two_phase_reduction = {
    .summary = "fold a range in parts side by side, and their totals with a second launch",
    .stage = Stage::Structure,
    .revision = 1,
    .params = {{"parts", oneOf({1024, 256, 4096, 512, 2048}), "totals that the first launch leaves"}},
    .conditions = {{"room_for_totals", "parts <= room", Soundness}},
    .codegen = {.added = {"mov.u32"}, .removed = {}},
    .intent = "Give each of many parts of the range to its own thread or block and fold the parts' totals in a second launch, instead of one thread for all. "
              "One thread keeps a single load in flight; parts fill the device, and the launch between the phases orders them without atomics.",
    .simplify = {.detect = phases, .edit = toOnePart},
    .materialize = {.detect = wholes, .edit = toParts},
};

} // namespace klineage
