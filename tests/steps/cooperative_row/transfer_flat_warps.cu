// direction: simplify
// A warp a row in blocks of one dimension; lane and row are computed from the linear index.
#include <cuda_runtime.h>

constexpr int kWarpsPerBlock = 4;

__global__ void flat(const float *x, float *y, int rows, int columns) {
  __shared__ float slots[32 * kWarpsPerBlock];
  const int lane = threadIdx.x & 31;
  const int row = blockIdx.x * kWarpsPerBlock + (threadIdx.x >> 5);
  if (row >= rows) return;
  const float *in = x + (size_t)row * columns;
  float a = 0.0f;
  for (int j = lane; j < columns; j += 32) a += fabsf(in[j]);
  slots[threadIdx.x] = a;
  __syncwarp();
  a = slots[threadIdx.x / 32 * 32];
  for (int other = 1; other < 32; ++other) a += slots[threadIdx.x / 32 * 32 + other];
  __syncwarp();
  const float inverse = 1.0f / a;
  for (int j = lane; j < columns; j += warpSize) y[(size_t)row * columns + j] = in[j] * inverse;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  flat<<<(rows + kWarpsPerBlock - 1) / kWarpsPerBlock, 32 * kWarpsPerBlock, 0, stream>>>(x, y, rows, columns);
}
