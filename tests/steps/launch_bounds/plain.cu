// Each thread keeps eight running products in registers.
#include <cuda_runtime.h>

constexpr int kBlock = 128;

__global__ void horner(const float *__restrict__ x, float *__restrict__ y, int n) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= n) return;
  float value = x[i], sum = 0.0f;
  for (int k = 0; k < 8; ++k) sum = sum * value + 1.0f / (k + 1);
  y[i] = sum;
}

extern "C" void polynomial(const float *x, float *y, int n, cudaStream_t stream) {
  if (n == 0) return;
  horner<<<(n + kBlock - 1) / kBlock, kBlock, 0, stream>>>(x, y, n);
}
