extern "C" void reference(const double *x, double *y, long long n) {
  for (long long i = 0; i < n; ++i) {
    y[4 * i] = x[i];
    y[4 * i + 1] = x[i] * x[i];
    y[4 * i + 2] = x[i] * x[i] * x[i];
    y[4 * i + 3] = 1;
  }
}
