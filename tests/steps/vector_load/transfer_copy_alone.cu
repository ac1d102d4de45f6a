// direction: simplify
// A copy of vectors that is the whole body of a branch.
#include <cuda_runtime.h>

__global__ void quads(const float *x, float *y, int rows, int columns) {
  __shared__ float keep[4 * 32];
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  if (r < rows && columns >= 4 && columns % 4 == 0)
    reinterpret_cast<float4 *>(keep)[threadIdx.x] = *reinterpret_cast<const float4 *>(x + (size_t)r * columns);
  __syncthreads();
  if (r >= rows) return;
  if (columns >= 4 && columns % 4 == 0) sum = keep[4 * threadIdx.x] * 0.0f;
  for (int i = 0; i < columns; ++i) sum += x[(size_t)r * columns + i] * x[(size_t)r * columns + i];
  y[r] = sum;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) quads<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
