// direction: simplify
// The threads take the row from its end.
#include <cuda_runtime.h>

__global__ void normalize_kernel(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = columns - 1; i >= 0; i -= 1) sum += fabsf(x[(size_t)row * columns + i]);
  for (int i = 0; i < columns; ++i) y[(size_t)row * columns + i] = x[(size_t)row * columns + i] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  normalize_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, y, rows, columns);
}
