// warp_shuffle_reduce: combine the values of a warp through registers instead of shared memory.
//
//   expert   for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);  // and one slot a warp
//   plain    slots[threadIdx.x] = v; __syncthreads(); for (...) if (threadIdx.x < offset) slots[threadIdx.x] += ...; v = slots[0];
//
// A site is a run of statements after which the combination of one value of each thread of a block (or of a warp, or a part of one)
// stands in a variable, a shared element or a helper's result, whatever the code between looks like (step/reduction.h).
// Limits: sum, product, maximum, minimum, and the maximum with rescaled sum of an online softmax; scans are no reductions.
#include "step/reduction_edit.h"
#include "step/source_text.h"
#include "step/statements.h"
#include <algorithm>

namespace klineage {
namespace {
using namespace clang;

struct Found {
  ReductionRegion region;
  BlockShape shape;
};

std::string labelOf(const ReductionRegion &region) {
  const Total &total = region.totals.front();
  return total.place.decl ? total.place.decl->getNameAsString() : region.function->getNameAsString();
}

/// The functions that the kernels reach.
std::set<const FunctionDecl *> reached(const Version &version) {
  std::set<const FunctionDecl *> all;
  std::function<void(const FunctionDecl *)> enter = [&](const FunctionDecl *function) {
    const FunctionDecl *body = nullptr;
    if (!function || !function->hasBody(body) || !all.insert(body).second) return;
    forEach(body->getBody(), [&](const Stmt *stmt) {
      if (const auto *call = dyn_cast<CallExpr>(stmt)) enter(call->getDirectCallee());
    });
  };
  for (const KernelModel &kernel : version.kernels) enter(kernel.function);
  return all;
}

/// One text can be changed for both.
bool alike(const ReductionRegion &one, const ReductionRegion &other) {
  auto same = [](const Total &a, const Total &b) {
    return a.combine == b.combine && a.everyThread == b.everyThread && typeOf(a).getCanonicalType() == typeOf(b).getCanonicalType();
  };
  return one.wholeBlock == other.wholeBlock && (one.wholeBlock || one.group == other.group) &&
         std::equal(one.totals.begin(), one.totals.end(), other.totals.begin(), other.totals.end(), same);
}

/// A place of the sources with the regions that stand there: of several kernels that reach a helper, of several instantiations of a template.
struct Shared {
  Unit::Place place;
  std::string where;
  const KernelModel *kernel;
  std::vector<Found> found;
};

std::string whyApart(const Shared &shared, const std::set<const FunctionDecl *> &functions) {
  const ReductionRegion &first = shared.found.front().region;
  for (const Found &other : shared.found)
    if (!alike(first, other.region)) return "its text serves several kernels or instantiations, which combine other types, values or groups in it";
  const FunctionDecl *pattern = first.function->getTemplateInstantiationPattern();
  for (const FunctionDecl *function : functions) {
    bool here = std::any_of(shared.found.begin(), shared.found.end(), [&](const Found &one) { return one.region.function == function; });
    if (pattern && function->getTemplateInstantiationPattern() == pattern && !here) return "its text serves another instantiation, in which it is no reduction";
  }
  return "";
}

/// A helper that several launches reach: their blocks must be one size, or none is known.
BlockShape common(const std::vector<Found> &found) {
  BlockShape shape = found.front().shape;
  for (const Found &one : found) {
    shape.known = shape.known && one.shape.known && one.shape.extent == found.front().shape.extent;
    for (unsigned axis : {1u, 2u}) shape.axes[axis - 1] |= one.shape.axes[axis - 1] || one.shape.extent[axis] != found.front().shape.extent[axis];
  }
  return shape;
}

Site siteOf(const Shared &shared) {
  Found first = shared.found.front();
  first.shape = common(shared.found);
  Site site;
  site.locus = {"statement", labelOf(first.region), shared.place.file, shared.place.offset};
  site.kernel = shared.kernel;
  site.facts["threads"] = first.shape.known ? FactValue(first.shape.size()) : FactValue(IndexExpr::of(blockDim(0)));
  site.facts["group"] = first.region.group;
  site.carrier = {first.region.statements.front()->getBeginLoc(), first.region.statements.back()->getEndLoc()};
  site.keep(std::move(first));
  return site;
}

Detection regions(const Version &version, bool shuffles) {
  Detection detection;
  std::vector<Shared> places;
  for (const KernelModel &kernel : version.kernels) {
    BlockShape shape = blockShapeOf(kernel);
    std::vector<Unexplained> rest;
    auto found = findReductions(version, kernel, &rest);
    for (const Unexplained &one : rest) {
      Decline decline{"unsupported_form", version.unit.where(one.statement->getBeginLoc()), "the lanes exchange values, and this is not seen as a reduction: " + one.why};
      bool known = std::any_of(detection.declines.begin(), detection.declines.end(), [&](const Decline &other) { return other.where == decline.where; });
      if (shuffles && !known) detection.declines.push_back(std::move(decline));
    }
    for (ReductionRegion &region : found) {
      if (region.ownedByHelper || (region.shuffles > 0) != shuffles || (!shuffles && !region.exchange.shared)) continue;
      auto place = wholeStatements(version.unit, region.statements.front(), region.statements.back());
      std::string where = version.unit.where(region.statements.front()->getBeginLoc());
      if (!place) {
        detection.declines.push_back({"not_rewritable", where, place.error().what});
        continue;
      }
      auto known = std::find_if(places.begin(), places.end(), [&](const Shared &one) { return one.place.file == place->file && one.place.offset == place->offset; });
      if (known == places.end()) known = places.insert(places.end(), {*place, where, &kernel, {}});
      known->found.push_back({region, shape});
    }
  }
  auto functions = reached(version);
  for (const Shared &shared : places) {
    std::string why = whyApart(shared, functions);
    if (why.empty()) detection.sites.push_back(siteOf(shared));
    else detection.declines.push_back({"unsupported_form", shared.where, why});
  }
  return detection;
}

Detection shuffled(const Version &version) { return regions(version, true); }
Detection shared(const Version &version) { return regions(version, false); }

Result<Edits> toShared(const Version &version, const Site &site, const Parameters &) {
  const auto &found = site.as<Found>();
  return rewriteRegion(version, found.region, found.shape, throughShared);
}

Result<Edits> toShuffles(const Version &version, const Site &site, const Parameters &) {
  const auto &found = site.as<Found>();
  return rewriteRegion(version, found.region, found.shape, throughShuffles);
}

} // namespace

extern const Step warp_shuffle_reduce = {
    .summary = "combine the values of a warp through registers instead of shared memory",
    .stage = Stage::Mapping,
    .revision = 1,
    .params = {},
    .conditions = {{"full_warps", "divisible(threads, 32)", Soundness}},
    .codegen = {.added = {"shfl.sync"}, .removed = {}},
    .intent = "Replace a reduction through shared memory and barriers by shuffles inside each warp and one shared slot a warp. "
              "A shuffle moves a register to another lane without a shared-memory round trip, and a warp needs no block barrier between its rounds.",
    .simplify = {.detect = shuffled, .edit = toShared},
    .materialize = {.detect = shared, .edit = toShuffles},
};

} // namespace klineage
