// y[r][i] = exp(x[r][i] - max of row) / sum over the row. A row of nothing but -inf has no softmax: all of it is NaN.
#include <cmath>
#include <limits>

extern "C" void reference(const double *x, double *y, long long rows, long long columns) {
  for (long long r = 0; r < rows; ++r) {
    const double *in = x + r * columns;
    double *out = y + r * columns;
    double largest = -std::numeric_limits<double>::infinity();
    for (long long i = 0; i < columns; ++i) largest = std::fmax(largest, in[i]);
    double sum = 0;
    for (long long i = 0; i < columns; ++i) sum += std::exp(in[i] - largest);
    for (long long i = 0; i < columns; ++i) out[i] = std::exp(in[i] - largest) / sum;
  }
}
