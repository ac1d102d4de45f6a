// direction: simplify
// A warp a row, eight rows a block; each lane reads the warp's slots.
#include <cuda_runtime.h>

__global__ void warpRows(const float *x, float *y, int rows, int columns) {
  __shared__ float slots[8][32];
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float a = 0.0f;
  for (int j = threadIdx.x; j < columns; j += 32) a += fabsf(x[row * columns + j]);
  slots[threadIdx.y][threadIdx.x] = a;
  __syncwarp();
  float total = 0.0f;
  for (int l = 0; l < 32; ++l) total += slots[threadIdx.y][l];
  __syncwarp();
  for (int j = threadIdx.x; j < columns; j += 32) y[row * columns + j] = x[row * columns + j] / total;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  warpRows<<<(rows + 7) / 8, dim3(32, 8), 0, stream>>>(x, y, rows, columns);
}
