// direction: simplify
// C = A * B; 8 x 4 outputs a thread in groups of four, which a helper stores. Four threads in a row, 8 rows of them.
#include <cuda_runtime.h>

namespace {

__device__ __forceinline__ void put4(float *__restrict__ to, float4 v, int r, int s, int rows, int columns) {
  if (r < rows) {
    float *at = to + static_cast<size_t>(r) * columns + s;
    if (s + 0 < columns) at[0] = v.x;
    if (s + 1 < columns) at[1] = v.y;
    if (s + 2 < columns) at[2] = v.z;
    if (s + 3 < columns) at[3] = v.w;
  }
}

__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n, int k) {
  const int tx = threadIdx.x % 4, ty = threadIdx.x / 4;
  const int row0 = blockIdx.y * 64 + ty * 4, col0 = blockIdx.x * 16 + tx * 4;
  float acc[8][4];
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) acc[i][j] = 0.0f;
  for (int kk = 0; kk < k; ++kk) {
    float left[8], right[4];
    for (int i = 0; i < 8; ++i) {
      const int row = row0 + (i / 4) * 32 + i % 4;
      left[i] = row < m ? a[static_cast<size_t>(row) * k + kk] : 0.0f;
    }
    right[0] = col0 < n ? b[static_cast<size_t>(kk) * n + col0] : 0.0f;
    right[1] = col0 + 1 < n ? b[static_cast<size_t>(kk) * n + col0 + 1] : 0.0f;
    right[2] = col0 + 2 < n ? b[static_cast<size_t>(kk) * n + col0 + 2] : 0.0f;
    right[3] = col0 + 3 < n ? b[static_cast<size_t>(kk) * n + col0 + 3] : 0.0f;
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 4; ++j) acc[i][j] += left[i] * right[j];
  }
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + (i / 4) * 32 + i % 4;
    put4(c, make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]), row, col0, m, n);
  }
}

} // namespace

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  const dim3 grid((n + 15) / 16, (m + 63) / 64);
  product<<<grid, 32, 0, stream>>>(a, b, c, m, n, k);
}
