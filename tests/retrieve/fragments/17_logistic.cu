// step: fast_math
  const int64_t tok = blockIdx.x;
  for (int64_t c = threadIdx.x; c < d; c += blockDim.x) {
    const float g = (float)gate[tok * 2 * d + c];
    out[tok * d + c] = (T)(g / (1.0f + expf(-g)) * (float)gate[tok * 2 * d + d + c]);
  }
