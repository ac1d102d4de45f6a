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

// Four neighbours of one row, zeros outside the matrix. col is a multiple of 4.
__device__ __forceinline__ float4 loadRow4(const float *__restrict__ src, int row, int col, int rows, int cols) {
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (row < rows) {
    const float *p = src + static_cast<size_t>(row) * cols + col;

    if (col + 0 < cols) v.x = p[0];
    if (col + 1 < cols) v.y = p[1];
    if (col + 2 < cols) v.z = p[2];
    if (col + 3 < cols) v.w = p[3];
  }
  return v;
}

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
  __shared__ float tileA[kTileK][kTileM]; // transposed: [k][row]
  __shared__ float tileB[kTileK][kTileN];

  const int tid = threadIdx.x;
  const int tx = tid % 16;
  const int ty = tid / 16;
  const int blockRow = blockIdx.y * kTileM;
  const int blockCol = blockIdx.x * kTileN;

  // Which float4 of each tile this thread brings in.
  const int rowA = tid / 2;
  const int colA = (tid % 2) * 4;
  const int rowB = tid / 32;
  const int colB = (tid % 32) * 4;

  float acc[8][8];

  for (int i = 0; i < 8; ++i) {

    for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
  }

  float4 nextA;
  float4 nextB;

  const int tiles = (k + kTileK - 1) / kTileK;
  for (int t = 0; t < tiles; ++t) {
    const int k0 = t * kTileK;
    nextA = loadRow4(a, blockRow + rowA, k0 + colA, m, k);
    nextB = loadRow4(b, k0 + rowB, blockCol + colB, k, n);
    tileA[colA + 0][rowA] = nextA.x;
    tileA[colA + 1][rowA] = nextA.y;
    tileA[colA + 2][rowA] = nextA.z;
    tileA[colA + 3][rowA] = nextA.w;
    tileB[rowB][colB] = nextB.x;
    tileB[rowB][colB + 1] = nextB.y;
    tileB[rowB][colB + 2] = nextB.z;
    tileB[rowB][colB + 3] = nextB.w;

    __syncthreads();
    for (int kk = 0; kk < kTileK; ++kk) {
      float fragA[8];
      float fragB[8];
      fragA[0] = tileA[kk][ty * 4];
      fragA[1] = tileA[kk][ty * 4 + 1];
      fragA[2] = tileA[kk][ty * 4 + 2];
      fragA[3] = tileA[kk][ty * 4 + 3];

      fragA[4] = tileA[kk][kHalf + ty * 4];
      fragA[4 + 1] = tileA[kk][kHalf + ty * 4 + 1];
      fragA[4 + 2] = tileA[kk][kHalf + ty * 4 + 2];
      fragA[4 + 3] = tileA[kk][kHalf + ty * 4 + 3];

      fragB[0] = tileB[kk][tx * 4];
      fragB[1] = tileB[kk][tx * 4 + 1];
      fragB[2] = tileB[kk][tx * 4 + 2];
      fragB[3] = tileB[kk][tx * 4 + 3];

      fragB[4] = tileB[kk][kHalf + tx * 4];
      fragB[4 + 1] = tileB[kk][kHalf + tx * 4 + 1];
      fragB[4 + 2] = tileB[kk][kHalf + tx * 4 + 2];
      fragB[4 + 3] = tileB[kk][kHalf + tx * 4 + 3];

      for (int i = 0; i < 8; ++i) {

        for (int j = 0; j < 8; ++j) acc[i][j] += fragA[i] * fragB[j];
      }
    }
    __syncthreads();
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
