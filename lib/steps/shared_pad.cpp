// shared_pad: lengthen the rows of a shared array, so that a column of it lies in different banks.
//
//   expert   __shared__ float s[32][33];
//   plain    __shared__ float s[32][32];
//
// Limits: declared arrays of two or more dimensions whose accesses can be bounded.
#include "step/index_text.h"
#include "step/padding.h"
#include "step/staging.h"

namespace klineage {
namespace {

using namespace clang;

/// The brackets of the innermost extent as written, in the declaration of the array.
std::optional<ArrayTypeLoc> innermost(const ValueDecl *decl) {
  auto *variable = dyn_cast<DeclaratorDecl>(decl);
  if (!variable || !variable->getTypeSourceInfo()) return std::nullopt;
  std::optional<ArrayTypeLoc> found;
  for (TypeLoc type = variable->getTypeSourceInfo()->getTypeLoc(); !type.isNull(); type = type.getNextTypeLoc())
    if (auto array = type.getAs<ArrayTypeLoc>()) found = array;
  return found;
}

struct PadSite {
  const Buffer *buffer = nullptr;
  Padding padding;
};

template <typename Visit> void forEachSharedArray(const Version &version, Detection &found, Visit visit) {
  std::set<std::pair<std::string, unsigned>> seen;
  for (const KernelModel &kernel : version.kernels)
    for (const Buffer &buffer : kernel.buffers) {
      if (buffer.space != Space::Shared || buffer.extents.size() < 2) continue;
      auto place = version.unit.place(SourceRange(buffer.decl->getLocation(), buffer.decl->getLocation()));
      if (!place) {
        found.declines.push_back(declineAt(kernel, "macro", buffer.decl, place.error().what));
        continue;
      }
      if (!seen.insert({place->file, place->offset}).second) continue;
      Site site;
      site.locus = {"buffer", buffer.decl->getNameAsString(), place->file, place->offset};
      site.kernel = &kernel;
      site.carrier = buffer.decl->getSourceRange();
      visit(kernel, buffer, std::move(site));
    }
}

int64_t bytesOf(const KernelModel &kernel, const Buffer &buffer, int64_t inner) {
  int64_t bytes = kernel.unit->ast(Side::Device).getTypeSizeInChars(buffer.element).getQuantity() * inner;
  for (size_t d = 0; d + 1 < buffer.extents.size(); ++d) bytes *= buffer.extents[d];
  return bytes;
}

/// The worst conflict of any access, with the innermost extent given.
std::optional<unsigned> worstConflict(const KernelModel &kernel, const Buffer &buffer, int64_t inner) {
  std::vector<int64_t> extents = buffer.extents;
  extents.back() = inner;
  unsigned bytes = kernel.unit->ast(Side::Device).getTypeSizeInChars(buffer.element).getQuantity();
  std::optional<unsigned> worst;
  for (const Access *access : kernel.accessesOf(buffer.decl))
    if (auto own = wavefronts(kernel, *access, extents, bytes)) worst = std::max(worst.value_or(1), *own);
  return worst;
}

void bindFacts(Site &site, const KernelModel &kernel, const Buffer &buffer, int64_t plain, int64_t padded) {
  site.facts["bytes_per_pad"] = bytesOf(kernel, buffer, 1);
  site.facts.emplace("pad", padded - plain);
  // Padding of rows keeps `s[r][c]` right, but not a walk over the array as one run.
  bool brackets = true;
  for (const Access *access : kernel.accessesOf(buffer.decl)) brackets &= access->subscripts.size() == buffer.extents.size();
  site.facts["by_rows"] = int64_t(brackets);
  auto before = worstConflict(kernel, buffer, plain), after = worstConflict(kernel, buffer, padded);
  site.facts["conflicts"] = int64_t(before.value_or(1));
  site.facts["conflicts_padded"] = int64_t(after.value_or(1));
}

Detection padded(const Version &version) {
  Detection found;
  forEachSharedArray(version, found, [&](const KernelModel &kernel, const Buffer &buffer, Site site) {
    auto padding = paddingOf(kernel, buffer);
    if (!padding) return;
    site.parameters["pad"] = padding->declared - padding->used;
    bindFacts(site, kernel, buffer, padding->used, padding->declared);
    site.keep(PadSite{&buffer, *padding});
    found.sites.push_back(std::move(site));
  });
  return found;
}

Detection conflicting(const Version &version) {
  Detection found;
  forEachSharedArray(version, found, [&](const KernelModel &kernel, const Buffer &buffer, Site site) {
    if (paddingOf(kernel, buffer)) return;
    int64_t inner = buffer.extents.back();
    bool flat = false;
    for (const Access *access : kernel.accessesOf(buffer.decl)) flat |= access->subscripts.size() != buffer.extents.size();
    auto before = worstConflict(kernel, buffer, inner);
    if (!before && !flat) {
      found.declines.push_back(declineAt(kernel, "unsupported_form", buffer.decl, "the banks that " + buffer.decl->getNameAsString() + " is asked for cannot be told"));
      return;
    }
    if (before.value_or(2) < 2) return; // nothing to gain
    bindFacts(site, kernel, buffer, inner, inner + 1);
    site.keep(PadSite{&buffer, {inner, inner}});
    found.sites.push_back(std::move(site));
  });
  return found;
}

Result<Edits> shorten(const Version &version, const Site &site, const Parameters &) {
  const PadSite &own = site.as<PadSite>();
  auto array = innermost(own.buffer->decl);
  if (!array || !array->getSizeExpr()) return refusal("the extent of " + site.locus.label + " is not written in its declaration");
  const Expr *size = array->getSizeExpr();
  auto place = version.unit.place(size);
  if (!place) return refusal(place.error().what, version.unit.where(size->getBeginLoc()));
  std::string text = std::to_string(own.padding.used);
  // `TILE + 1` keeps the name when the name alone is the right length.
  if (auto *op = dyn_cast<BinaryOperator>(size->IgnoreParenImpCasts()); op && op->getOpcode() == BO_Add)
    for (const Expr *side : {op->getLHS(), op->getRHS()})
      if (auto value = site.kernel->lift(side).constant(); value == own.padding.used) {
        std::string spelled = version.unit.text(side->IgnoreImplicit());
        if (!spelled.empty()) text = spelled;
        break;
      }
  return Edits{{place->file, place->offset, place->length, text}};
}

Result<Edits> lengthen(const Version &version, const Site &site, const Parameters &parameters) {
  const PadSite &own = site.as<PadSite>();
  auto array = innermost(own.buffer->decl);
  if (!array || !array->getSizeExpr()) return refusal("the extent of " + site.locus.label + " is not written in its declaration");
  auto place = version.unit.place(array->getSizeExpr());
  if (!place) return refusal(place.error().what, version.unit.where(array->getSizeExpr()->getBeginLoc()));
  auto pad = parameters.find("pad");
  std::string by = std::to_string(pad == parameters.end() ? 1 : pad->second);
  Piece size{version.unit.text(array->getSizeExpr()->IgnoreImplicit()), precedenceOf(array->getSizeExpr())};
  return Edits{{place->file, place->offset, place->length, size.within(Piece::Sum) + " + " + by}};
}

} // namespace

extern const Step shared_pad = {
    .summary = "lengthen the rows of a shared array, so that a column of it lies in different banks",
    .stage = Stage::Memory,
    .revision = 1,
    .params = {{"pad", oneOf({1, 4, 8}), "elements added to each row"}},
    .conditions =
        {
            {"by_rows", "by_rows == 1", Soundness},
            {"fits_shared", "shared_bytes + pad * bytes_per_pad <= shared_limit", Soundness},
            {"conflicts", "conflicts > conflicts_padded", Profit},
        },
    .codegen = {.added = {}, .removed = {}},
    .intent = "Add an element (or the width of a vector) to each row of a shared array that a warp reads or writes down a column. It pays because "
              "rows of a multiple of 32 words put a whole column into one bank, where 32 lanes are served one after the other; a row of 33 "
              "words moves each row on by one bank.",
    .simplify = {.detect = padded, .edit = shorten},
    .materialize = {.detect = conflicting, .edit = lengthen},
};

} // namespace klineage
