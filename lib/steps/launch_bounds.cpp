// launch_bounds: tell the compiler how many threads a block has.
//
//   expert   __global__ void __launch_bounds__(256) k(...)      launched with 256 threads
//   plain    __global__ void k(...)
//
// Limits: the attribute must stand in the file as one macro use; the block's size must be one constant at every launch.
#include "step/site_building.h"

namespace klineage {
namespace {

struct Bounds {
  clang::SourceRange range;             // of the attribute as written
  clang::SourceLocation insertBefore;   // materialize: the kernel's name
};

std::optional<int64_t> constantOf(const Unit &unit, const clang::Expr *expr) {
  if (!expr || expr->isValueDependent()) return std::nullopt;
  clang::Expr::EvalResult value;
  if (!expr->EvaluateAsInt(value, unit.ast(Side::Device))) return std::nullopt;
  return value.Val.getInt().getExtValue();
}

std::optional<int64_t> blockSize(const KernelModel &kernel) {
  int64_t threads = 1;
  for (unsigned axis : {0u, 1u, 2u}) {
    auto extent = kernel.blockSize(axis);
    if (!extent) return std::nullopt;
    threads *= *extent;
  }
  return threads;
}

Detection findBounds(const Version &version) {
  SiteList sites(version);
  for (const auto &kernel : version.kernels) {
    const auto *attribute = kernel.function->getAttr<clang::CUDALaunchBoundsAttr>();
    if (!attribute) continue;
    auto range = expansionRange(version.unit, attribute->getRange());
    auto locus = sites.locus("kernel", kernel.function->getNameAsString(), range);
    if (!locus) {
      sites.decline(locus.error(), kernel.function->getLocation());
      continue;
    }
    if (!sites.firstAt(*locus)) continue;
    Site site;
    site.locus = *locus;
    site.kernel = &kernel;
    if (auto threads = constantOf(version.unit, attribute->getMaxThreads())) site.parameters["threads"] = *threads;
    site.parameters["min_blocks"] = constantOf(version.unit, attribute->getMinBlocks()).value_or(0);
    site.carrier = range;
    site.keep(Bounds{range, {}});
    sites.add(std::move(site));
  }
  return sites.take();
}

Result<Edits> removeBounds(const Version &version, const Site &site, const Parameters &) {
  auto edit = replace(version.unit, site.as<Bounds>().range, "");
  if (!edit) return edit.error();
  return Edits{*edit};
}

/// Of the instantiations that share the kernel's text the one with the largest block, or one whose block is not known.
const KernelModel &largestBlock(const Version &version, const KernelModel &kernel) {
  const KernelModel *largest = &kernel;
  for (const auto &other : version.kernels) {
    if (other.function->getLocation() != kernel.function->getLocation() || other.launches.empty()) continue;
    auto known = blockSize(*largest), size = blockSize(other);
    if (known && (!size || *size > *known)) largest = &other;
  }
  return *largest;
}

Detection findUnbounded(const Version &version) {
  SiteList sites(version);
  for (const auto &kernel : version.kernels) {
    if (kernel.function->hasAttr<clang::CUDALaunchBoundsAttr>()) continue;
    if (kernel.launches.empty()) {
      sites.decline("no_launch", kernel.function->getLocation(), "no launch of this kernel is in sight, so its block size is unknown");
      continue;
    }
    clang::SourceLocation name = kernel.function->getNameInfo().getLoc();
    auto locus = sites.locus("kernel", kernel.function->getNameAsString(), name);
    if (!locus) {
      sites.decline(locus.error(), name);
      continue;
    }
    if (!sites.firstAt(*locus)) continue;
    Site site;
    site.locus = *locus;
    site.kernel = &largestBlock(version, kernel);
    if (auto threads = blockSize(*site.kernel)) site.parameters["threads"] = *threads;
    site.carrier = name;
    site.keep(Bounds{{}, name});
    sites.add(std::move(site));
  }
  return sites.take();
}

Result<Edits> addBounds(const Version &version, const Site &site, const Parameters &parameters) {
  auto threads = parameters.find("threads");
  std::string text = "__launch_bounds__(" + std::to_string(threads == parameters.end() ? 256 : threads->second);
  if (auto blocks = parameters.find("min_blocks"); blocks != parameters.end() && blocks->second > 0) text += ", " + std::to_string(blocks->second);
  auto place = version.unit.place(site.as<Bounds>().insertBefore);
  if (!place) return place.error();
  return Edits{{place->file, place->offset, 0, text + ") "}};
}

} // namespace

extern const Step launch_bounds = {
    .summary = "tell the compiler how many threads a block has",
    .stage = Stage::Tuning,
    .revision = 1,
    .params = {{"threads", oneOf({256, 128, 512, 1024}), "threads a block at most; forced by the launch where it is one constant"},
               {"min_blocks", oneOf({0, 2, 4}), "blocks that must fit on a multiprocessor; 0: left to the compiler"}},
    .conditions = {{"block_within_bound", "block_size <= threads", Soundness}},
    .codegen = {.added = {".maxntid"}, .removed = {}},
    .intent = "Declare the block size with __launch_bounds__, so that the compiler may give each thread as many registers as a block of that size leaves. "
              "Without it the compiler must assume blocks of 1024 threads or may use so many registers that a large block cannot be launched.",
    .simplify = {.detect = findBounds, .edit = removeBounds},
    .materialize = {.detect = findUnbounded, .edit = addBounds},
};

} // namespace klineage
