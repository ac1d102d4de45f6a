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

__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n,
                        int k) {
  const int row0 = blockIdx.y * blockDim.y + threadIdx.y;
  if (row0 >= m) return;
  const int col0 = blockIdx.x * blockDim.x + threadIdx.x;
  if (col0 >= n) return;
  float acc = 0.0f;
  for (int kk = 0; kk < k; ++kk) {
    acc += a[static_cast<size_t>(row0) * k + kk] * b[static_cast<size_t>(kk) * n + col0];
  }

  c[(size_t)row0 * n + col0] = acc;
}

} // namespace

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  const dim3 grid((n + 15) / 16, (m + 15) / 16);
  product<<<grid, dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}
