// C = A * B, row-major, any sizes: a block of 16 x 16 threads keeps a tile of each operand in shared memory.
#include <cuda_runtime.h>

constexpr int kTile = 16;

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  const dim3 block(kTile, kTile);
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  product<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}

