// What statements leave behind, compared with a reduction of what they took.
#pragma once
#include "step/reduction.h"

namespace klineage {

/// The same piece run several times, on positive and on negative values in turn: a reduction must explain all runs.
class Trial {
public:
  /// Runs: two tell sums and products. A largest sample says little about the others, and a test of samples may go one way for long: those want many.
  static constexpr unsigned few = 2, many = 24;

  Trial(const clang::ASTContext &ast, const BlockShape &shape, unsigned runs);
  void setActive(const std::vector<char> &threads);
  void setSettled(const Lockstep::Settled &holds);
  bool run(const clang::Stmt *statement);
  std::string trouble() const;
  bool touchedMemory() const;
  bool clean() const; ///< It stored to no other memory and read no shared memory that it had not filled.
  /// A test of the samples that went one way in all runs: what the other way leads to was never seen.
  const clang::Expr *seenOneWay() const;
  std::vector<Samples> returned() const;
  std::vector<Lockstep> sides;
};

/// A value that lives on, as each run left it.
using Observed = std::vector<Samples>;

inline bool isExtremum(Combine combine) { return combine == Combine::Maximum || combine == Combine::Minimum; }

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
