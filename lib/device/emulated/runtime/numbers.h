// Number formats of the GPU as bits: half, bfloat16, tf32; rounding to nearest even.
#pragma once
#include <bit>
#include <cstdint>

namespace klineage::emulated {

inline float floatOf(uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
inline double doubleOf(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }

inline float bfloatToFloat(uint16_t bits) { return floatOf(uint32_t(bits) << 16); }

inline uint16_t floatToBfloat(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF; // NaN, as cvt gives it
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3FF;
  if (exponent == 31) return floatOf(sign | 0x7F800000 | fraction << 13);
  if (exponent) return floatOf(sign | (exponent + 112) << 23 | fraction << 13);
  float small = float(fraction) * 0x1p-24f;
  return sign ? -small : small;
}

inline uint16_t floatToHalf(float value) {
  uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  if (rest > 0x7F800000) return 0x7FFF;
  if (rest >= 0x477FF000) return uint16_t(sign | 0x7C00); // rounds to infinity
  if (rest < 0x38800000) {                                // subnormal: let the adder round at 2^-24
    float shifted = floatOf(rest) + 0.5f;
    return uint16_t(sign | ((bitsOf(shifted) - bitsOf(0.5f)) & 0x7FF));
  }
  uint32_t rounded = rest + 0xFFF + (rest >> 13 & 1) - 0x38000000;
  return uint16_t(sign | rounded >> 13);
}

/// tf32 keeps ten bits of the fraction; the unit ignores the rest.
inline float tf32(uint32_t bits) { return floatOf(bits & 0xFFFFE000); }

} // namespace klineage::emulated
