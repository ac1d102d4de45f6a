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
constexpr int kHalf = 64;    // a thread's 8 rows (columns) are two groups of 4, this far apart
constexpr int kPadA = 4;     // keeps the transposing stores of A free of bank conflicts and its rows 16-byte aligned

// Four neighbours of one row, zeros outside the matrix. col is a multiple of 4.
__device__ __forceinline__ float4 loadRow4(const float *__restrict__ src, int row, int col, int rows, int cols) {
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (row < rows) {
    const float *p = src + static_cast<size_t>(row) * cols + col;
    if (cols % 4 == 0) {
      if (col < cols) v = *reinterpret_cast<const float4 *>(p);
    } else {
      if (col + 0 < cols) v.x = p[0];
      if (col + 1 < cols) v.y = p[1];
      if (col + 2 < cols) v.z = p[2];
      if (col + 3 < cols) v.w = p[3];
    }
  }
  return v;
}

__device__ __forceinline__ void storeRow4(float *__restrict__ dst, float4 v, int row, int col, int rows, int cols) {
  if (row < rows) {
    float *p = dst + static_cast<size_t>(row) * cols + col;
    if (cols % 4 == 0) {
      if (col < cols) *reinterpret_cast<float4 *>(p) = v;
    } else {
      if (col + 0 < cols) p[0] = v.x;
      if (col + 1 < cols) p[1] = v.y;
      if (col + 2 < cols) p[2] = v.z;
      if (col + 3 < cols) p[3] = v.w;
    }
  }
}

__global__ void __launch_bounds__(kThreads, 2)
sgemm_kernel(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n, int k) {
  __shared__ float tileA[2][kTileK][kTileM + kPadA];   // transposed: [k][row]
  __shared__ float tileB[2][kTileK][kTileN];

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
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
  }

  float4 nextA = loadRow4(a, blockRow + rowA, colA, m, k);
  float4 nextB = loadRow4(b, rowB, blockCol + colB, k, n);
  tileA[0][colA + 0][rowA] = nextA.x;
  tileA[0][colA + 1][rowA] = nextA.y;
  tileA[0][colA + 2][rowA] = nextA.z;
  tileA[0][colA + 3][rowA] = nextA.w;
  *reinterpret_cast<float4 *>(&tileB[0][rowB][colB]) = nextB;
  __syncthreads();

  const int tiles = (k + kTileK - 1) / kTileK;
  for (int t = 0; t < tiles; ++t) {
    const int cur = t % 2;
    if (t + 1 < tiles) {
      const int k0 = (t + 1) * kTileK;
      nextA = loadRow4(a, blockRow + rowA, k0 + colA, m, k);
      nextB = loadRow4(b, k0 + rowB, blockCol + colB, k, n);
    }

#pragma unroll
    for (int kk = 0; kk < kTileK; ++kk) {
      float fragA[8];
      float fragB[8];
      *reinterpret_cast<float4 *>(&fragA[0]) = *reinterpret_cast<const float4 *>(&tileA[cur][kk][ty * 4]);
      *reinterpret_cast<float4 *>(&fragA[4]) = *reinterpret_cast<const float4 *>(&tileA[cur][kk][kHalf + ty * 4]);
      *reinterpret_cast<float4 *>(&fragB[0]) = *reinterpret_cast<const float4 *>(&tileB[cur][kk][tx * 4]);
      *reinterpret_cast<float4 *>(&fragB[4]) = *reinterpret_cast<const float4 *>(&tileB[cur][kk][kHalf + tx * 4]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] += fragA[i] * fragB[j];
      }
    }

    if (t + 1 < tiles) {
      // The other buffer was last read before the previous barrier, so it is free.
      const int other = 1 - cur;
      tileA[other][colA + 0][rowA] = nextA.x;
      tileA[other][colA + 1][rowA] = nextA.y;
      tileA[other][colA + 2][rowA] = nextA.z;
      tileA[other][colA + 3][rowA] = nextA.w;
      *reinterpret_cast<float4 *>(&tileB[other][rowB][colB]) = nextB;
      __syncthreads();
    }
  }

#pragma unroll
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
