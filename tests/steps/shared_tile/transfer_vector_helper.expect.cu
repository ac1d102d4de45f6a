// direction: simplify
// The tiles are filled through a helper that returns four neighbours of a row, zeros outside the matrix; the left one is turned.
#include <cuda_runtime.h>

namespace {

constexpr int kSide = 32;
constexpr int kDepth = 16;

__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n,
                        int k) {
  const int tid = threadIdx.x;
  const int tx = tid % 16, ty = tid / 16;
  const int top = blockIdx.y * kSide, side = blockIdx.x * kSide;
  float acc[4][2] = {};
  for (int d = 0; d < k; ++d)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 2; ++j)
        acc[i][j] += (top + ty * 4 + i < m ? a[static_cast<size_t>(top + ty * 4 + i) * k + d] : 0.0f) *
                     (side + tx * 2 + j < n ? b[static_cast<size_t>(d) * n + side + tx * 2 + j] : 0.0f);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      if (top + ty * 4 + i < m && side + tx * 2 + j < n) c[(top + ty * 4 + i) * n + side + tx * 2 + j] = acc[i][j];
}

} // namespace

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  product<<<dim3((n + kSide - 1) / kSide, (m + kSide - 1) / kSide), 128, 0, stream>>>(a, b, c, m, n, k);
}
