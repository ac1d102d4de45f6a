// direction: simplify
// What is stored is read from where it is stored: all four values are there before the first is written.
#include <cuda_runtime.h>

__global__ void reversed(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float power = 1.0f;
  for (int k = 3; k >= 0; --k) {
    y[4 * i + (k + 3) % 4] = power;
    power *= x[i];
  }
  *reinterpret_cast<float4 *>(&y[4 * i]) = make_float4(y[4 * i + 1], y[4 * i], y[4 * i + 3], y[4 * i + 2]);
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) reversed<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
