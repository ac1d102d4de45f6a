#include <cmath>
#include <cstddef>

extern "C" void reference(const double *values, double *result, int length) {
  double best = 0.0;
  for (std::size_t i = 0; i < std::size_t(length); ++i) best = std::fmax(best, 2.0 * std::fabs(values[i]));
  result[0] = best;
}
