// y = softmax(x) along each row, one thread a row; maximum and sum in one pass.
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float top = -INFINITY;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) {
    const float element = x[(size_t)row * columns + i];
    const float next = fmaxf(top, element);
    sum = sum * (top == next ? 1.0f : expf(top - next)) + (element == next ? 1.0f : expf(element - next));
    top = next;
  }
  for (int i = 0; i < columns; ++i) y[(size_t)row * columns + i] = expf(x[(size_t)row * columns + i] - top) / sum;
}

extern "C" void softmax_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  softmax_kernel<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, columns);
}
