// register_block: let a thread compute a block of outputs, so that each value that it loads serves several of them.
//
//   expert   float acc[4][4]; for (k) { a[4] and b[4] are loaded; for (i) for (j) acc[i][j] += a[i] * b[j]; }   // 1/16 of the threads
//   plain    float acc = 0; for (k) acc += a[row * n + k] * b[k * m + col];
//
// Kernel and launch change together, both ways.
// Limits: the accumulators are one register array; threads and accumulators of a block cover a whole tile of one output once; shared
// memory, barriers and shuffles are taken out first.
#include "step/coarsening_forward.h"
#include "step/site_building.h"

namespace klineage {
namespace {

using namespace clang;

Detection blocks(const Version &version) {
  SiteList sites(version);
  Detection declines;
  for (const KernelModel &kernel : version.kernels) {
    CoarseningFinding finding = findRegisterBlock(version, kernel);
    if (finding.decline) declines.declines.push_back(*finding.decline);
    if (!finding.found) continue;
    const VarDecl *accumulator = finding.found->accumulator;
    // Stores that a helper makes were put in place: they stand behind the declaration, so its place is the same in both texts.
    auto place = finding.found->kernel->unit->place(SourceRange(accumulator->getLocation(), accumulator->getLocation()));
    if (!place) {
      sites.decline(place.error(), kernel.function->getLocation());
      continue;
    }
    Site site;
    site.locus = {"buffer", accumulator->getNameAsString(), place->file, place->offset};
    if (!sites.firstAt(site.locus)) continue;
    site.kernel = &kernel;
    site.carrier = kernel.function->getBody()->getSourceRange();
    site.parameters["rows"] = finding.found->alongRows();
    site.parameters["columns"] = finding.found->alongColumns();
    site.keep(std::move(*finding.found));
    sites.add(std::move(site));
  }
  Detection detection = sites.take();
  detection.declines.insert(detection.declines.end(), declines.declines.begin(), declines.declines.end());
  return detection;
}

Result<Edits> oneOutput(const Version &version, const Site &site, const Parameters &) { return spreadOverThreads(version, site.as<Coarsening>()); }

void bindFacts(Site &site, const SingleOutput &single) {
  auto open = [&](unsigned axis) { return int64_t(single.along(axis) && single.along(axis)->open); };
  site.facts["other_index_uses"] = int64_t(single.otherIndexUses);
  site.facts["varying_loops"] = int64_t(single.varyingLoops);
  site.facts["open_rows"] = open(1);
  site.facts["open_columns"] = open(0);
  site.facts["reused"] = int64_t(single.reused);
  if (!single.along(1)) site.parameters["rows"] = 1;
  if (!single.along(0)) site.parameters["columns"] = 1;
}

Detection singles(const Version &version) {
  return sitesOfSingleOutputs(version, [](const SingleOutput &single) { return single.reused != 0; }, bindFacts, /*says=*/true);
}

Result<Edits> severalOutputs(const Version &version, const Site &site, const Parameters &parameters) {
  auto chosen = [&](const char *name) {
    auto at = parameters.find(name);
    return at == parameters.end() ? int64_t(4) : at->second;
  };
  int64_t rows = chosen("rows"), columns = chosen("columns");
  if (rows < 1 || columns < 1 || rows * columns < 2 || rows * columns > 256) return refusal("a thread computes from 2 to 256 outputs", site.locus.file);
  return toRegisterBlock(version, site.as<SingleOutput>(), rows, columns);
}

} // namespace

extern const Step register_block = {
    .summary = "let a thread compute a block of outputs whose accumulators stay in registers",
    .stage = Stage::Mapping,
    .revision = 1,
    .params = {{"rows", oneOf({4, 8, 2, 1}), "outputs of a thread along y"}, {"columns", oneOf({4, 8, 2, 1}), "outputs of a thread along x"}},
    .conditions =
        {
            {"index_only_maps", "other_index_uses == 0", Soundness},
            {"same_trips", "varying_loops == 0", Soundness},
            {"covers_edge", "open_rows * (grid_size_y % rows) == 0 and open_columns * (grid_size_x % columns) == 0", Soundness},
            {"fits_registers", "rows * columns <= 64", Profit},
        },
    .codegen = {},
    .intent = "Give each thread a block of outputs with one accumulator each in registers, instead of one output. Each value that it loads is then used "
              "for a whole row or column of the block, so loads per multiplication fall from two to a fraction.",
    .simplify = {.detect = blocks, .edit = oneOutput},
    .materialize = {.detect = singles, .edit = severalOutputs},
};

} // namespace klineage
