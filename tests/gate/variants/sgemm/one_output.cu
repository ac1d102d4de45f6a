// gate: accepted
//
// One output a thread, from global memory: other blocks, the sum from either end, fused or rounded twice.
#include <cuda_runtime.h>
// vary: BLOCK_X=8,16,32 BLOCK_Y=4,8 BACKWARD=0,1 FUSED=0,1

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int col = blockIdx.x * BLOCK_X + threadIdx.x;
  const int row = blockIdx.y * BLOCK_Y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int j = 0; j < k; ++j) {
    const int i = BACKWARD ? k - 1 - j : j;
    const float left = a[row * k + i], right = b[i * n + col];
#if FUSED
    sum = fmaf(left, right, sum);
#else
    sum = __fadd_rn(sum, __fmul_rn(left, right));
#endif
  }
  c[row * n + col] = sum;
}

extern "C" void sgemm(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  product<<<dim3((n + BLOCK_X - 1) / BLOCK_X, (m + BLOCK_Y - 1) / BLOCK_Y), dim3(BLOCK_X, BLOCK_Y), 0, stream>>>(a, b, c, m, n, k);
}
