// Neighbours that overlap from thread to thread, and neighbours of which two stand behind a condition of their own.
#include <cuda_runtime.h>

__global__ void smooth(const float *x, float *y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r + 3 >= rows) return;
  float wide = x[r] + x[r + 1] + x[r + 2] + x[r + 3];
  float some = x[4 * r] + (columns > 1 ? x[4 * r + 1] : 0.0f) + x[4 * r + 2] + (columns > 3 ? x[4 * r + 3] : 0.0f);
  y[r] = wide + some;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) smooth<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
