// gate: wrong_value
//
// Writes the mean of every row, which is known without reading it.
#include <cuda_runtime.h>

__global__ void softmax(const float *x, float *y, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns) y[i] = 1.0f / columns;
}

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  softmax<<<(rows * columns + 127) / 128, 128, 0, stream>>>(x, y, rows, columns);
}
