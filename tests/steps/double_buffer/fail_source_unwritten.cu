// waived: wrong_value
// Each turn reads what the turn before it wrote, so nothing can be fetched a turn ahead.
#include <cuda_runtime.h>

__global__ void settle(const float *a, float *x, int rounds) {
  __shared__ float tile[16][16];
  x[threadIdx.y * 16 + threadIdx.x] = a[threadIdx.y * 16 + threadIdx.x];
  for (int t = 0; t < rounds; t += 1) {
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 16 + threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 16; ++i) sum += 0.0625f * tile[threadIdx.y][i];
    x[threadIdx.y * 16 + threadIdx.x] = 0.5f * sum + a[threadIdx.y * 16 + threadIdx.x];
    __syncthreads();
  }
}

extern "C" void launch(const float *a, float *x, int rounds, cudaStream_t stream) {
  settle<<<1, dim3(16, 16), 0, stream>>>(a, x, rounds);
}
