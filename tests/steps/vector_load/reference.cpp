extern "C" void reference(const double *x, double *y, long long rows, long long columns) {
  for (long long r = 0; r < rows; ++r) {
    double sum = 0;
    for (long long i = 0; i < columns; ++i) sum += x[r * columns + i] * x[r * columns + i];
    y[r] = sum;
  }
}
