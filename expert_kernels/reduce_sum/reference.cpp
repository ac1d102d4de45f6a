// total[0] = sum of x.
extern "C" void reference(const double *x, double *total, long long n) {
  double sum = 0;
  for (long long i = 0; i < n; ++i) sum += x[i];
  total[0] = sum;
}
