// gate: wrong_value
//
// Writes NaN, which compares false with every bound.
#include <cuda_runtime.h>

__global__ void softmax(const float *x, float *y, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns) y[i] = __int_as_float(0x7fc00000);
}

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  softmax<<<(rows * columns + 127) / 128, 128, 0, stream>>>(x, y, rows, columns);
}
