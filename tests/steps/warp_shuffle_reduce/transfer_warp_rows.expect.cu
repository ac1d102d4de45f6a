// direction: simplify
// A warp a row, eight rows a block; the butterfly is written out by hand.
#include <cuda_runtime.h>

__global__ void warpRows(const float *x, float *y, int rows, int columns) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float a = 0.0f;
  for (int j = threadIdx.x; j < columns; j += 32) a += fabsf(x[row * columns + j]);
  __shared__ float aSlots[256];
  const int aSlotsThread = threadIdx.y * blockDim.x + threadIdx.x;
  aSlots[aSlotsThread] = a;
  __syncwarp();
  a = aSlots[aSlotsThread / 32 * 32];
  for (int other = 1; other < 32; ++other) a += aSlots[aSlotsThread / 32 * 32 + other];
  __syncwarp();
  for (int j = threadIdx.x; j < columns; j += 32) y[row * columns + j] = x[row * columns + j] / a;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  warpRows<<<(rows + 7) / 8, dim3(32, 8), 0, stream>>>(x, y, rows, columns);
}
