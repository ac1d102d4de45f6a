// The loop's counter is asked for behind the loop: with many threads each would end at another number.
#include <cuda_runtime.h>

__global__ void normalize_kernel(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  int i;
  for (i = 0; i < columns; ++i) sum += fabsf(x[(size_t)row * columns + i]);
  const float scale = float(i) / float(columns) / sum;
  for (int k = 0; k < columns; ++k) y[(size_t)row * columns + k] = x[(size_t)row * columns + k] * scale;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  normalize_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, y, rows, columns);
}
