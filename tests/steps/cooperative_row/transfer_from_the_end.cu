// direction: simplify
// The threads take the row from its end.
#include <cuda_runtime.h>

__global__ void normalize_kernel(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = columns - 1 - threadIdx.x; i >= 0; i -= blockDim.x) sum += fabsf(x[(size_t)row * columns + i]);
  __shared__ float sumSlots[128];
  sumSlots[threadIdx.x] = sum;
  __syncthreads();
  for (int offset = 64; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) sumSlots[threadIdx.x] += sumSlots[threadIdx.x + offset];
    __syncthreads();
  }
  sum = sumSlots[0];
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[(size_t)row * columns + i] = x[(size_t)row * columns + i] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  normalize_kernel<<<rows, 128, 0, stream>>>(x, y, rows, columns);
}
