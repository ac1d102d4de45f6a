// direction: simplify
// Another author's form: helpers, shuffles down, warp 0 finishes, thread 0 hands the total round through shared memory.
#include <cuda_runtime.h>

constexpr unsigned kAll = 0xffffffffu;

__device__ float everywhere(float mine) {
  float total2 = mine;
  __shared__ float total2Slots[192];
  total2Slots[threadIdx.x] = total2;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int other = 1; other < 192; ++other) total2Slots[0] += total2Slots[other];
  }
  __syncthreads();
  total2 = total2Slots[0];
  __syncthreads();
  return total2;
}

__global__ void __launch_bounds__(192) scale(const float *x, float *y, int columns) {
  const size_t start = (size_t)columns * blockIdx.x;
  float part = 0.f;
  for (int c = threadIdx.x; c < columns; c += 192) part += fabsf(x[start + c]);
  const float factor = 1.f / everywhere(part);
  for (int c = threadIdx.x; c < columns; c += 192) y[start + c] = factor * x[start + c];
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  scale<<<rows, 192, 0, stream>>>(x, y, columns);
}
