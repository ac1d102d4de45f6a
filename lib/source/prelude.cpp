#include "source/front_end.h"

namespace klineage {

// Measured against CUDA 13.0 and Clang 22.1: each of these is accepted by nvcc and unknown to Clang's wrapper headers.
// Unknown names outside this list stay diagnostics with their place, so a wrong guess cannot hide here.
const char *const preludeText = R"prelude(
#pragma once
#if defined(__CUDA__)
#include <math.h>
#include <stdlib.h>
using std::max;
using std::min;
#endif
)prelude";

} // namespace klineage
