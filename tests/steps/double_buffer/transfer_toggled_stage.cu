// direction: simplify
// A stage that flips, tiles of one row each, filled by loops straight from global memory, the count of tiles computed ahead.
#include <cuda_runtime.h>

#define DEPTH 32

__global__ void gemv(const float *__restrict__ mat, const float *__restrict__ vec, float *__restrict__ out, int m, int n, int depth) {
  __shared__ float rows[2][8][DEPTH];
  __shared__ float part[2][DEPTH][8];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int r = blockIdx.y * 8 + ty, c = blockIdx.x * 8 + tx;
  for (int i = tx; i < DEPTH; i += 8) rows[0][ty][i] = r < m && i < depth ? mat[r * depth + i] : 0.f;
  for (int i = ty; i < DEPTH; i += 8) part[0][i][tx] = i < depth && c < n ? vec[i * n + c] : 0.f;
  __syncthreads();
  int stage = 0;
  float total = 0.f;
  const int tiles = (depth + DEPTH - 1) / DEPTH;
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      for (int i = tx; i < DEPTH; i += 8)
        rows[stage ^ 1][ty][i] = r < m && (t + 1) * DEPTH + i < depth ? mat[r * depth + (t + 1) * DEPTH + i] : 0.f;
      for (int i = ty; i < DEPTH; i += 8)
        part[stage ^ 1][i][tx] = (t + 1) * DEPTH + i < depth && c < n ? vec[((t + 1) * DEPTH + i) * n + c] : 0.f;
    }
    for (int d = 0; d < DEPTH; ++d) total += rows[stage][ty][d] * part[stage][d][tx];
    __syncthreads();
    stage ^= 1;
  }
  if (r < m && c < n) out[r * n + c] = total;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  gemv<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8), 0, stream>>>(a, b, c, m, n, k);
}
