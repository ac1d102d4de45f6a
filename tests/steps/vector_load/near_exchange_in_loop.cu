// The lanes of a warp exchange what they read in each round: rounds of four would leave lanes behind. And a row whose start moves in the loop.
#include <cuda_runtime.h>

__device__ float withNeighbour(float value) { return value + __shfl_xor_sync(0xffffffffu, value, 1); }

__global__ void pairs(const float *x, float *y, int rows, int columns) {
  const float *row = x + (size_t)blockIdx.x * columns;
  float sum = 0.0f, far = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += withNeighbour(row[i]);
  int shift = 0;
  for (int i = 0; i < columns - 4; ++i) {
    far += x[shift + i];
    shift = (shift + 3) % 4;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sum + far;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) pairs<<<rows, 32, 0, stream>>>(x, y, rows, columns);
}
