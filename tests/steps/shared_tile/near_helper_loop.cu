// near: simplify
// What the helpers return is no copy that could be read elsewhere: one is summed in a loop, one returns from within a loop.
#include <cuda_runtime.h>

__device__ float summed(const float *matrix, int r, int c, int columns) {
  float total = 0.0f;
  for (int i = 0; i <= c; ++i) total += matrix[r * columns + i];
  return total;
}

__device__ float firstPositive(const float *matrix, int r, int c, int columns) {
  for (int i = c; i < columns; ++i)
    if (matrix[r * columns + i] > 0.0f) return matrix[r * columns + i];
  return 0.0f;
}

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    left[threadIdx.y][threadIdx.x] = row < m && k0 + threadIdx.x < k ? summed(a, row, k0 + threadIdx.x, k) : 0.0f;
    right[threadIdx.y][threadIdx.x] = k0 + threadIdx.y < k && col < n ? firstPositive(b, k0 + threadIdx.y, col, n) : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}
