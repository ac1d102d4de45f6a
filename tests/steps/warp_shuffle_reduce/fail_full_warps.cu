// waived: out_of_bounds
// 48 threads: the second warp is half empty, so a shuffle of the full warp reads lanes that do not exist.
#include <cuda_runtime.h>

__global__ void halfWarp(const float *x, float *y, int columns) {
  __shared__ float slots[48];
  const float *in = x + (size_t)blockIdx.x * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 48) sum += fabsf(in[i]);
  slots[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int t = 1; t < 48; ++t) slots[0] += slots[t];
  __syncthreads();
  float total = slots[0];
  for (int i = threadIdx.x; i < columns; i += 48) y[(size_t)blockIdx.x * columns + i] = in[i] / total;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  halfWarp<<<rows, 48, 0, stream>>>(x, y, columns);
}
