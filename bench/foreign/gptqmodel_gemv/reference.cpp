#include <cstddef>
#include <cstdint>

extern "C" void reference(const double *input, const double *weight, const double *zeros, const double *scales, double *output, int batch, int inputs, int outputs) {
  for (int b = 0; b < batch; ++b)
    for (std::size_t o = 0; o < std::size_t(outputs); ++o) {
      double sum = 0.0;
      for (int i = 0; i < inputs; ++i) {
        const int group = i / 128;
        const int value = std::uint32_t(weight[o * (inputs / 8) + i / 8]) >> (i % 8 * 4) & 15;
        const int zero = std::uint32_t(zeros[o * (inputs / 1024) + group / 8]) >> (group % 8 * 4) & 15;
        sum += scales[o * (inputs / 128) + group] * (value - zero) * input[std::size_t(b) * inputs + i];
      }
      output[b * outputs + o] = sum;
    }
}
