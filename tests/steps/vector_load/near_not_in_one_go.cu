// Neighbours that are not read in one go: the address moves between them, a barrier lets others write, a return may keep the rest from being read.
#include <cuda_runtime.h>

__global__ void threeWays(const float *x, float *y, int rows, int columns) {
  __shared__ float seen[64];
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int at = 0;
  float moved = x[4 * at];
  at = columns / 8;
  moved += x[4 * at + 1];

  seen[threadIdx.x % 64] = moved;
  __syncthreads();
  float others = seen[0];
  __syncthreads();
  others += seen[1];

  if (r >= rows) return;
  y[r] = others + x[r * 4];
  if (columns < 2) return;
  y[r] += x[r * 4 + 1];
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) threeWays<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
