// direction: simplify
// One element a call: one helper leaves early outside the matrix, the other chooses between two values.
#include <cuda_runtime.h>

__device__ float elementOr0(const float *matrix, int r, int c, int rows, int columns) {
  if (r >= rows || c >= columns) return 0.0f;
  return matrix[r * columns + c];
}

__device__ static float chosen(const float *matrix, int r, int c, int rows, int columns) {
  const float *line = matrix + r * columns;
  return r < rows && c < columns ? line[c] : 0.0f;
}

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    left[threadIdx.y][threadIdx.x] = elementOr0(a, row, k0 + threadIdx.x, m, k);
    float other;
    other = chosen(b, k0 + threadIdx.y, col, k, n);
    right[threadIdx.y][threadIdx.x] = other;
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
