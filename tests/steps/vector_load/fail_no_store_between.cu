// waived: wrong_value
// The row is written while it is read, one element ahead: a wide read would see the old values.
#include <cuda_runtime.h>

__global__ void running(float *x, float *y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float *row = x + (size_t)r * columns;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) {
    sum += row[i] * row[i];
    if (i + 1 < columns) row[i + 1] = 0.0f;
  }
  y[r] = sum;
}

extern "C" void lengths(float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) running<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, columns);
}
