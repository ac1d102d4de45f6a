// direction: simplify
// A stage that flips, tiles of one row each, filled by loops straight from global memory, the count of tiles computed ahead.
#include <cuda_runtime.h>

#define DEPTH 32

__global__ void gemv(const float *__restrict__ mat, const float *__restrict__ vec, float *__restrict__ out, int m,
                     int n, int depth) {
  __shared__ float rows[8][DEPTH];
  __shared__ float part[DEPTH][8];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int r = blockIdx.y * 8 + ty, c = blockIdx.x * 8 + tx;
  float total = 0.f;
  const int tiles = (depth + DEPTH - 1) / DEPTH;
  for (int t = 0; t < tiles; ++t) {
    for (int i = tx; i < DEPTH; i += 8)
      rows[ty][i] = r < m && t * DEPTH + i < depth ? mat[r * depth + t * DEPTH + i] : 0.f;
    for (int i = ty; i < DEPTH; i += 8)
      part[i][tx] = t * DEPTH + i < depth && c < n ? vec[(t * DEPTH + i) * n + c] : 0.f;
    __syncthreads();
    for (int d = 0; d < DEPTH; ++d) total += rows[ty][d] * part[d][tx];
    __syncthreads();
  }
  if (r < m && c < n) out[r * n + c] = total;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  gemv<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8), 0, stream>>>(a, b, c, m, n, k);
}
