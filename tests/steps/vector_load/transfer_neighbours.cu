// Four neighbours a turn, two in one statement and two in the next; the last index is written in another order.
#include <cuda_runtime.h>

__global__ void unrolledByHand(const float *x, float *y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float *line = x + r * columns;
  float even = 0.0f, odd = 0.0f;
  int k = 0;
  for (int q = 0; q < columns / 4; ++q) {
    float a = line[4 * q] * line[4 * q] + line[4 * q + 2] * line[4 * q + 2];
    odd += line[q * 4 + 1] * line[4 * q + 1];
    even += a;
    odd += line[3 + 4 * q] * line[3 + 4 * q];
  }
  for (k = columns / 4 * 4; k < columns; k += 1) even += line[k] * line[k];
  y[r] = even + odd;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) unrolledByHand<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
