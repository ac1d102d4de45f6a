// waived: wrong_value
// The product of a triangle: how far a thread goes depends on its column, so a barrier in the loop is not met by all.
#include <cuda_runtime.h>

__global__ void triangle(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  const int last = min(k, 1 + 3 * (col % 16));
  float sum = 0.0f;
  for (int i = 0; i < last; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  triangle<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}
