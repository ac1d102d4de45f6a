#include "source/front_end.h"

namespace klineage {

// The cache-hinted loads and stores are templates here: where the headers have an overload of their own it is the better match. The hint itself
// is lost to the emulator, which has no use for it; nvcc sees the user's own text. Measured against CUDA 13.0 and Clang 22.1: each of these is accepted by nvcc and unknown to Clang's wrapper headers.
// Unknown names outside this list stay diagnostics with their place, so a wrong guess cannot hide here.
const char *const preludeText = R"prelude(
#pragma once
#if defined(__CUDA__)
#include <math.h>
#include <stdlib.h>
using std::max;
using std::min;
using std::isfinite;
#define KLINEAGE_LOAD(name) template <typename T> __device__ inline T name(const T *place) { return *place; }
#define KLINEAGE_STORE(name) template <typename T> __device__ inline void name(T *place, T value) { *place = value; }
KLINEAGE_LOAD(__ldca) KLINEAGE_LOAD(__ldcg) KLINEAGE_LOAD(__ldcs) KLINEAGE_LOAD(__ldcv) KLINEAGE_LOAD(__ldlu)
KLINEAGE_STORE(__stcg) KLINEAGE_STORE(__stcs) KLINEAGE_STORE(__stwb) KLINEAGE_STORE(__stwt)
#undef KLINEAGE_LOAD
#undef KLINEAGE_STORE
#endif
)prelude";

} // namespace klineage
