#include <cstddef>

extern "C" void reference(double *x, const double *sine, const double *cosine, int batch, int tokens, int heads, int size, int past) {
  const int half = size / 2;
  for (std::size_t row = 0; row < std::size_t(batch) * tokens * heads; ++row) {
    const std::size_t position = past + row / heads % tokens;
    for (int i = 0; i < half; ++i) {
      const double left = x[row * size + i], right = x[row * size + half + i];
      x[row * size + i] = left * cosine[position * size + i] - right * sine[position * size + i];
      x[row * size + half + i] = right * cosine[position * size + half + i] + left * sine[position * size + half + i];
    }
  }
}
