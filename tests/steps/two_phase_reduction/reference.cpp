#include <cstddef>

extern "C" void reference(const double *x, double *out, int n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < std::size_t(n); ++i) sum += x[i];
  out[0] = sum;
}
