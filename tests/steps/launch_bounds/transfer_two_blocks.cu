// One text launched with blocks of two sizes: the bound holds for the larger.
#include <cuda_runtime.h>

template <int Threads> __global__ void evaluate(const float *in, float *out, int count) {
  const int at = Threads * blockIdx.x + threadIdx.x;
  if (at < count) {
    float acc = 0.0f;
    for (int k = 0; k < 8; ++k) acc = in[at] * acc + 1.0f / (1 + k);
    out[at] = acc;
  }
}

extern "C" void polynomial(const float *x, float *y, int n, cudaStream_t stream) {
  if (n < 1000) {
    evaluate<128><<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  } else {
    evaluate<512><<<(n + 511) / 512, 512, 0, stream>>>(x, y, n);
  }
}
