// direction: materialize
// Four rows and two columns a thread, held in registers: the block reads a rectangle of each operand, each element many times.
#include <cuda_runtime.h>

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int lane = threadIdx.x % 16;
  const int line = threadIdx.x / 16;
  const int top = blockIdx.y * 32 + line * 4;
  const int left = blockIdx.x * 32 + lane;
  float sum[4][2] = {};
  __shared__ float aTile[16][32];
  __shared__ float bTile[16][32];
  for (int d0 = 0; d0 < k; d0 += 16) {
    const int r = threadIdx.x / 4, c2 = threadIdx.x % 4 * 4;
    const float aPart0 =
        blockIdx.y * 32 + r < m && d0 + c2 < k ? a[static_cast<size_t>(blockIdx.y * 32 + r) * k + d0 + c2] : 0.f;
    const float aPart1 = blockIdx.y * 32 + r < m && d0 + c2 + 1 < k
                             ? a[static_cast<size_t>(blockIdx.y * 32 + r) * k + d0 + c2 + 1]
                             : 0.f;
    const float aPart2 = blockIdx.y * 32 + r < m && d0 + c2 + 2 < k
                             ? a[static_cast<size_t>(blockIdx.y * 32 + r) * k + d0 + c2 + 2]
                             : 0.f;
    const float aPart3 = blockIdx.y * 32 + r < m && d0 + c2 + 3 < k
                             ? a[static_cast<size_t>(blockIdx.y * 32 + r) * k + d0 + c2 + 3]
                             : 0.f;
    aTile[c2][r] = aPart0;
    aTile[c2 + 1][r] = aPart1;
    aTile[c2 + 2][r] = aPart2;
    aTile[c2 + 3][r] = aPart3;
    const int r2 = threadIdx.x / 32, c3 = threadIdx.x % 32;
    const float bPart0 =
        blockIdx.x * 32 + c3 < n && d0 + r2 < k ? b[static_cast<size_t>(d0 + r2) * n + blockIdx.x * 32 + c3] : 0.f;
    const float bPart1 = blockIdx.x * 32 + c3 < n && d0 + r2 + 4 < k
                             ? b[static_cast<size_t>(d0 + r2 + 4) * n + blockIdx.x * 32 + c3]
                             : 0.f;
    const float bPart2 = blockIdx.x * 32 + c3 < n && d0 + r2 + 8 < k
                             ? b[static_cast<size_t>(d0 + r2 + 8) * n + blockIdx.x * 32 + c3]
                             : 0.f;
    const float bPart3 = blockIdx.x * 32 + c3 < n && d0 + r2 + 12 < k
                             ? b[static_cast<size_t>(d0 + r2 + 12) * n + blockIdx.x * 32 + c3]
                             : 0.f;
    bTile[r2][c3] = bPart0;
    bTile[r2 + 4][c3] = bPart1;
    bTile[r2 + 8][c3] = bPart2;
    bTile[r2 + 12][c3] = bPart3;
    __syncthreads();
    for (int d = 0; d < 16; ++d) {
      float column[4];
      float row[2];
      column[0] = aTile[d][line * 4];
      column[1] = aTile[d][line * 4 + 1];
      column[2] = aTile[d][line * 4 + 2];
      column[3] = aTile[d][line * 4 + 3];
      row[0] = bTile[d][lane];
      row[1] = bTile[d][lane + 16];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) sum[i][j] += column[i] * row[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      if (top + i < m && left + 16 * j < n) c[static_cast<size_t>(top + i) * n + left + 16 * j] = sum[i][j];
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  product<<<dim3((n + 31) / 32, (m + 31) / 32), 128, 0, stream>>>(a, b, c, m, n, k);
}
