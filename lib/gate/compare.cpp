#include "gate/compare.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>

namespace klineage {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Half the distance from 1 to the next number. Sums of 16-bit values are kept in 32 bits by every sound kernel.
double unitRoundoff(ElementType type) {
  switch (type) {
  case ElementType::F32: return std::ldexp(1.0, -24);
  case ElementType::F64: return std::ldexp(1.0, -53);
  case ElementType::F16: return std::ldexp(1.0, -11);
  case ElementType::BF16: return std::ldexp(1.0, -8);
  default: return 0;
  }
}

bool isOutput(const Argument &argument) { return argument.kind == ArgumentKind::Output || argument.kind == ArgumentKind::InOut; }

/// The value as the type can hold it: a double reference may overflow where the type has infinity.
double rounded(ElementType type, double value) {
  char bytes[8] = {};
  storeElement(type, bytes, value);
  return loadElement(type, bytes);
}

/// Root mean square over the finite elements.
double rootMeanSquare(const std::vector<double> &values) {
  double sum = 0;
  size_t count = 0;
  for (double value : values)
    if (std::isfinite(value)) sum += value * value, ++count;
  return count ? std::sqrt(sum / double(count)) : 0;
}

std::string shown(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

bool isPoison(const char *at, size_t offset, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (static_cast<unsigned char>(at[i]) != poison[(offset + i) % 2]) return false;
  return true;
}

/// |error| over scale: 0 when equal (NaN equals NaN here), infinite when the patterns of NaN and infinity differ.
double scaledError(double value, double expected, double rms) {
  if (std::isnan(value) || std::isnan(expected)) return std::isnan(value) && std::isnan(expected) ? 0 : infinity;
  if (std::isinf(value) || std::isinf(expected)) return value == expected ? 0 : infinity;
  double error = std::fabs(value - expected);
  if (error == 0) return 0;
  double scale = std::max(std::fabs(expected), rms);
  return scale > 0 ? error / scale : infinity;
}

bool bitwise(ElementType type, const char *at, double expected) {
  char bytes[8] = {};
  storeElement(type, bytes, expected);
  return std::memcmp(at, bytes, sizeOf(type)) == 0;
}

} // namespace

Bounds roundingBounds(ElementType type, int64_t depth) {
  double stored = unitRoundoff(type);
  double arithmetic = stored > 0 ? std::min(stored, unitRoundoff(ElementType::F32)) : 0;
  double root = std::sqrt(double(std::max<int64_t>(depth, 1)));
  // lambda 8 leaves less than one element in 10^13 outside the bound; the norm averages over elements, so 2 is ample.
  return {std::min(8 * root * arithmetic + stored, 0.25), std::min(2 * root * arithmetic + stored, 0.25), false};
}

Bounds boundsOf(const Workload &workload, const Argument &argument, const Instance &instance) {
  const Tolerance &tolerance = workload.toleranceOf(instance);
  int64_t depth = 1;
  for (const auto &[axis, value] : instance.axes) depth = std::max(depth, value);
  Bounds bounds = roundingBounds(argument.type, depth);
  bounds.element = std::max(bounds.element, tolerance.relative);
  bounds.norm = std::max(bounds.norm, tolerance.norm);
  bounds.exact = tolerance.exact;
  return bounds;
}

Comparison compareOutput(const Argument &argument, std::string_view bytes, const std::vector<double> &expected, const Bounds &bounds) {
  Comparison result;
  const size_t size = sizeOf(argument.type);
  const double rms = rootMeanSquare(expected);
  double errorSquares = 0, expectedSquares = 0;
  size_t wrong = 0, unwritten = 0, firstWrong = 0, firstUnwritten = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const char *at = bytes.data() + i * size;
    double want = rounded(argument.type, expected[i]), have = loadElement(argument.type, at);
    double error = scaledError(have, want, rms);
    if (bounds.exact && !std::isnan(want)) error = bitwise(argument.type, at, expected[i]) ? 0 : infinity;
    // A NaN that was expected still has to be written: a poisoned element is no answer. An integer may hold the pattern by right.
    bool poisoned = isPoison(at, i * size, size) && (isFloating(argument.type) || error > bounds.element);
    if (poisoned && argument.kind == ArgumentKind::Output) {
      if (!unwritten++) firstUnwritten = i;
      continue;
    }
    result.worst = std::max(result.worst, error);
    if (error > bounds.element && !wrong++) firstWrong = i;
    if (std::isfinite(have) && std::isfinite(want)) {
      errorSquares += (have - want) * (have - want);
      expectedSquares += want * want;
    }
  }
  if (errorSquares > 0) result.norm = expectedSquares > 0 ? std::sqrt(errorSquares / expectedSquares) : infinity;
  auto place = [&](size_t element) { return argument.name + "[" + std::to_string(element) + "]"; };
  if (unwritten) {
    result.reason = Reason::UnwrittenOutput;
    result.detail = place(firstUnwritten) + " was never written; so were " + std::to_string(unwritten - 1) + " more of " +
                    std::to_string(expected.size()) + " elements";
  } else if (wrong) {
    result.reason = Reason::WrongValue;
    result.detail = place(firstWrong) + " is " + shown(loadElement(argument.type, bytes.data() + firstWrong * size)) + ", expected " +
                    shown(rounded(argument.type, expected[firstWrong])) + "; " + std::to_string(wrong) + " of " +
                    std::to_string(expected.size()) + " elements are out of bounds " + (bounds.exact ? "(exact)" : shown(bounds.element));
  } else if (!bounds.exact && result.norm > bounds.norm) {
    result.reason = Reason::WrongValue;
    result.detail = argument.name + ": the error's norm is " + shown(result.norm) + " of the expected output's, allowed " + shown(bounds.norm);
  }
  return result;
}

