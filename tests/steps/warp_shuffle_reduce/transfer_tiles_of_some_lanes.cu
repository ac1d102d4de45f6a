// direction: simplify
// Tiles of eight lanes; the last warp's upper half has left, so that a tile may wait for its own lanes only.
#include <cuda_runtime.h>

__global__ void eighths(const float *x, float *y, int rows, int columns) {
  if (threadIdx.x >= 48) return;
  const int row = blockIdx.x * 6 + threadIdx.x / 8, lane = threadIdx.x % 8;
  const unsigned tile = 0xffu << (threadIdx.x % 32 / 8 * 8);
  float sum = 0.0f;
  for (int i = lane; i < columns && row < rows; i += 8) sum += fabsf(x[(size_t)row * columns + i]);
  for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_down_sync(tile, sum, offset, 8);
  sum = __shfl_sync(tile, sum, 0, 8);
  for (int i = lane; i < columns && row < rows; i += 8) y[(size_t)row * columns + i] = x[(size_t)row * columns + i] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  eighths<<<(rows + 5) / 6, 64, 0, stream>>>(x, y, rows, columns);
}
