// Somebody forbade the unrolling, and the other loop is no counted one.
#include <cuda_runtime.h>

__global__ void horner(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) {
    float value = x[i], sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 8; ++k) sum = sum * value + 1.0f / (k + 1);
    y[i] = sum;
    i += gridDim.x * blockDim.x;
  }
}

extern "C" void polynomial(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) horner<<<2, 128, 0, stream>>>(x, y, n);
}