namespace {

/// Would these values be taken for a right answer? `value(argument, element)` makes the control's output.
bool controlPasses(const Workload &workload, const Instance &instance, const Expected &expected,
                   const std::function<double(size_t, size_t)> &value) {
  for (size_t a = 0; a < workload.arguments.size(); ++a) {
    const Argument &argument = workload.arguments[a];
    if (!isOutput(argument)) continue;
    std::string bytes(expected[a].size() * sizeOf(argument.type), '\0');
    for (size_t i = 0; i < expected[a].size(); ++i) storeElement(argument.type, bytes.data() + i * sizeOf(argument.type), value(a, i));
    if (compareOutput(argument, bytes, expected[a], boundsOf(workload, argument, instance)).reason != Reason::None) return false;
  }
  return true;
}

} // namespace

std::string passingControl(const Workload &workload, const Instance &instance, const Inputs &inputs, const Expected &expected,
                           const Expected &previous) {
  size_t elements = 0, largest = 0;
  for (const auto &output : expected) elements += output.size(), largest = std::max(largest, output.size());
  if (elements == 0) return "no output elements at all";
  if (controlPasses(workload, instance, expected, [](size_t, size_t) { return 0.0; })) return "zeros";
  if (controlPasses(workload, instance, expected, [](size_t, size_t) { return 1.0; })) return "ones";
  for (size_t a = 0; a < workload.arguments.size(); ++a) {
    const Argument &argument = workload.arguments[a];
    if (argument.kind != ArgumentKind::Input && argument.kind != ArgumentKind::InOut) continue;
    // A copy needs something to copy for every element.
    if (inputs.arguments[a].count < largest) continue;
    const char *bytes = inputs.arguments[a].bytes.data();
    if (controlPasses(workload, instance, expected,
                      [&](size_t, size_t i) { return loadElement(argument.type, bytes + i * sizeOf(argument.type)); }))
      return "a copy of the input " + argument.name;
  }
  bool comparable = !previous.empty();
  for (size_t a = 0; comparable && a < expected.size(); ++a) comparable = previous[a].size() == expected[a].size();
  if (comparable && controlPasses(workload, instance, expected, [&](size_t a, size_t i) { return previous[a][i]; })) return "the last output";
  return {};
}

} // namespace klineage
