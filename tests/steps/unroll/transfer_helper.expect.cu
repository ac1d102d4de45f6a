// The loop stands in a helper, its bound is inclusive.
#include <cuda_runtime.h>

__device__ float series(float value) {
  float sum = 0.0f;

#pragma unroll
  for (int k = 0; k <= 7; k++) {
    sum = sum * value + 1.0f / (k + 1);
  }
  return sum;
}

__global__ void each(const float *in, float *out, int count) {
  unsigned at = blockDim.x * blockIdx.x + threadIdx.x;
  if (at < count) out[at] = series(in[at]);
}

extern "C" void polynomial(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) each<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
