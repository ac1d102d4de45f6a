// C[i][j] = sum over p of A[i][p] * B[p][j].
extern "C" void reference(const double *a, const double *b, double *c, long long m, long long n, long long k) {
  for (long long i = 0; i < m; ++i)
    for (long long p = 0; p < k; ++p)
      for (long long j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
}
