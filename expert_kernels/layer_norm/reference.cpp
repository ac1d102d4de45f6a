// y[r][i] = (x[r][i] - mean) / sqrt(variance + eps) * gamma[i] + beta[i]; the variance is the mean squared difference.
#include <cmath>

extern "C" void reference(const double *x, const double *gamma, const double *beta, double *y, long long rows, long long columns, double eps) {
  for (long long r = 0; r < rows; ++r) {
    const double *in = x + r * columns;
    double mean = 0, variance = 0;
    for (long long i = 0; i < columns; ++i) mean += in[i];
    mean /= double(columns);
    for (long long i = 0; i < columns; ++i) variance += (in[i] - mean) * (in[i] - mean);
    double scale = 1 / std::sqrt(variance / double(columns) + eps);
    for (long long i = 0; i < columns; ++i) y[r * columns + i] = (in[i] - mean) * scale * gamma[i] + beta[i];
  }
}
