// direction: simplify
// A warp a row, eight rows a block; each lane reads the warp's slots.
#include <cuda_runtime.h>

__global__ void warpRows(const float *x, float *y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float a = 0.0f;
  for (int j = 0; j < columns; ++j) a += fabsf(x[row * columns + j]);
  float total = a;
  for (int j = 0; j < columns; ++j) y[row * columns + j] = x[row * columns + j] / total;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  warpRows<<<(rows + 7) / 8, 8, 0, stream>>>(x, y, rows, columns);
}
