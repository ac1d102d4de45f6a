// What statements leave behind, compared with a reduction of what they took.
#pragma once
#include "step/reduction.h"

namespace klineage {

/// The same piece run twice, on positive and on negative values: a reduction must explain both.
struct Trial {
  Lockstep positive, negative;
  Trial(const clang::ASTContext &ast, const BlockShape &shape) : positive(ast, shape.extent, 1, false), negative(ast, shape.extent, 2, true) {}
  bool run(const clang::Stmt *statement) { return positive.run(statement) && negative.run(statement); }
  const std::string &trouble() const { return positive.trouble().empty() ? negative.trouble() : positive.trouble(); }
  bool clean() const { return !positive.touchedMemory() && !positive.readStale(); }
};

/// A value that lives on, as both runs left it.
struct Observed {
  Samples positive, negative;
};

/// Says of which input a value is the total.
class Classifier {
public:
  Classifier(const Trial &trial, const std::vector<char> &active, int64_t block);
  std::optional<Total> scalar(const TotalPlace &place, const Observed &out) const;
  /// `out` as the rescaled sum that goes with a maximum found before.
  std::optional<Total> scaled(const TotalPlace &place, const Observed &out, const Total &maximum) const;

private:
  const Trial &trial;
  const std::vector<char> &active;
  std::vector<int64_t> groups;

  static const SampleInput *find(const Lockstep &side, const SampleInput &input);
  Total made(const TotalPlace &place, size_t input, Combine combine, int64_t group, bool every) const;
};

using ObservedPlaces = std::vector<std::pair<TotalPlace, Observed>>;

/// The elements of an array of the thread's own that the statements stored; with `only` no others.
ObservedPlaces observeElements(const Trial &trial, const clang::ValueDecl *array, const std::optional<std::set<int64_t>> &only);

/// One place that lives on, seen in both runs.
ObservedPlaces observe(const Trial &trial, const clang::ValueDecl *decl);

/// False when one of them is no total.
bool classifyAll(const Classifier &classifier, const ObservedPlaces &outs, std::vector<Total> &totals);

} // namespace klineage
