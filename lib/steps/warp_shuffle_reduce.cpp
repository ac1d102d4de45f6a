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

Detection regions(const Version &version, bool shuffles) {
  Detection detection;
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
      Site *known = nullptr;
      for (Site &site : detection.sites)
        if (site.locus.file == place->file && site.locus.offset == place->offset) known = &site;
      if (known) { // a helper that several launches reach: their blocks must be one size, or none is known
        Found merged = known->as<Found>();
        if (merged.shape.extent != shape.extent) merged.shape.known = false;
        known->keep(merged);
        continue;
      }
      Site site;
      site.locus = {"statement", labelOf(region), place->file, place->offset};
      site.kernel = &kernel;
      site.facts["threads"] = shape.known ? FactValue(shape.size()) : FactValue(IndexExpr::of(blockDim(0)));
      site.facts["group"] = region.group;
      site.carrier = {region.statements.front()->getBeginLoc(), region.statements.back()->getEndLoc()};
      site.keep(Found{region, shape});
      detection.sites.push_back(std::move(site));
    }
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
