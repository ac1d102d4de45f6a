// The loop walks down a column: neighbours in the loop are no neighbours in memory.
#include <cuda_runtime.h>

__global__ void columnWise(const float *x, float *y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) sum += x[r + i * rows] * x[r + i * rows];
  y[r] = sum;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) columnWise<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, columns);
}
