#include <cstddef>

extern "C" void reference(const double *a, const double *b, double *result, int count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < std::size_t(count); ++i) sum += a[i] * b[i];
  result[0] = sum;
}
