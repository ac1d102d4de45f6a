// C = A * B through two pairs of shared tiles: the next pair is on its way while the block multiplies this one.
#include <cuda_runtime.h>

constexpr int kTile = 16;

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float tileA[2][kTile][kTile];
  __shared__ float tileB[2][kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  float nextA = row < m && threadIdx.x < k ? a[row * k + threadIdx.x] : 0.0f;
  float nextB = threadIdx.y < k && col < n ? b[threadIdx.y * n + col] : 0.0f;
  tileA[0][threadIdx.y][threadIdx.x] = nextA;
  tileB[0][threadIdx.y][threadIdx.x] = nextB;
  __syncthreads();
  for (int k0 = 0; k0 < k; k0 += kTile) {
    const int now = k0 / kTile % 2;
    if (k0 + kTile < k) {
      const int k1 = k0 + kTile;
      nextA = row < m && k1 + threadIdx.x < k ? a[row * k + k1 + threadIdx.x] : 0.0f;
      nextB = k1 + threadIdx.y < k && col < n ? b[(k1 + threadIdx.y) * n + col] : 0.0f;
    }
    for (int i = 0; i < kTile; ++i) sum += tileA[now][threadIdx.y][i] * tileB[now][i][threadIdx.x];
    if (k0 + kTile < k) {
      tileA[1 - now][threadIdx.y][threadIdx.x] = nextA;
      tileB[1 - now][threadIdx.y][threadIdx.x] = nextB;
      __syncthreads();
    }
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  const dim3 block(kTile, kTile);
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  product<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}
