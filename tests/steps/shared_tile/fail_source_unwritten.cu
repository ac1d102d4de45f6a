// waived: race
// x is rewritten in every round, so a copy of it made before the barrier is a copy of the round before.
#include <cuda_runtime.h>

__global__ void settle(const float *a, float *x, int rounds) {
  const int own = threadIdx.x * 16 + threadIdx.y;
  float sum = a[own];
  for (int t = 0; t < rounds; t += 16) {
    x[own] = 0.5f * sum;
    __syncthreads();
    sum = a[own];
    for (int i = 0; i < 16; ++i) sum += 0.0625f * x[threadIdx.y * 16 + i];
    __syncthreads();
  }
  x[own] = sum;
}

extern "C" void launch(const float *a, float *x, int rounds, cudaStream_t stream) {
  settle<<<1, dim3(16, 16), 0, stream>>>(a, x, rounds);
}
