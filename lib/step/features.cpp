// How features change from one version to the next: loci are followed through the edits and the formatting.
#include "step/engine.h"
#include <algorithm>
#include <cctype>

namespace klineage {
namespace {

/// Formatting moves only white space, so the count of other characters before a place names it in both texts.
size_t solidBefore(const std::string &text, size_t offset) {
  return std::count_if(text.begin(), text.begin() + std::min(offset, text.size()), [](unsigned char c) { return !std::isspace(c); });
}

/// A stretch of the text after the edits, in solid characters. A place that no edit touched is a stretch of length 0; a place that
/// was deleted is nowhere, so that its neighbour is not taken for it.
struct Stretch {
  std::string file;
  size_t begin = 0, end = 0;
  bool deleted = false;
  bool holds(const std::string &otherFile, size_t at) const { return !deleted && file == otherFile && at >= begin && at <= end; }
  bool exact() const { return begin == end; }
};

/// Where a locus of the old version may be found in the new one.
Stretch follow(const Locus &locus, const Edits &edits, const SourceSet &edited) {
  std::vector<const Edit *> own;
  for (const auto &edit : edits)
    if (edit.file == locus.file) own.push_back(&edit);
  std::stable_sort(own.begin(), own.end(), [](const Edit *a, const Edit *b) { return a->offset < b->offset; });
  long shift = 0;
  size_t begin = 0, end = 0;
  bool inside = false, deleted = false;
  const Edit *last = nullptr;
  for (const Edit *edit : own) {
    if (last && last->offset == edit->offset && last->length == edit->length && last->replacement == edit->replacement) continue;
    last = edit;
    bool covers = locus.offset >= edit->offset && locus.offset < edit->offset + edit->length;
    if (covers) {
      inside = true;
      deleted = std::all_of(edit->replacement.begin(), edit->replacement.end(), [](unsigned char c) { return std::isspace(c); });
      begin = edit->offset + shift;
      end = begin + edit->replacement.size();
      break;
    }
    if (edit->offset + edit->length > locus.offset && edit->length > 0) break;
    if (edit->offset > locus.offset) break;
    shift += static_cast<long>(edit->replacement.size()) - static_cast<long>(edit->length);
  }
  if (!inside) begin = end = locus.offset + shift;
  const auto text = edited.files.find(locus.file);
  if (text == edited.files.end()) return {locus.file, 0, 0, deleted};
  return {locus.file, solidBefore(text->second, begin), solidBefore(text->second, end), deleted};
}

std::string withoutPosition(const Feature &feature) {
  std::string text = feature.step + " at " + feature.locus.kind + " " + feature.locus.label;
  return text;
}

} // namespace

FeatureChange compareFeatures(const LoadedVersion &before, const Applied &after) {
  FeatureChange change;
  auto old = features(before), now = features(*after.version);
  std::vector<bool> taken(now.size(), false);
  auto solid = [&](const Locus &locus) {
    auto text = after.sources.files.find(locus.file);
    return text == after.sources.files.end() ? 0 : solidBefore(text->second, locus.offset);
  };
  // Places that no edit touched are matched first; what an edit rewrote takes what is left inside its replacement.
  for (bool exact : {true, false})
    for (auto &feature : old) {
      if (feature.step.empty()) continue;
      Stretch stretch = follow(feature.locus, after.edits, after.edited);
      if (stretch.exact() != exact) continue;
      bool kept = false;
      for (size_t i = 0; i < now.size() && !kept; ++i) {
        if (taken[i] || now[i].step != feature.step || now[i].locus.kind != feature.locus.kind) continue;
        if (!stretch.holds(now[i].locus.file, solid(now[i].locus))) continue;
        taken[i] = kept = true;
        change.kept.push_back(now[i]);
      }
      if (!kept) change.gone.push_back(feature);
    }
  for (size_t i = 0; i < now.size(); ++i)
    if (!taken[i]) change.uncovered.push_back(now[i]);
  return change;
}

OneFeatureCheck checkOneFeature(const LoadedVersion &before, const Candidate &candidate, const Applied &after) {
  FeatureChange change = compareFeatures(before, after);
  OneFeatureCheck check;
  check.uncovered = change.uncovered;
  bool ownGone = false;
  std::string others;
  for (const auto &feature : change.gone) {
    bool own = feature.step == candidate.step && feature.locus.file == candidate.site.locus.file &&
               feature.locus.offset == candidate.site.locus.offset && feature.locus.kind == candidate.site.locus.kind;
    if (own && !ownGone) ownGone = true;
    else others += (others.empty() ? "" : "; ") + withoutPosition(feature);
  }
  if (!ownGone) check.why = "the feature is still there";
  else if (!others.empty()) check.why = "other features went with it: " + others;
  else check.exactlyOne = true;
  return check;
}

} // namespace klineage
