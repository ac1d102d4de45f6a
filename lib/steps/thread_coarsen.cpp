// thread_coarsen: let a thread compute several outputs, one after another.
//
//   expert   for (int j = 0; j < 32; j += 8) out[(row + j) * n + col] = f(in[(row + j) * n + col]);    // a quarter of the threads
//   plain    out[row * n + col] = f(in[row * n + col]);
//
// Kernel and launch change together, both ways.
// Limits: one loop of a constant number of turns that holds every store, and hands nothing from turn to turn; threads and turns of a block
// cover a whole tile of one output once; no shared memory, barriers or shuffles in the kernel.
#include "step/coarsening_forward.h"
#include "step/site_building.h"

namespace klineage {
namespace {

using namespace clang;

Detection coarse(const Version &version) {
  SiteList sites(version);
  Detection declines;
  for (const KernelModel &kernel : version.kernels) {
    CoarseningFinding finding = findThreadLoop(version, kernel);
    if (finding.decline) declines.declines.push_back(*finding.decline);
    if (!finding.found) continue;
    const Loop &loop = *finding.found->spread.front();
    auto locus = sites.locus("loop", loop.variable->getNameAsString(), loop.stmt->getForLoc());
    if (!locus) {
      sites.decline(locus.error(), loop.stmt->getForLoc());
      continue;
    }
    if (!sites.firstAt(*locus)) continue;
    Site site;
    site.locus = *locus;
    site.kernel = &kernel;
    site.carrier = loop.stmt->getSourceRange();
    site.parameters["outputs"] = int64_t(finding.found->lanes.size());
    site.keep(std::move(*finding.found));
    sites.add(std::move(site));
  }
  Detection detection = sites.take();
  detection.declines.insert(detection.declines.end(), declines.declines.begin(), declines.declines.end());
  return detection;
}

Result<Edits> oneOutput(const Version &version, const Site &site, const Parameters &) { return spreadOverThreads(version, site.as<Coarsening>()); }

void bindFacts(Site &site, const SingleOutput &single) {
  const OutputCoordinate &along = single.coordinates.front();
  site.facts["other_index_uses"] = int64_t(single.otherIndexUses);
  site.facts["open_rows"] = int64_t(along.axis == 1 && along.open);
  site.facts["open_columns"] = int64_t(along.axis == 0 && along.open);
}

Detection singles(const Version &version) {
  return sitesOfSingleOutputs(version, [](const SingleOutput &single) { return !single.loops; }, bindFacts, /*says=*/false);
}

Result<Edits> severalOutputs(const Version &version, const Site &site, const Parameters &parameters) {
  auto chosen = parameters.find("outputs");
  int64_t outputs = chosen == parameters.end() ? 4 : chosen->second;
  if (outputs < 2 || outputs > 256) return refusal("a thread computes from 2 to 256 outputs", site.locus.file);
  return toThreadLoop(version, site.as<SingleOutput>(), outputs);
}

} // namespace

extern const Step thread_coarsen = {
    .summary = "let a thread compute several outputs, one after another",
    .stage = Stage::Mapping,
    .revision = 1,
    .params = {{"outputs", oneOf({4, 2, 8}), "outputs of a thread"}},
    .conditions =
        {
            {"index_only_maps", "other_index_uses == 0", Soundness},
            {"covers_edge", "open_rows * (grid_size_y % outputs) == 0 and open_columns * (grid_size_x % outputs) == 0", Soundness},
        },
    .codegen = {},
    .intent = "Give each thread several outputs, a block's height apart, instead of one. Index arithmetic that they share is done once, and their "
              "independent loads are in flight together, so fewer threads keep the memory busy.",
    .simplify = {.detect = coarse, .edit = oneOutput},
    .materialize = {.detect = singles, .edit = severalOutputs},
};

} // namespace klineage
