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
    for (int e = threadIdx.x; e < 128; e += 128) {
      const int r = e / 4;
      for (int c2 = e % 4 * 4; c2 < e % 4 * 4 + 4; ++c2)
        aTile[c2][r] =
            blockIdx.y * 32 + r < m && d0 + c2 < k ? a[static_cast<size_t>(blockIdx.y * 32 + r) * k + d0 + c2] : 0.f;
    }
    for (int e2 = threadIdx.x; e2 < 512; e2 += 128) {
      const int r2 = e2 / 32, c3 = e2 % 32;
      bTile[r2][c3] =
          blockIdx.x * 32 + c3 < n && d0 + r2 < k ? b[static_cast<size_t>(d0 + r2) * n + blockIdx.x * 32 + c3] : 0.f;
    }
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
