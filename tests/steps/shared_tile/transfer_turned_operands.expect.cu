// C = A * B^T with an early return: both operands run along the reduction, one of them down the columns of the block.
#include <cuda_runtime.h>

__global__ void similarity(const float *a, const float *b, float *c, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  const float *left = a + row * k;
  float dot = 0.0f;
  __shared__ float aTile[8][16];
  __shared__ float bTile[16][32];
  for (int i0 = 0; i0 < k; i0 += 16) {
    for (int c2 = threadIdx.x; c2 < 16; c2 += 32)
      aTile[threadIdx.y][c2] = row < m && i0 + c2 < k ? a[row * k + i0 + c2] : 0.f;
    for (int r = threadIdx.y; r < 32; r += 8)
      for (int c3 = threadIdx.x; c3 < 16; c3 += 32)
        bTile[c3][r] =
            blockDim.x * blockIdx.x + r < n && i0 + c3 < k ? b[(blockDim.x * blockIdx.x + r) * k + i0 + c3] : 0.f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) dot += aTile[threadIdx.y][i] * bTile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) {

    c[row * n + col] = dot;
  }
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  dim3 block(32, 8);
  dim3 grid((n + 31) / 32, (m + 7) / 8);
  similarity<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}
