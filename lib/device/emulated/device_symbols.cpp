#include "device/emulated/host_calls.h"
#include <cmath>
#include <cstring>
#include <unordered_set>

// What LLVM's x86 back end calls for types that the host has no instructions for.
extern "C" {
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
}

namespace klineage::emulated {

const std::vector<NativeSymbol> &libdeviceSymbols();

namespace {

uint16_t bfloatOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (value != value) return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The compiler's helper returns a bfloat in the low half of a vector register.
using BFloatRegister = _Float16;
BFloatRegister truncateToBFloat(float value) {
  uint16_t bits = bfloatOf(value);
  BFloatRegister out;
  std::memcpy(&out, &bits, 2);
  return out;
}
BFloatRegister truncateDoubleToBFloat(double value) {
  // Round to odd first, so that the second rounding is the only one.
  float near = float(value);
  uint32_t bits;
  std::memcpy(&bits, &near, 4);
  if (std::isfinite(near) && double(near) != value) {
    if ((value > 0) == (double(near) > value)) --bits;
    bits |= 1;
    std::memcpy(&near, &bits, 4);
  }
  return truncateToBFloat(near);
}

template <typename F> void *address(F *function) { return reinterpret_cast<void *>(function); }
#define HOOK(name) {#name, address(name)}

std::vector<NativeSymbol> makeTable() {
  std::vector<NativeSymbol> symbols = {
      HOOK(kl_load), HOOK(kl_store), HOOK(kl_memcpy), HOOK(kl_memmove), HOOK(kl_memset), HOOK(kl_atomic_rmw), HOOK(kl_atomic_cas),
      HOOK(kl_atomic_load), HOOK(kl_atomic_store), HOOK(kl_fence), HOOK(kl_barrier), HOOK(kl_barrier_arrive), HOOK(kl_barrier_reduce),
      HOOK(kl_syncwarp), HOOK(kl_shuffle), HOOK(kl_vote), HOOK(kl_match), HOOK(kl_redux), HOOK(kl_activemask), HOOK(kl_elect),
      HOOK(kl_cp_async), HOOK(kl_cp_async_commit), HOOK(kl_cp_async_wait), HOOK(kl_cp_async_wait_all), HOOK(kl_mma), HOOK(kl_ldmatrix),
      HOOK(kl_stmatrix), HOOK(kl_wmma_load), HOOK(kl_wmma_store), HOOK(kl_wmma_mma), HOOK(kl_branch), HOOK(kl_yield), HOOK(kl_out_of_fuel),
      HOOK(kl_clock), HOOK(kl_trap), HOOK(kl_leaves_local), HOOK(kl_assert_failed), HOOK(kl_vprintf), HOOK(kl_malloc), HOOK(kl_free), HOOK(kl_is_space),
      HOOK(__extendhfsf2), HOOK(__truncsfhf2), HOOK(__truncdfhf2),
      {"__truncsfbf2", address(truncateToBFloat)}, {"__truncdfbf2", address(truncateDoubleToBFloat)},
      {"memcpy", address<void *(void *, const void *, size_t)>(std::memcpy)}, {"memset", address<void *(void *, int, size_t)>(std::memset)},
      {"memmove", address<void *(void *, const void *, size_t)>(std::memmove)},
#define MATH(name) {#name, address<double(double)>(std::name)}, {#name "f", address<float(float)>(std::name)}
      MATH(exp), MATH(exp2), MATH(log), MATH(log2), MATH(log10), MATH(sin), MATH(cos), MATH(tan), MATH(tanh), MATH(sqrt), MATH(floor), MATH(ceil),
      MATH(trunc), MATH(round), MATH(rint), MATH(nearbyint),
      {"roundeven", address<double(double)>(std::nearbyint)}, {"roundevenf", address<float(float)>(std::nearbyint)},
#define MATH2(name) {#name, address<double(double, double)>(std::name)}, {#name "f", address<float(float, float)>(std::name)}
      MATH2(fmin), MATH2(fmax), MATH2(fmod), MATH2(pow),
      {"fma", address<double(double, double, double)>(std::fma)}, {"fmaf", address<float(float, float, float)>(std::fma)},
      {"ldexp", address<double(double, int)>(std::ldexp)}, {"ldexpf", address<float(float, int)>(std::ldexp)},
  };
  const auto &math = libdeviceSymbols();
  symbols.insert(symbols.end(), math.begin(), math.end());
  return symbols;
}

} // namespace

const std::vector<NativeSymbol> &deviceSymbols() {
  static const std::vector<NativeSymbol> symbols = makeTable();
  return symbols;
}

bool isDeviceFunction(std::string_view name) {
  static const auto *names = [] {
    auto *set = new std::unordered_set<std::string_view>;
    for (const NativeSymbol &symbol : deviceSymbols())
      set->insert(symbol.name);
    return set;
  }();
  return names->count(name) != 0;
}

} // namespace klineage::emulated
