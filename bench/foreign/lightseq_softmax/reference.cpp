#include <algorithm>
#include <cmath>
#include <cstddef>

extern "C" void reference(double *scores, const double *mask, int batch, int heads, int from, int to) {
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int f = 0; f < from; ++f) {
        double *x = scores + ((std::size_t(b) * heads + h) * from + f) * to;
        double most = -1e8, sum = 0.0;
        for (int i = 0; i < to; ++i) most = std::max(most, x[i] += mask[std::size_t(b) * to + i]);
        for (int i = 0; i < to; ++i) sum += x[i] = std::exp(x[i] - most);
        for (int i = 0; i < to; ++i) x[i] /= sum + 1e-8;
      }
}
