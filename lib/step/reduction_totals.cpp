#include "step/reduction_totals.h"
#include <algorithm>
#include <cmath>

namespace klineage {
using namespace clang;

namespace {

/// Infinite values explain nothing: a product of many large integers would be anything.
bool close(double a, double b, bool rounds) {
  return std::isfinite(a) && std::isfinite(b) && (a == b || (rounds && std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b))));
}

double fold(Combine combine, double a, double b) {
  switch (combine) {
  case Combine::Product: return a * b;
  case Combine::Maximum: return std::max(a, b);
  case Combine::Minimum: return std::min(a, b);
  default: return a + b;
  }
}

/// Sums and choices of samples are exact in any order; products and exponentials round.
bool rounds(Combine combine) { return combine == Combine::Product || combine == Combine::ScaledSum; }

/// True when `out` holds, in each whole group (or in its first thread), `expected(first, last)`.
bool explains(const Samples &out, const std::vector<char> &active, int64_t group, bool everyThread, bool rounds,
              const std::function<double(size_t, size_t)> &expected) {
  size_t groups = 0;
  for (size_t first = 0; first + size_t(group) <= out.size(); first += size_t(group)) {
    size_t last = first + size_t(group);
    auto present = std::count(active.begin() + first, active.begin() + last, char(1));
    if (present == 0) continue;
    if (present < group) return false; // some of its threads are elsewhere
    double want = expected(first, last);
    for (size_t t = first; t < (everyThread ? last : first + 1); ++t)
      if (!(out[t].kind == Sample::Real || out[t].kind == Sample::Integer) || !close(out[t].number(), want, rounds)) return false;
    ++groups;
  }
  return groups > 0;
}

} // namespace

Trial::Trial(const ASTContext &ast, const BlockShape &shape, unsigned runs) {
  for (unsigned i = 0; i < runs; ++i) sides.emplace_back(ast, shape.extent, i + 1, i % 2 == 1);
}

void Trial::setActive(const std::vector<char> &threads) {
  for (Lockstep &side : sides) side.setActive(threads);
}

void Trial::setSettled(const Lockstep::Settled &holds) {
  for (Lockstep &side : sides) side.setSettled(holds);
}

bool Trial::run(const Stmt *statement) {
  return std::all_of(sides.begin(), sides.end(), [&](Lockstep &side) { return side.run(statement); });
}

std::string Trial::trouble() const {
  for (const Lockstep &side : sides)
    if (!side.trouble().empty()) return side.trouble();
  return "";
}

std::vector<Samples> Trial::returned() const {
  std::vector<Samples> values;
  for (const Lockstep &side : sides) values.push_back(side.returned());
  return values;
}

bool Trial::touchedMemory() const {
  return std::any_of(sides.begin(), sides.end(), [](const Lockstep &side) { return side.touchedMemory(); });
}

bool Trial::clean() const {
  return !touchedMemory() && std::none_of(sides.begin(), sides.end(), [](const Lockstep &side) { return side.readStale(); });
}

const Expr *Trial::seenOneWay() const {
  std::map<Lockstep::Test, unsigned> all;
  for (const Lockstep &side : sides)
    for (const auto &[test, seen] : side.tests()) all[test] |= seen;
  for (const auto &[test, seen] : all)
    if (seen != 3) return test.first;
  return nullptr;
}

Classifier::Classifier(const Trial &trial, const std::vector<char> &active, int64_t block) : trial(trial), active(active) {
  groups.push_back(block);
  for (int64_t group : {32, 16, 8, 4, 2})
    if (group < block) groups.push_back(group);
}

std::optional<Total> Classifier::scalar(const TotalPlace &place, const Observed &out) const {
  for (int64_t group : groups)
    for (bool every : {true, false})
      for (size_t i = 0; i < trial.sides.front().inputs().size(); ++i)
        for (Combine combine : {Combine::Sum, Combine::Maximum, Combine::Minimum, Combine::Product}) {
          bool fits = true;
          for (size_t run = 0; run < trial.sides.size() && fits; ++run) {
            const SampleInput *input = find(trial.sides[run], trial.sides.front().inputs()[i]);
            fits = input && explains(out[run], active, group, every, rounds(combine), [&](size_t first, size_t last) {
              double total = input->values[first];
              for (size_t t = first + 1; t < last; ++t) total = fold(combine, total, input->values[t]);
              return total;
            });
          }
          if (fits) return made(place, i, combine, group, every);
        }
  return std::nullopt;
}

