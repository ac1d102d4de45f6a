// Element types: their sizes, names, and the way between stored bytes and doubles.
#include "workload/workload.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace klineage {
namespace {

struct TypeRow {
  ElementType type;
  const char *name;
  size_t bytes;
};
const TypeRow table[] = {
    {ElementType::F32, "f32", 4}, {ElementType::F64, "f64", 8}, {ElementType::F16, "f16", 2}, {ElementType::BF16, "bf16", 2},
    {ElementType::I8, "i8", 1},   {ElementType::U8, "u8", 1},   {ElementType::I32, "i32", 4}, {ElementType::U32, "u32", 4},
    {ElementType::I64, "i64", 8}, {ElementType::U64, "u64", 8},
};
const TypeRow &row(ElementType type) { return table[size_t(type)]; }

/// Rounds to a binary float with `mantissa` stored bits and `exponentBits` of exponent, to nearest even, in one rounding from double.
uint16_t roundTo16(double value, int mantissa, int exponentBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = uint16_t(((1 << exponentBits) - 1) << mantissa);
  if (std::isnan(value)) return uint16_t(sign | infinity | (1 << (mantissa - 1)));
  if (std::isinf(value)) return sign | infinity;
  double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - bias) exponent = 1 - bias; // subnormal: the spacing stops shrinking
  double steps = std::nearbyint(std::ldexp(magnitude, mantissa - exponent));
  if (exponent > bias) return sign | infinity;
  // A carry out of the mantissa runs into the exponent field, which is the right encoding, up to infinity.
  uint32_t bits = uint32_t(steps) + (uint32_t(exponent + bias - 1) << mantissa);
  if (bits >= infinity) bits = infinity;
  return uint16_t(sign | bits);
}

double widen16(uint16_t bits, int mantissa, int exponentBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const int top = (1 << exponentBits) - 1;
  int exponent = (bits >> mantissa) & top;
  int fraction = bits & ((1 << mantissa) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == top) return fraction ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(double(fraction), 1 - bias - mantissa);
  return sign * std::ldexp(double(fraction + (1 << mantissa)), exponent - bias - mantissa);
}

template <typename T> double load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return double(value);
}
template <typename T> void store(char *at, T value) { std::memcpy(at, &value, sizeof value); }

} // namespace

size_t sizeOf(ElementType type) { return row(type).bytes; }
const char *name(ElementType type) { return row(type).name; }
bool isFloating(ElementType type) { return type <= ElementType::BF16; }

std::optional<ElementType> elementTypeNamed(std::string_view name) {
  for (const TypeRow &entry : table)
    if (name == entry.name) return entry.type;
  return std::nullopt;
}

uint16_t toHalf(double value) { return roundTo16(value, 10, 5); }
uint16_t toBFloat16(double value) { return roundTo16(value, 7, 8); }
double fromHalf(uint16_t bits) { return widen16(bits, 10, 5); }
double fromBFloat16(uint16_t bits) { return widen16(bits, 7, 8); }

double loadElement(ElementType type, const char *at) {
  switch (type) {
  case ElementType::F32: return load<float>(at);
  case ElementType::F64: return load<double>(at);
  case ElementType::F16: return fromHalf(uint16_t(load<uint16_t>(at)));
  case ElementType::BF16: return fromBFloat16(uint16_t(load<uint16_t>(at)));
  case ElementType::I8: return load<int8_t>(at);
  case ElementType::U8: return load<uint8_t>(at);
  case ElementType::I32: return load<int32_t>(at);
  case ElementType::U32: return load<uint32_t>(at);
  case ElementType::I64: return load<int64_t>(at);
  case ElementType::U64: return load<uint64_t>(at);
  }
  return 0;
}

void storeElement(ElementType type, char *at, double value) {
  switch (type) {
  case ElementType::F32: return store(at, float(value));
  case ElementType::F64: return store(at, value);
  case ElementType::F16: return store(at, toHalf(value));
  case ElementType::BF16: return store(at, toBFloat16(value));
  case ElementType::I8: return store(at, int8_t(value));
  case ElementType::U8: return store(at, uint8_t(value));
  case ElementType::I32: return store(at, int32_t(value));
  case ElementType::U32: return store(at, uint32_t(value));
  case ElementType::I64: return store(at, int64_t(value));
  case ElementType::U64: return store(at, uint64_t(value));
  }
}

std::vector<double> toDoubles(ElementType type, std::string_view bytes) {
  std::vector<double> out(bytes.size() / sizeOf(type));
  for (size_t i = 0; i < out.size(); ++i) out[i] = loadElement(type, bytes.data() + i * sizeOf(type));
  return out;
}

} // namespace klineage
