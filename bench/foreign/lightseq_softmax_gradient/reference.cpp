#include <cstddef>

extern "C" void reference(double *gradient, const double *output, int rows, int length) {
  for (int row = 0; row < rows; ++row) {
    double *g = gradient + std::size_t(row) * length;
    const double *y = output + std::size_t(row) * length;
    double sum = 0.0;
    for (int i = 0; i < length; ++i) sum += g[i] * y[i];
    for (int i = 0; i < length; ++i) g[i] = y[i] * (g[i] - sum);
  }
}
