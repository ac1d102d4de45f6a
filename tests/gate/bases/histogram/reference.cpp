extern "C" void reference(const double *x, double *bins, long long n) {
  for (int b = 0; b < 64; ++b) bins[b] = 0;
  for (long long i = 0; i < n; ++i) bins[(int)x[i]] += 1;
}
