#include <cmath>

extern "C" void reference(const double *x, double *y, long long rows, long long columns) {
  for (long long r = 0; r < rows; ++r) {
    double sum = 0;
    for (long long c = 0; c < columns; ++c) sum += std::fabs(x[r * columns + c]);
    for (long long c = 0; c < columns; ++c) y[r * columns + c] = x[r * columns + c] / sum;
  }
}
