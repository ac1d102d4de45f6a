// unroll: ask the compiler to unroll a loop.
//
//   expert   #pragma unroll 4
//            for (int i = 0; i < n; ++i) ...
//   plain    for (int i = 0; i < n; ++i) ...
//
// Limits: `#pragma unroll` (and its spelling in parentheses) on its own line before a counted loop; `unroll 1`, which forbids unrolling, is
// no such feature.
#include "step/site_building.h"

namespace klineage {
namespace {

struct Unrolled {
  const clang::ForStmt *stmt;
  clang::SourceRange pragma;
};

/// Loops of all kernels, each written loop once, with the kernel that it was met in.
template <typename Visit> void eachLoop(const Version &version, Visit visit) {
  for (const auto &kernel : version.kernels)
    for (const auto &loop : kernel.loops) visit(kernel, *loop);
}

Site siteOf(const KernelModel &kernel, const Loop &loop, Locus locus) {
  Site site;
  site.locus = std::move(locus);
  site.kernel = &kernel;
  site.facts["loop"] = &loop;
  site.carrier = loop.stmt->getSourceRange();
  site.keep(Unrolled{loop.stmt, loop.pragmaRange});
  return site;
}

Detection findPragmas(const Version &version) {
  SiteList sites(version);
  eachLoop(version, [&](const KernelModel &kernel, const Loop &loop) {
    if (!loop.unrollPragma || *loop.unrollPragma == 1) return;
    auto locus = sites.locus("loop", loop.variable->getNameAsString(), loop.stmt->getForLoc());
    if (!locus) return sites.decline(locus.error(), loop.stmt->getForLoc());
    if (!sites.firstAt(*locus)) return;
    if (loop.pragmaRange.isInvalid()) return sites.decline("macro", loop.stmt->getForLoc(), "the pragma comes from a macro");
    Site site = siteOf(kernel, loop, *locus);
    site.parameters["factor"] = *loop.unrollPragma;
    sites.add(std::move(site));
  });
  return sites.take();
}

Result<Edits> removePragma(const Version &version, const Site &site, const Parameters &) {
  auto edit = replace(version.unit, site.as<Unrolled>().pragma, "");
  if (!edit) return edit.error();
  return Edits{*edit};
}

Detection findPlainLoops(const Version &version) {
  SiteList sites(version);
  eachLoop(version, [&](const KernelModel &kernel, const Loop &loop) {
    if (loop.unrollPragma) return;
    auto locus = sites.locus("loop", loop.variable->getNameAsString(), loop.stmt->getForLoc());
    if (!locus) return sites.decline(locus.error(), loop.stmt->getForLoc());
    if (!sites.firstAt(*locus)) return;
    sites.add(siteOf(kernel, loop, *locus));
  });
  return sites.take();
}

Result<Edits> addPragma(const Version &version, const Site &site, const Parameters &parameters) {
  auto place = version.unit.place(site.as<Unrolled>().stmt->getForLoc());
  if (!place) return place.error();
  auto factor = parameters.find("factor");
  std::string text = "#pragma unroll";
  if (factor != parameters.end() && factor->second > 0) text += " " + std::to_string(factor->second);
  // A pragma needs its own line, also when the loop follows an `if` or a brace on the same one.
  return Edits{{place->file, place->offset, 0, "\n" + text + "\n"}};
}

} // namespace

extern const Step unroll = {
    .summary = "ask the compiler to unroll a counted loop",
    .stage = Stage::Tuning,
    .revision = 1,
    .params = {{"factor", oneOf({0, 4, 8, 2}), "iterations a round; 0: all of them"}},
    .conditions = {{"known_trip_count", "constant(tripcount(loop))", Profit}},
    .codegen = {.added = {}, .removed = {"bra"}},
    .intent = "Ask for the loop to be unrolled, so that its counter and branch go away, its index arithmetic folds into the instructions, and loads of "
              "several iterations are in flight at once. It pays where the body is short and independent; it costs registers and instruction cache.",
    .simplify = {.detect = findPragmas, .edit = removePragma},
    .materialize = {.detect = findPlainLoops, .edit = addPragma},
};

} // namespace klineage
