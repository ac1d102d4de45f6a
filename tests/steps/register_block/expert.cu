// C = A * B, row-major. A thread computes 4 x 4 outputs, 16 rows and columns apart.
#include <cuda_runtime.h>

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 64 + threadIdx.y;
  const int col = blockIdx.x * 64 + threadIdx.x;
  float sum[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sum[i][j] = 0.0f;
  for (int p = 0; p < k; ++p) {
    float left[4];
    float right[4];
    for (int i = 0; i < 4; ++i) left[i] = row + i * 16 < m ? a[(row + i * 16) * k + p] : 0.0f;
    for (int j = 0; j < 4; ++j) right[j] = col + j * 16 < n ? b[p * n + col + j * 16] : 0.0f;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] += left[i] * right[j];
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (row + i * 16 < m && col + j * 16 < n) c[(row + i * 16) * n + col + j * 16] = sum[i][j];
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  dim3 block(16, 16);
  dim3 grid((n + 63) / 64, (m + 63) / 64);
  product<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}
