// online_softmax: find a row's maximum and the sum of its exponentials in one pass.
//
//   expert   for (...) { next = fmaxf(m, x[i]); s = s * expf(m - next) + expf(x[i] - next); m = next; }
//   plain    for (...) m = fmaxf(m, x[i]);   for (...) s += expf(x[i] - m);
//
// Going back, a loop is one when running its body on sample values gives exactly the pair, in whatever form it is written.
// Limits: the sum starts from zero just before; the loops store nothing; going forward the two loops stand in one list with nothing but
// declarations between, and read the same elements (compared by what they load, not by spelling).
#include "step/online.h"
#include "step/source_text.h"

namespace klineage {
namespace {

/// The running sum names the pass: it stays where it is when the loops around it lose a pragma, their vectors, or one another.
Site siteAt(const KernelModel &kernel, const clang::VarDecl *sum, const Unit::Place &place, const clang::Stmt *first, const clang::Stmt *last) {
  Site site;
  site.locus = {"statement", sum->getNameAsString(), place.file, place.offset};
  site.kernel = &kernel;
  site.carrier = {first->getBeginLoc(), last->getEndLoc()};
  return site;
}

void add(Detection &detection, Site site) { // instantiations of one template are one place
  for (const Site &other : detection.sites)
    if (other.locus.file == site.locus.file && other.locus.offset == site.locus.offset) return;
  detection.sites.push_back(std::move(site));
}

Detection onePass(const Version &version) {
  Detection detection;
  for (const KernelModel &kernel : version.kernels)
    for (OnlinePass &pass : findOnline(version, kernel, detection.declines)) {
      auto place = version.unit.place(pass.sum->getLocation());
      if (!place) {
        detection.declines.push_back({"not_rewritable", version.unit.where(pass.statements.front()->getBeginLoc()), place.error().what});
        continue;
      }
      Site site = siteAt(kernel, pass.sum, *place, pass.statements.front(), pass.statements.back());
      site.keep(std::move(pass));
      add(detection, std::move(site));
    }
  return detection;
}

Detection twoPasses(const Version &version) {
  Detection detection;
  for (const KernelModel &kernel : version.kernels)
    for (TwoPasses &passes : findTwoPasses(version, kernel)) {
      auto place = version.unit.place(passes.sum->getLocation());
      if (!place) {
        detection.declines.push_back({"not_rewritable", version.unit.where(passes.first->getBeginLoc()), place.error().what});
        continue;
      }
      Site site = siteAt(kernel, passes.sum, *place, passes.first, passes.second);
      site.keep(std::move(passes));
      add(detection, std::move(site));
    }
  return detection;
}

Result<Edits> split(const Version &version, const Site &site, const Parameters &) { return toTwoPasses(version, *site.kernel, site.as<OnlinePass>()); }
Result<Edits> merge(const Version &version, const Site &site, const Parameters &) { return toOnline(version, *site.kernel, site.as<TwoPasses>()); }

} // namespace

extern const Step online_softmax = {
    .summary = "find a row's maximum and the sum of its exponentials in one pass",
    .stage = Stage::Structure,
    .revision = 1,
    .params = {},
    .conditions = {},
    .codegen = {.added = {}, .removed = {"ld.global"}},
    .intent = "Keep a running maximum and rescale the running sum when it grows, so that one pass over the row gives both. "
              "Each pass over a row that does not fit in a cache costs its bytes from memory again, and the rescaling is arithmetic that memory-bound code has to spare.",
    .simplify = {.detect = onePass, .edit = split},
    .materialize = {.detect = twoPasses, .edit = merge},
};

} // namespace klineage
