// libdevice: the `__nv_*` functions that Clang leaves as calls, on the host's math library. Results are those of a correctly or nearly
// correctly rounded function; NVIDIA's own differ in the last bits, within the errors that the CUDA Programming Guide states.
#include "device/emulated/host_calls.h"
#include <bit>
#include <cfenv>
#include <cmath>

namespace klineage::emulated {
namespace {

float exp10Float(float x) { return float(std::pow(10.0, double(x))); }
double exp10Double(double x) { return std::pow(10.0, x); }
float rcbrtFloat(float x) { return 1 / std::cbrt(x); }
double rcbrtDouble(double x) { return 1 / std::cbrt(x); }
float rhypotFloat(float x, float y) { return 1 / std::hypot(x, y); }
double rhypotDouble(double x, double y) { return 1 / std::hypot(x, y); }
float norm3Float(float x, float y, float z) { return float(std::sqrt(double(x) * x + double(y) * y + double(z) * z)); }
double norm3Double(double x, double y, double z) { return std::hypot(x, y, z); }
constexpr double pi = 3.14159265358979323846;
double sinpiDouble(double x) { return std::sin(pi * std::remainder(x, 2.0)); }
double cospiDouble(double x) { return std::cos(pi * std::remainder(x, 2.0)); }
float sinpiFloat(float x) { return float(sinpiDouble(x)); }
float cospiFloat(float x) { return float(cospiDouble(x)); }
double normcdfDouble(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
float normcdfFloat(float x) { return float(normcdfDouble(x)); }
void sincosFloat(float x, float *s, float *c) { *s = std::sin(x), *c = std::cos(x); }
void sincosDouble(double x, double *s, double *c) { *s = std::sin(x), *c = std::cos(x); }
void sincospiFloat(float x, float *s, float *c) { *s = sinpiFloat(x), *c = cospiFloat(x); }
void sincospiDouble(double x, double *s, double *c) { *s = sinpiDouble(x), *c = cospiDouble(x); }

/// The inverse of erf by Newton's steps on a rational start (Giles 2010).
double erfinvDouble(double x) {
  if (std::isnan(x) || std::fabs(x) > 1) return NAN;
  if (std::fabs(x) == 1) return std::copysign(INFINITY, x);
  double w = -std::log((1 - x) * (1 + x)), y;
  if (w < 5) {
    w -= 2.5;
    y = ((((((((2.81022636e-08 * w + 3.43273939e-07) * w - 3.5233877e-06) * w - 4.39150654e-06) * w + 0.00021858087) * w - 0.00125372503) * w -
           0.00417768164) * w + 0.246640727) * w + 1.50140941) * x;
  } else {
    w = std::sqrt(w) - 3;
    y = ((((((((-0.000200214257 * w + 0.000100950558) * w + 0.00134934322) * w - 0.00367342844) * w + 0.00573950773) * w - 0.0076224613) * w +
           0.00943887047) * w + 1.00167406) * w + 2.83297682) * x;
  }
  for (int i = 0; i < 2; ++i)
    y -= (std::erf(y) - x) / (1.12837916709551257390 * std::exp(-y * y));
  return y;
}
float erfinvFloat(float x) { return float(erfinvDouble(x)); }

/// A float as the nearest value of T, NaN as 0 and overflow at the ends, as the conversion instructions do.
template <typename T> T saturated(double x) {
  if (std::isnan(x)) return 0;
  if (x <= double(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= double(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return T(x);
}
template <typename T, typename F> T toNearest(F x) { return saturated<T>(std::nearbyint(double(x))); }
template <typename T, typename F> T toZero(F x) { return saturated<T>(std::trunc(double(x))); }
template <typename T, typename F> T toLow(F x) { return saturated<T>(std::floor(double(x))); }
template <typename T, typename F> T toHigh(F x) { return saturated<T>(std::ceil(double(x))); }
template <typename T, typename F> T exact(F x) { return T(x); }

/// One operation under another rounding direction of the host.
template <int Mode, typename T, typename... Arguments> T rounded(T (*operation)(Arguments...), Arguments... arguments) {
  int before = std::fegetround();
  std::fesetround(Mode);
  volatile T result = operation(arguments...);
  std::fesetround(before);
  return result;
}
template <typename T> T plus(T a, T b) { volatile T x = a, y = b; return x + y; }
template <typename T> T minus(T a, T b) { volatile T x = a, y = b; return x - y; }
template <typename T> T times(T a, T b) { volatile T x = a, y = b; return x * y; }
template <typename T> T over(T a, T b) { volatile T x = a, y = b; return x / y; }
template <typename T> T root(T a) { volatile T x = a; return std::sqrt(x); }
template <typename T> T fused(T a, T b, T c) { volatile T x = a, y = b, z = c; return std::fma(x, y, z); }
template <typename T> T reciprocal(T a) { volatile T x = a; return T(1) / x; }
template <int Mode, auto F, typename T> T unary(T a) { return rounded<Mode, T, T>(F, a); }
template <int Mode, auto F, typename T> T binary(T a, T b) { return rounded<Mode, T, T, T>(F, a, b); }
template <int Mode, auto F, typename T> T ternary(T a, T b, T c) { return rounded<Mode, T, T, T, T>(F, a, b, c); }

float frexpFloat(float x, int *e) { return std::frexp(x, e); }
double frexpDouble(double x, int *e) { return std::frexp(x, e); }
float modfFloat(float x, float *whole) { return std::modf(x, whole); }
double modfDouble(double x, double *whole) { return std::modf(x, whole); }
float remquoFloat(float x, float y, int *q) { return std::remquo(x, y, q); }
double remquoDouble(double x, double y, int *q) { return std::remquo(x, y, q); }
float powiFloat(float x, int n) { return float(std::pow(double(x), n)); }
double powiDouble(double x, int n) { return std::pow(x, n); }
int hadd(int a, int b) { return int((int64_t(a) + b) >> 1); }
unsigned uhadd(unsigned a, unsigned b) { return unsigned((uint64_t(a) + b) >> 1); }
int rhadd(int a, int b) { return int((int64_t(a) + b + 1) >> 1); }
unsigned urhadd(unsigned a, unsigned b) { return unsigned((uint64_t(a) + b + 1) >> 1); }
unsigned sad(int a, int b, unsigned c) { return unsigned(std::abs(int64_t(a) - b)) + c; }
unsigned usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
int mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
unsigned umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
int ilogbFloat(float x) { return std::ilogb(x); }
int ilogbDouble(double x) { return std::ilogb(x); }
double hilo(int high, int low) { return std::bit_cast<double>(uint64_t(uint32_t(high)) << 32 | uint32_t(low)); }
int doubleHigh(double x) { return int(std::bit_cast<uint64_t>(x) >> 32); }
int doubleLow(double x) { return int(std::bit_cast<uint64_t>(x)); }

template <typename F> void *address(F *function) { return reinterpret_cast<void *>(function); }

#define ONE(name, f) {"__nv_" name "f", address<float(float)>(f)}, {"__nv_" name, address<double(double)>(f)}
#define TWO(name, f) {"__nv_" name "f", address<float(float, float)>(f)}, {"__nv_" name, address<double(double, double)>(f)}
#define PAIR(name, f, d) {"__nv_" name "f", address(f)}, {"__nv_" name, address(d)}
#define DIRECTED(suffix, mode) \
  {"__nv_fadd_" suffix, address(binary<mode, plus<float>, float>)}, {"__nv_dadd_" suffix, address(binary<mode, plus<double>, double>)}, \
  {"__nv_fsub_" suffix, address(binary<mode, minus<float>, float>)}, {"__nv_dsub_" suffix, address(binary<mode, minus<double>, double>)}, \
  {"__nv_fmul_" suffix, address(binary<mode, times<float>, float>)}, {"__nv_dmul_" suffix, address(binary<mode, times<double>, double>)}, \
  {"__nv_fdiv_" suffix, address(binary<mode, over<float>, float>)}, {"__nv_ddiv_" suffix, address(binary<mode, over<double>, double>)}, \
  {"__nv_fsqrt_" suffix, address(unary<mode, root<float>, float>)}, {"__nv_dsqrt_" suffix, address(unary<mode, root<double>, double>)}, \
  {"__nv_frcp_" suffix, address(unary<mode, reciprocal<float>, float>)}, {"__nv_drcp_" suffix, address(unary<mode, reciprocal<double>, double>)}, \
  {"__nv_fmaf_" suffix, address(ternary<mode, fused<float>, float>)}, {"__nv_fma_" suffix, address(ternary<mode, fused<double>, double>)}
#define TO_INTEGER(from, type) \
  {"__nv_" from "2int_rn", address(toNearest<int, type>)}, {"__nv_" from "2int_rz", address(toZero<int, type>)}, \
  {"__nv_" from "2int_rd", address(toLow<int, type>)}, {"__nv_" from "2int_ru", address(toHigh<int, type>)}, \
  {"__nv_" from "2uint_rn", address(toNearest<unsigned, type>)}, {"__nv_" from "2uint_rz", address(toZero<unsigned, type>)}, \
  {"__nv_" from "2uint_rd", address(toLow<unsigned, type>)}, {"__nv_" from "2uint_ru", address(toHigh<unsigned, type>)}, \
  {"__nv_" from "2ll_rn", address(toNearest<int64_t, type>)}, {"__nv_" from "2ll_rz", address(toZero<int64_t, type>)}, \
  {"__nv_" from "2ll_rd", address(toLow<int64_t, type>)}, {"__nv_" from "2ll_ru", address(toHigh<int64_t, type>)}, \
  {"__nv_" from "2ull_rn", address(toNearest<uint64_t, type>)}, {"__nv_" from "2ull_rz", address(toZero<uint64_t, type>)}

const std::vector<NativeSymbol> &table() {
  static const std::vector<NativeSymbol> symbols = {
      ONE("exp", std::exp), ONE("expm1", std::expm1), ONE("log", std::log), ONE("log2", std::log2), ONE("log10", std::log10),
      ONE("log1p", std::log1p), ONE("sin", std::sin), ONE("cos", std::cos), ONE("tan", std::tan), ONE("asin", std::asin),
      ONE("acos", std::acos), ONE("atan", std::atan), ONE("sinh", std::sinh), ONE("cosh", std::cosh), ONE("tanh", std::tanh),
      ONE("asinh", std::asinh), ONE("acosh", std::acosh), ONE("atanh", std::atanh), ONE("erf", std::erf), ONE("erfc", std::erfc),
      ONE("lgamma", std::lgamma), ONE("tgamma", std::tgamma), ONE("cbrt", std::cbrt), ONE("logb", std::logb),
      TWO("pow", std::pow), TWO("atan2", std::atan2), TWO("fmod", std::fmod), TWO("remainder", std::remainder), TWO("hypot", std::hypot),
      TWO("fdim", std::fdim), TWO("nextafter", std::nextafter),
      {"__nv_exp2", address<double(double)>(std::exp2)}, PAIR("exp10", exp10Float, exp10Double), PAIR("rcbrt", rcbrtFloat, rcbrtDouble),
      PAIR("rhypot", rhypotFloat, rhypotDouble), PAIR("norm3d", norm3Float, norm3Double), PAIR("sinpi", sinpiFloat, sinpiDouble),
      PAIR("cospi", cospiFloat, cospiDouble), PAIR("normcdf", normcdfFloat, normcdfDouble), PAIR("sincos", sincosFloat, sincosDouble),
      PAIR("sincospi", sincospiFloat, sincospiDouble), PAIR("erfinv", erfinvFloat, erfinvDouble), PAIR("frexp", frexpFloat, frexpDouble),
      PAIR("modf", modfFloat, modfDouble), PAIR("remquo", remquoFloat, remquoDouble), PAIR("powi", powiFloat, powiDouble),
      PAIR("ilogb", ilogbFloat, ilogbDouble), {"__nv_fast_sincosf", address(sincosFloat)},
      {"__nv_fast_tanf", address<float(float)>(std::tan)}, {"__nv_fast_tanhf", address<float(float)>(std::tanh)},
      {"__nv_ldexpf", address<float(float, int)>(std::ldexp)}, {"__nv_ldexp", address<double(double, int)>(std::ldexp)},
      {"__nv_scalbnf", address<float(float, int)>(std::scalbn)}, {"__nv_scalbn", address<double(double, int)>(std::scalbn)},
      {"__nv_lrintf", address(toNearest<int64_t, float>)}, {"__nv_llrintf", address(toNearest<int64_t, float>)},
      {"__nv_llrint", address(toNearest<int64_t, double>)}, {"__nv_lroundf", address<long(float)>(std::lround)},
      {"__nv_llroundf", address<long long(float)>(std::llround)}, {"__nv_llround", address<long long(double)>(std::llround)},
      {"__nv_hadd", address(hadd)}, {"__nv_uhadd", address(uhadd)}, {"__nv_rhadd", address(rhadd)}, {"__nv_urhadd", address(urhadd)},
      {"__nv_sad", address(sad)}, {"__nv_usad", address(usad)}, {"__nv_mul24", address(mul24)}, {"__nv_umul24", address(umul24)},
      {"__nv_hiloint2double", address(hilo)}, {"__nv_double2hiint", address(doubleHigh)}, {"__nv_double2loint", address(doubleLow)},
      TO_INTEGER("float", float), TO_INTEGER("double", double),
      {"__nv_int2float_rn", address(exact<float, int>)}, {"__nv_uint2float_rn", address(exact<float, unsigned>)},
      {"__nv_ll2float_rn", address(exact<float, int64_t>)}, {"__nv_ull2float_rn", address(exact<float, uint64_t>)},
      {"__nv_int2double_rn", address(exact<double, int>)}, {"__nv_uint2double_rn", address(exact<double, unsigned>)},
      {"__nv_ll2double_rn", address(exact<double, int64_t>)}, {"__nv_ull2double_rn", address(exact<double, uint64_t>)},
      {"__nv_double2float_rn", address(exact<float, double>)},
      DIRECTED("rz", FE_TOWARDZERO), DIRECTED("ru", FE_UPWARD), DIRECTED("rd", FE_DOWNWARD),
  };
  return symbols;
}

} // namespace

const std::vector<NativeSymbol> &libdeviceSymbols() { return table(); }

} // namespace klineage::emulated
