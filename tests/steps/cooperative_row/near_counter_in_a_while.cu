// A while loop steps by a number that nothing says to be the number of threads.
#include <cuda_runtime.h>

__global__ void normalize_kernel(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  int i = threadIdx.x;
  while (i < columns) { sum += fabsf(x[(size_t)row * columns + i]); i += 128; }
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
