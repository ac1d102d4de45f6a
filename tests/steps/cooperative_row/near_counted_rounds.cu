// near: simplify
// A warp a row, and each lane keeps its part of the row in registers, by rounds: taking the lanes away would take their elements along.
#include <cuda_runtime.h>

template <int Rounds> __global__ void keptRows(const float *x, float *y, int rows, int columns) {
  __shared__ float slots[4][32];
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  const float *in = x + row * columns + threadIdx.x;
  float kept[Rounds], sum = 0.0f;
  for (int k = 0; k < Rounds; ++k)
    if (threadIdx.x + 32 * k < columns) {
      kept[k] = in[32 * k];
      sum += fabsf(kept[k]);
    }
  slots[threadIdx.y][threadIdx.x] = sum;
  __syncwarp();
  sum = 0.0f;
  for (int lane = 0; lane < 32; ++lane) sum += slots[threadIdx.y][lane];
  __syncwarp();
  for (int k = 0; k < Rounds; ++k)
    if (threadIdx.x + 32 * k < columns) y[row * columns + threadIdx.x + k * 32] = kept[k] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  keptRows<16><<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, columns);
}
