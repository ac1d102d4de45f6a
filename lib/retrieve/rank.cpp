#include "retrieve/rank.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace klineage {

// What tells a step is the difference of its two forms: an expert's product has unrolled loops and wide loads in both forms of the
// pair that shows padding. So a token weighs by its rarity among the *differences* of all steps, and one that stands in both forms
// of a pair counts for little there. Plain cosine over whole kernels was tried first and found the longest example.

namespace {

constexpr double sharedWeight = 0.15; ///< Of a token that both forms of the pair have.
constexpr double lengthPower = 0.6;   ///< 1 is cosine, which favours steps that differ in one token; 0 favours long examples.

Shape lessThan(const Shape &all, const Shape &other) {
  Shape own;
  for (const auto &[token, count] : all) {
    auto found = other.find(token);
    int rest = count - (found == other.end() ? 0 : found->second);
    if (rest > 0) own[token] = rest;
  }
  return own;
}

double damped(int count) { return 1 + std::log(double(count)); }

} // namespace

void ShapeRanker::add(const std::string &step, const std::string &label, const Shape &plain, const Shape &expert) {
  if (!plain.empty()) sides.push_back({step, label, false, plain, lessThan(plain, expert)});
  if (!expert.empty()) sides.push_back({step, label, true, expert, lessThan(expert, plain)});
}

std::vector<ShapeRanker::Match> ShapeRanker::rank(const Shape &piece) const {
  std::set<std::string> steps;
  std::map<std::string, std::set<std::string>> differsIn;
  for (const Side &side : sides) {
    steps.insert(side.step);
    for (const auto &[token, count] : side.own) differsIn[token].insert(side.step);
  }
  auto weight = [&](const std::string &token) {
    auto found = differsIn.find(token);
    if (found == differsIn.end()) return 0.05;
    return std::log((double(steps.size()) + 1) / double(found->second.size()));
  };

  double pieceNorm = 0;
  for (const auto &[token, count] : piece) pieceNorm += std::pow(weight(token) * damped(count), 2);
  pieceNorm = std::sqrt(pieceNorm);
  if (pieceNorm == 0) return {};

  struct Sum {
    double best = 0, total = 0;
    int count = 0;
    Match match;
  };
  std::map<std::pair<std::string, bool>, Sum> bySide;
  for (const Side &side : sides) {
    double norm = 0, dot = 0;
    Match match{side.step, 0, side.expert, side.label, {}};
    for (const auto &[token, count] : side.all) {
      auto own = side.own.find(token);
      double here = weight(token) * (own == side.own.end() ? sharedWeight : damped(own->second));
      norm += here * here;
      auto asked = piece.find(token);
      if (asked == piece.end()) continue;
      double part = here * weight(token) * damped(std::min(asked->second, count));
      dot += part;
      match.because.push_back({token, part});
    }
    Sum &sum = bySide[{side.step, side.expert}];
    ++sum.count;
    if (dot == 0) continue;
    match.score = dot / (pieceNorm * std::pow(std::sqrt(norm), lengthPower));
    sum.total += match.score;
    if (match.score > sum.best) sum.best = match.score, sum.match = std::move(match);
  }

  // The nearest pair decides most; that the step's other pairs look like the piece too makes it surer.
  std::map<std::string, Match> byStep;
  for (auto &[key, sum] : bySide) {
    if (sum.best == 0) continue;
    sum.match.score = 0.7 * sum.best + 0.3 * sum.total / sum.count;
    Match &best = byStep[key.first];
    if (sum.match.score > best.score) best = std::move(sum.match);
  }
  std::vector<Match> matches;
  double most = 0;
  for (auto &[step, match] : byStep) {
    std::sort(match.because.begin(), match.because.end(), [](const auto &a, const auto &b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    most = std::max(most, match.score);
    matches.push_back(std::move(match));
  }
  for (Match &match : matches) match.score /= std::max(most, 1.0);
  std::sort(matches.begin(), matches.end(), [](const Match &a, const Match &b) { return a.score != b.score ? a.score > b.score : a.step < b.step; });
  return matches;
}

} // namespace klineage
