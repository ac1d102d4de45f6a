#include "step/reduction_totals.h"
#include <algorithm>
#include <cmath>

namespace klineage {
using namespace clang;

namespace {

/// Infinite values explain nothing: a product of many large integers would be anything.
bool close(double a, double b) {
  return std::isfinite(a) && std::isfinite(b) && (a == b || std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)));
}

double fold(Combine combine, double a, double b) {
  switch (combine) {
  case Combine::Product: return a * b;
  case Combine::Maximum: return std::max(a, b);
  case Combine::Minimum: return std::min(a, b);
  default: return a + b;
  }
}

/// True when `out` holds, in each whole group (or in its first thread), `expected(first, last)`.
bool explains(const Samples &out, const std::vector<char> &active, int64_t group, bool everyThread,
              const std::function<double(size_t, size_t)> &expected) {
  size_t groups = 0;
  for (size_t first = 0; first + size_t(group) <= out.size(); first += size_t(group)) {
    size_t last = first + size_t(group);
    if (std::any_of(active.begin() + first, active.begin() + last, [](char on) { return !on; })) continue;
    double want = expected(first, last);
    for (size_t t = first; t < (everyThread ? last : first + 1); ++t)
      if (!(out[t].kind == Sample::Real || out[t].kind == Sample::Integer) || !close(out[t].number(), want)) return false;
    ++groups;
  }
  return groups > 0;
}

} // namespace

Classifier::Classifier(const Trial &trial, const std::vector<char> &active, int64_t block) : trial(trial), active(active) {
  groups.push_back(block);
  for (int64_t group : {32, 16, 8, 4, 2})
    if (group < block) groups.push_back(group);
}

std::optional<Total> Classifier::scalar(const TotalPlace &place, const Observed &out) const {
  for (int64_t group : groups)
    for (bool every : {true, false})
      for (size_t i = 0; i < trial.positive.inputs().size() && i < trial.negative.inputs().size(); ++i)
        for (Combine combine : {Combine::Sum, Combine::Maximum, Combine::Minimum, Combine::Product}) {
          auto expected = [&](const Lockstep &side) {
            const auto &values = side.inputs()[i].values;
            return [&values, combine](size_t first, size_t last) {
              double total = values[first];
              for (size_t t = first + 1; t < last; ++t) total = fold(combine, total, values[t]);
              return total;
            };
          };
          if (explains(out.positive, active, group, every, expected(trial.positive)) &&
              explains(out.negative, active, group, every, expected(trial.negative)))
            return made(place, i, combine, group, every);
        }
  return std::nullopt;
}

std::optional<Total> Classifier::scaled(const TotalPlace &place, const Observed &out, const Total &maximum) const {
  for (size_t i = 0; i < trial.positive.inputs().size() && i < trial.negative.inputs().size(); ++i)
    for (bool two : {false, true}) {
      auto expected = [&](const Lockstep &side) {
        const auto &values = side.inputs()[i].values;
        const auto &maxima = find(side, maximum.input)->values;
        return [&values, &maxima, two](size_t first, size_t last) {
          double top = *std::max_element(maxima.begin() + first, maxima.begin() + last), total = 0;
          for (size_t t = first; t < last; ++t) total += values[t] * (two ? std::exp2(maxima[t] - top) : std::exp(maxima[t] - top));
          return total;
        };
      };
      if (explains(out.positive, active, maximum.group, maximum.everyThread, expected(trial.positive)) &&
          explains(out.negative, active, maximum.group, maximum.everyThread, expected(trial.negative))) {
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
  total.input = trial.positive.inputs()[input];
  total.input.values.clear();
  total.combine = combine;
  total.group = group;
  total.everyThread = every;
  return total;
}

ObservedPlaces observeElements(const Trial &trial, const ValueDecl *array, const std::optional<std::set<int64_t>> &only) {
  ObservedPlaces seen;
  auto positive = trial.positive.ownElements(array), negative = trial.negative.ownElements(array);
  for (const auto &[cell, values] : positive)
    if (negative.count(cell) && (!only || only->count(cell))) seen.push_back({TotalPlace{array, -1, std::nullopt, cell}, Observed{values, negative[cell]}});
  return seen;
}

ObservedPlaces observe(const Trial &trial, const ValueDecl *decl) {
  ObservedPlaces seen;
  auto positive = trial.positive.variable(decl), negative = trial.negative.variable(decl);
  if (!positive || !negative) return seen;
  size_t fields = 0;
  for (const Sample &sample : *positive)
    if (sample.kind == Sample::Record) fields = std::max(fields, sample.fields.size());
  if (!fields) return {{TotalPlace{decl, -1, std::nullopt}, Observed{*positive, *negative}}};
  for (size_t field = 0; field < fields; ++field) {
    Observed part;
    auto pick = [&](const Samples &from, Samples &to) {
      for (const Sample &sample : from) to.push_back(field < sample.fields.size() ? sample.fields[field] : Sample());
    };
    pick(*positive, part.positive);
    pick(*negative, part.negative);
    seen.push_back({TotalPlace{decl, int(field), std::nullopt}, part});
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
