extern "C" void reference(const double *x, double *y, long long rows, long long columns) {
  for (long long r = 0; r < rows; ++r)
    for (long long t = 0; t < 128; ++t) {
      double sum = 0;
      for (long long c = 0; 128 * c < columns; ++c) {
        long long at = 128 * c + 127 - t;
        if (at < columns) sum += (c + 1) * x[r * columns + at];
      }
      y[r * 128 + t] = sum;
    }
}
