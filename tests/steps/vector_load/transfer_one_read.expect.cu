// direction: simplify
// A single wide read through a pointer variable, no tail: rows of four by contract of this kernel's guard.
#include <cuda_runtime.h>

__global__ void quads(const float *x, float *y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.0f;

  for (int k = 0; k < columns; ++k) sum += x[r * columns + k] * x[r * columns + k];

  y[r] = sum;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) quads<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
