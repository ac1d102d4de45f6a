extern "C" void reference(const double *x, double *y, long long n) {
  for (long long i = 0; i < n; ++i) {
    double sum = 0;
    for (int k = 0; k < 8; ++k) sum = sum * x[i] + 1.0 / (k + 1);
    y[i] = sum;
  }
}
