// cooperative_row: all threads of a block work on one row and combine what each has gathered.
//
//   expert   for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[blockIdx.x * columns + i];   // then combine over the block
//   plain    int row = blockIdx.x * blockDim.x + threadIdx.x; for (int i = 0; i < columns; ++i) sum += x[row * columns + i];
//
// Going back also knows a warp a row, with the rows of a block along threadIdx.y or as threadIdx.x / 32. Both ways change the launch with the kernel.
// Limits: the totals are sums, products, maxima or minima; a loop that hands anything else to its next iteration is left alone;
// shuffles are taken out by warp_shuffle_reduce first; going forward wants a guard that bounds the row by a parameter.
#include "step/block_a_row.h"
#include "step/one_thread_a_row.h"
#include "step/source_text.h"

namespace klineage {
namespace {
using namespace clang;

Site siteOf(const KernelModel &kernel, const Unit &unit) {
  Site site;
  site.locus = {"kernel", kernel.function->getNameAsString(), {}, 0};
  if (auto body = unit.place(kernel.function->getBody())) {
    site.locus.file = body->file;
    site.locus.offset = body->offset;
  }
  site.kernel = &kernel;
  site.carrier = kernel.function->getBody()->getSourceRange();
  site.facts["carried_buffers"] = int64_t(0);
  return site;
}

/// A template with several instantiations is one text with several launches: none of them can be changed alone. Specializations have a text of their own.
bool shared(const KernelModel &kernel) {
  const FunctionTemplateDecl *pattern = kernel.function->getPrimaryTemplate();
  size_t same = 0;
  if (pattern)
    for (const FunctionDecl *one : pattern->specializations()) same += one->hasBody() && one->getTemplateSpecializationKind() != TSK_ExplicitSpecialization;
  return same > 1;
}

template <typename Finding> void add(Detection &detection, const Version &version, const KernelModel &kernel, Finding finding, const std::function<void(Site &, Finding &)> &bind) {
  if (finding.decline) detection.declines.push_back(*finding.decline);
  if (!finding.found) return;
  if (shared(kernel)) {
    detection.declines.push_back({"unsupported_form", version.unit.where(kernel.function->getLocation()), "several instantiations of the kernel share its text"});
    return;
  }
  Site site = siteOf(kernel, version.unit);
  bind(site, finding);
  site.keep(std::move(*finding.found));
  detection.sites.push_back(std::move(site));
}

Detection blocks(const Version &version) {
  Detection detection;
  for (const KernelModel &kernel : version.kernels)
    add<RowBlockFinding>(detection, version, kernel, findRowBlock(version, kernel), [](Site &site, RowBlockFinding &finding) {
      if (finding.found->warps) site.parameters["threads"] = 32;
      else if (finding.found->shape.known) site.parameters["threads"] = finding.found->shape.size();
    });
  return detection;
}

Detection threads(const Version &version) {
  Detection detection;
  for (const KernelModel &kernel : version.kernels)
    add<ThreadRowFinding>(detection, version, kernel, findThreadRow(version, kernel), [](Site &site, ThreadRowFinding &finding) {
      site.facts["carried_buffers"] = int64_t(finding.found->carriedBuffers);
    });
  return detection;
}

Result<Edits> toThreads(const Version &version, const Site &site, const Parameters &) { return toOneThread(version, site.as<RowBlock>()); }

Result<Edits> toBlocks(const Version &version, const Site &site, const Parameters &parameters) {
  auto chosen = parameters.find("threads");
  int64_t size = chosen == parameters.end() ? 256 : chosen->second;
  if (size < 32 || size > 1024 || (size & (size - 1))) return refusal("threads must be a power of two from 32 to 1024", site.locus.file);
  return toBlock(version, site.as<ThreadRow>(), size);
}

} // namespace

extern const Step cooperative_row = {
    .summary = "let all threads of a block work on one row and combine what each has gathered",
    .stage = Stage::Mapping,
    .revision = 1,
    .params = {{"threads", oneOf({256, 128, 512, 64, 1024}), "threads that share a row"}},
    .conditions = {{"iterations_independent", "carried_buffers == 0", Soundness}},
    .codegen = {.added = {"bar.sync", "ld.shared"}, .removed = {}},
    .intent = "Give each row to a block whose threads stride over it and combine their parts, instead of one thread a row. "
              "Neighbouring threads then read neighbouring elements, so a warp's request touches few sectors, and few rows still fill the device.",
    .simplify = {.detect = blocks, .edit = toThreads},
    .materialize = {.detect = threads, .edit = toBlocks},
};

} // namespace klineage
