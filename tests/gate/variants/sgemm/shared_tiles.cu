// gate: accepted
//
// Tiles of both operands in shared memory, square or deep; the sum over k split in halves that are added at the end, or not.
#include <cuda_runtime.h>
// vary: TILE=8,16,32 DEEP=4,8 SPLIT=0,1

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float tileA[TILE][DEEP + 1];
  __shared__ float tileB[DEEP][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int col = blockIdx.x * TILE + threadIdx.x;
  float even = 0.0f, odd = 0.0f;
  for (int k0 = 0; k0 < k; k0 += DEEP) {
    if (threadIdx.x < DEEP) tileA[threadIdx.y][threadIdx.x] = row < m && k0 + threadIdx.x < k ? a[row * k + k0 + threadIdx.x] : 0.0f;
    if (threadIdx.y < DEEP) tileB[threadIdx.y][threadIdx.x] = k0 + threadIdx.y < k && col < n ? b[(k0 + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < DEEP; ++i) {
      const float term = tileA[threadIdx.y][i] * tileB[i][threadIdx.x];
      if (SPLIT && i % 2) odd += term;
      else even += term;
    }
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = even + odd;
}

extern "C" void sgemm(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  product<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE), 0, stream>>>(a, b, c, m, n, k);
}
