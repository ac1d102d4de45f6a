// A fixed loop unrolled whole, and a strided one unrolled by four.
#include <cuda_runtime.h>

__global__ void horner(const float *x, float *y, int n) {
  const int stride = gridDim.x * blockDim.x;

  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    float value = x[i], sum = 0.0f;

    for (int k = 0; k < 8; ++k) sum = sum * value + 1.0f / (k + 1);
    y[i] = sum;
  }
}

extern "C" void polynomial(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) horner<<<4, 128, 0, stream>>>(x, y, n);
}
