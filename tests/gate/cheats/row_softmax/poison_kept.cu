// gate: unwritten_output
//
// Launches a kernel that writes nothing: what an earlier, right run has left in the buffer would be found there.
#include <cuda_runtime.h>

__global__ void softmax(const float *x, float *y, int rows, int columns) {
  if (columns < 0) y[0] = x[0];
}

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  softmax<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
