#include <cstddef>

extern "C" void reference(double *output, const double *input, int batch, int tokens, int heads, int size) {
  for (std::size_t b = 0; b < std::size_t(batch); ++b)
    for (int t = 0; t < tokens; ++t)
      for (int h = 0; h < heads; ++h)
        for (int i = 0; i < size; ++i) output[((b * heads + h) * tokens + t) * size + i] = input[((b * tokens + t) * heads + h) * size + i];
}
