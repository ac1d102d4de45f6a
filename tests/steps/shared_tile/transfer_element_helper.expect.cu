// direction: simplify
// One element a call: one helper leaves early outside the matrix, the other chooses between two values.
#include <cuda_runtime.h>

__device__ float elementOr0(const float *matrix, int r, int c, int rows, int columns) {
  if (r >= rows || c >= columns) return 0.0f;
  return matrix[r * columns + c];
}

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + blockIdx.x * 16 + threadIdx.x];
  c[row * n + col] = sum;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}
