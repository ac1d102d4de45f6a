#include <cmath>

// In float, as the number that a value is rounded to is defined in float; the mask keeps what it held, and adds the bit of the bound that a value reaches.
extern "C" void reference(double *quantized, double *mask, double *alpha, const double *input, const double *clip, int numel) {
  const float bound = float(clip[0]);
  const float scale = bound / 127.0f;
  for (int i = 0; i < numel; ++i) {
    const float value = float(input[i]);
    int bits = int(mask[i]);
    if (value >= bound) bits |= 4;
    else if (value <= -bound) bits |= 8;
    mask[i] = bits;
    const float rounded = std::floor(value / scale + 0.5f);
    quantized[i] = rounded > 127.0f ? 127.0f : rounded < -127.0f ? -127.0f : rounded;
  }
  alpha[0] = bound * float(clip[1]) / (float(clip[2]) * 127.0f);
}
