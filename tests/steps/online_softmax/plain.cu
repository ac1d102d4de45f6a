// y = softmax(x) along each row, one thread a row; the maximum first, then the sum.
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float top = -INFINITY;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) {
    top = fmaxf(top, x[(size_t)row * columns + i]);
  }
  for (int i = 0; i < columns; ++i) {
    sum += expf(x[(size_t)row * columns + i] - top);
  }

  for (int i = 0; i < columns; ++i) y[(size_t)row * columns + i] = expf(x[(size_t)row * columns + i] - top) / sum;
}

extern "C" void softmax_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  softmax_kernel<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, columns);
}
