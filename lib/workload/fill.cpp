// Data sets: the deterministic contents of input buffers. docs/workload.md lists what each name means.
#include "workload/workload.h"
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace klineage {
namespace {

/// SplitMix64 as a function of (key, counter): any element can be computed without those before it.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class Random {
public:
  explicit Random(uint64_t key) : key(key) {}
  uint64_t bits(uint64_t counter) const { return mix(key ^ mix(counter)); }
  /// In [0, 1).
  double unit(uint64_t counter) const { return double(bits(counter) >> 11) * 0x1p-53; }
  uint64_t below(uint64_t counter, uint64_t limit) const { return limit ? bits(counter) % limit : 0; }

private:
  uint64_t key;
};

uint64_t keyOf(const Workload &workload, const Instance &instance, uint64_t seed, const std::string &argument) {
  uint64_t key = mix(seed) ^ mix(instance.seed + 0x51ed);
  for (const std::string *text : {&workload.name, &instance.name, &argument})
    for (char c : *text + '\n') key = mix(key ^ static_cast<unsigned char>(c));
  return key;
}

/// The values of one buffer as doubles before they are rounded to its type.
class DataSet {
public:
  DataSet(const Fill &fill, Random random, size_t count, size_t row)
      : fill(fill), random(random), rowLength(row ? row : 1), rows(count / rowLength) {}

  double operator()(size_t i) const {
    const std::string &kind = fill.kind;
    size_t row = i / rowLength, column = i % rowLength;
    if (kind == "zeros") return 0;
    if (kind == "ones") return 1;
    if (kind == "normal") return normal(i);
    if (kind == "integers") return std::floor(fill.low) + double(random.below(i, uint64_t(std::floor(fill.high) - std::floor(fill.low)) + 1));
    if (kind == "large_mean") return 1000 + random.unit(~uint64_t(row)) + 0.001 * double(random.below(i, rowLength));
    if (kind == "minus_infinity_first" && column == 0) return -std::numeric_limits<double>::infinity();
    if (kind == "masked_row" && (row % 3 == 1 || rows < 2)) return -std::numeric_limits<double>::infinity();
    if (kind == "with_nan" && row % 4 == 0 && column == random.below(~uint64_t(row), rowLength)) return std::nan("");
    return uniform(i);
  }

private:
  double uniform(size_t i) const { return fill.low + (fill.high - fill.low) * random.unit(i); }
  double normal(size_t i) const {
    double radius = std::sqrt(-2 * std::log(1 - random.unit(2 * i)));
    double value = radius * std::cos(2 * std::numbers::pi * random.unit(2 * i + 1));
    return (fill.low + fill.high) / 2 + (fill.high - fill.low) / 2 * value;
  }

  const Fill &fill;
  Random random;
  size_t rowLength, rows;
};

std::string permutation(ElementType type, Random random, size_t count) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  std::string bytes(count * sizeOf(type), '\0');
  for (size_t i = 0; i < count; ++i) storeElement(type, bytes.data() + i * sizeOf(type), double(order[i]));
  return bytes;
}

std::string fillBuffer(const Fill &fill, ElementType type, Random random, const Extent &extent) {
  if (fill.kind == "permutation") return permutation(type, random, extent.count);
  DataSet values(fill, random, extent.count, extent.row);
  std::string bytes(extent.count * sizeOf(type), '\0');
  for (size_t i = 0; i < extent.count; ++i) storeElement(type, bytes.data() + i * sizeOf(type), values(i));
  return bytes;
}

Result<std::string> scalarBytes(const Argument &argument, const Instance &instance) {
  std::string bytes(sizeOf(argument.type), '\0');
  if (isFloating(argument.type)) {
    Result<double> value = evaluateReal(argument.value, instance.axes);
    if (!value) return value.error();
    storeElement(argument.type, bytes.data(), *value);
    return bytes;
  }
  Result<int64_t> value = evaluate(argument.value, instance.axes);
  if (!value) return value.error();
  bool isSigned = argument.type == ElementType::I8 || argument.type == ElementType::I32 || argument.type == ElementType::I64;
  unsigned width = 8 * sizeOf(argument.type);
  int64_t low = isSigned ? (width == 64 ? INT64_MIN : -(int64_t(1) << (width - 1))) : 0;
  int64_t high = width == 64 ? INT64_MAX : (int64_t(1) << (width - (isSigned ? 1 : 0))) - 1;
  if (*value < low || *value > high)
    return userError("instance \"" + instance.name + "\": the value " + std::to_string(*value) + " of \"" + argument.name + "\" does not fit " +
                     name(argument.type));
  // Little-endian, as every machine that CUDA runs on: the low bytes are the narrow value.
  static_assert(std::endian::native == std::endian::little);
  bytes.assign(reinterpret_cast<const char *>(&*value), bytes.size());
  return bytes;
}

} // namespace

Result<Extent> extentOf(const Argument &argument, const Instance &instance) {
  Extent extent{1, 1};
  for (const std::string &dimension : argument.shape) {
    Result<int64_t> length = evaluate(dimension, instance.axes);
    if (!length) return length.error();
    if (*length < 0)
      return userError("instance \"" + instance.name + "\": the extent \"" + dimension + "\" of \"" + argument.name + "\" is " +
                       std::to_string(*length));
    extent.row = size_t(*length);
    size_t bytes;
    if (__builtin_mul_overflow(extent.count, extent.row, &extent.count) || __builtin_mul_overflow(extent.count, sizeOf(argument.type), &bytes) ||
        bytes > size_t(1) << 40)
      return userError("instance \"" + instance.name + "\": \"" + argument.name + "\" is larger than 1 TiB", {}, "take smaller axis values");
  }
  return extent;
}

Result<Inputs> makeInputs(const Workload &workload, const Instance &instance, uint64_t seed) {
  Inputs inputs;
  for (const Argument &argument : workload.arguments) {
    ArgumentBytes made;
    if (argument.kind == ArgumentKind::Scalar) {
      Result<std::string> bytes = scalarBytes(argument, instance);
      if (!bytes) return bytes.error();
      made.bytes = std::move(*bytes);
      made.count = 1;
    } else {
      Result<Extent> extent = extentOf(argument, instance);
      if (!extent) return extent.error();
      made.count = extent->count;
      if (argument.kind == ArgumentKind::Input || argument.kind == ArgumentKind::InOut)
        made.bytes = fillBuffer(workload.fillOf(argument, instance), argument.type, Random(keyOf(workload, instance, seed, argument.name)), *extent);
    }
    inputs.arguments.push_back(std::move(made));
  }
  return inputs;
}

} // namespace klineage
