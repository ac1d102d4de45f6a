// direction: materialize
// Four rows and two columns a thread, held in registers: the block reads a rectangle of each operand, each element many times.
#include <cuda_runtime.h>

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int lane = threadIdx.x % 16;
  const int line = threadIdx.x / 16;
  const int top = blockIdx.y * 32 + line * 4;
  const int left = blockIdx.x * 32 + lane;
  float sum[4][2] = {};
  for (int d = 0; d < k; ++d) {
    float column[4];
    float row[2];
    column[0] = top < m ? a[static_cast<size_t>(top) * k + d] : 0.0f;
    column[1] = top + 1 < m ? a[static_cast<size_t>(top + 1) * k + d] : 0.0f;
    column[2] = top + 2 < m ? a[static_cast<size_t>(top + 2) * k + d] : 0.0f;
    column[3] = top + 3 < m ? a[static_cast<size_t>(top + 3) * k + d] : 0.0f;
    row[0] = left < n ? b[static_cast<size_t>(d) * n + left] : 0.0f;
    row[1] = left + 16 < n ? b[static_cast<size_t>(d) * n + left + 16] : 0.0f;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 2; ++j) sum[i][j] += column[i] * row[j];
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      if (top + i < m && left + 16 * j < n) c[static_cast<size_t>(top + i) * n + left + 16 * j] = sum[i][j];
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  product<<<dim3((n + 31) / 32, (m + 31) / 32), 128, 0, stream>>>(a, b, c, m, n, k);
}
