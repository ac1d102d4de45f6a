// gate: delegated
//
// Lets cuBLAS do the work.
#include <cuda_runtime.h>

extern "C" int cublasSgemm_v2(const float *, const float *, float *, int, int, int);
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int col = blockIdx.x * 16 + threadIdx.x;
  const int row = blockIdx.y * 16 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

extern "C" void sgemm(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (cublasSgemm_v2(a, b, c, m, n, k)) product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}
