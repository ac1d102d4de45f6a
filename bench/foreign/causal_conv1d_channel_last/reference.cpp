#include <cmath>
#include <cstddef>

extern "C" void reference(const double *x, const double *weight, const double *bias, double *output, int batch, int length, int channels) {
  for (std::size_t b = 0; b < std::size_t(batch); ++b)
    for (int l = 0; l < length; ++l)
      for (int c = 0; c < channels; ++c) {
        double sum = bias[c];
        for (int tap = 0; tap < 4; ++tap)
          if (l + tap >= 3) sum += weight[c * 4 + tap] * x[(b * length + l + tap - 3) * channels + c];
        output[(b * length + l) * channels + c] = sum / (1.0 + std::exp(-sum));
      }
}
