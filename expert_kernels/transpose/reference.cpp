// out[c][r] = in[r][c].
extern "C" void reference(const double *in, double *out, long long rows, long long columns) {
  for (long long r = 0; r < rows; ++r)
    for (long long c = 0; c < columns; ++c) out[c * rows + r] = in[r * columns + c];
}
