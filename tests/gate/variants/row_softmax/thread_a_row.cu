// gate: accepted
//
// One thread a row, from either end.
#include <cuda_runtime.h>
// vary: THREADS=32,96,256 BACKWARD=0,1

__global__ void softmax(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * THREADS + threadIdx.x;
  if (row >= rows) return;
  const float *in = x + static_cast<size_t>(row) * columns;
  float *out = y + static_cast<size_t>(row) * columns;
  float most = -3.402823466e38f, sum = 0.0f;
  for (int i = 0; i < columns; ++i) most = fmaxf(most, in[i]);
#if BACKWARD
  for (int i = columns - 1; i >= 0; --i) sum += expf(in[i] - most);
#else
  for (int i = 0; i < columns; ++i) sum += expf(in[i] - most);
#endif
  const float scale = 1.0f / sum;
  for (int i = 0; i < columns; ++i) out[i] = expf(in[i] - most) * scale;
}

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  softmax<<<(rows + THREADS - 1) / THREADS, THREADS, 0, stream>>>(x, y, rows, columns);
}