std::optional<Total> Classifier::scaled(const TotalPlace &place, const Observed &out, const Total &maximum) const {
  for (size_t i = 0; i < trial.sides.front().inputs().size(); ++i)
    for (bool two : {false, true}) {
      bool fits = true;
      for (size_t run = 0; run < trial.sides.size() && fits; ++run) {
        const SampleInput *input = find(trial.sides[run], trial.sides.front().inputs()[i]), *top = find(trial.sides[run], maximum.input);
        fits = input && top && explains(out[run], active, maximum.group, maximum.everyThread, true, [&](size_t first, size_t last) {
          const auto &maxima = top->values;
          double largest = *std::max_element(maxima.begin() + first, maxima.begin() + last), total = 0;
          for (size_t t = first; t < last; ++t) total += input->values[t] * (two ? std::exp2(maxima[t] - largest) : std::exp(maxima[t] - largest));
          return total;
        });
      }
      if (fits) {
        Total total = made(place, i, Combine::ScaledSum, maximum.group, maximum.everyThread);
        total.maximumOf = maximum.input;
        total.baseTwo = two;
        return total;
      }
    }
  return std::nullopt;
}

const SampleInput *Classifier::find(const Lockstep &side, const SampleInput &input) {
  for (const SampleInput &known : side.inputs())
    if (known.sameAs(input)) return &known;
  return nullptr;
}

Total Classifier::made(const TotalPlace &place, size_t input, Combine combine, int64_t group, bool every) const {
  Total total;
  total.place = place;
  total.input = trial.sides.front().inputs()[input];
  total.input.values.clear();
  total.combine = combine;
  total.group = group;
  total.everyThread = every;
  return total;
}

ObservedPlaces observeElements(const Trial &trial, const ValueDecl *array, const std::optional<std::set<int64_t>> &only) {
  ObservedPlaces seen;
  std::map<int64_t, Observed> runs; // an element that only some runs stored is nothing known in the others
  for (size_t run = 0; run < trial.sides.size(); ++run)
    for (const auto &[cell, values] : trial.sides[run].ownElements(array)) {
      if (only && !only->count(cell)) continue;
      Observed &observed = runs[cell];
      observed.resize(trial.sides.size(), Samples(trial.sides[run].threads()));
      observed[run] = values;
    }
  for (auto &[cell, observed] : runs) seen.push_back({TotalPlace{array, -1, std::nullopt, cell}, std::move(observed)});
  return seen;
}

ObservedPlaces observe(const Trial &trial, const ValueDecl *decl) {
  ObservedPlaces seen;
  Observed whole;
  size_t fields = 0;
  for (const Lockstep &side : trial.sides) {
    auto values = side.variable(decl);
    if (!values) return seen;
    for (const Sample &sample : *values)
      if (sample.kind == Sample::Record) fields = std::max(fields, sample.fields.size());
    whole.push_back(std::move(*values));
  }
  if (!fields) return {{TotalPlace{decl, -1, std::nullopt}, whole}};
  for (size_t field = 0; field < fields; ++field) {
    Observed parts;
    for (const Samples &from : whole) {
      Samples &to = parts.emplace_back();
      for (const Sample &sample : from) to.push_back(field < sample.fields.size() ? sample.fields[field] : Sample());
    }
    seen.push_back({TotalPlace{decl, int(field), std::nullopt}, std::move(parts)});
  }
  return seen;
}

bool classifyAll(const Classifier &classifier, const ObservedPlaces &outs, std::vector<Total> &totals) {
  std::vector<const std::pair<TotalPlace, Observed> *> left;
  for (const auto &out : outs) {
    if (auto total = classifier.scalar(out.first, out.second)) totals.push_back(*total);
    else left.push_back(&out);
  }
  size_t plain = totals.size();
  for (const auto *out : left) {
    bool found = false;
    for (size_t i = 0; i < plain && !found; ++i) {
      if (totals[i].combine != Combine::Maximum) continue;
      if (auto total = classifier.scaled(out->first, out->second, totals[i])) {
        totals.push_back(*total);
        found = true;
      }
    }
    if (!found) return false;
  }
  return !totals.empty();
}

} // namespace klineage
