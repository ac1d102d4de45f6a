// Sums of squared differences between rows, one tile of each operand at a time.
#include <cuda_runtime.h>

__global__ void distances(const float *left, const float *right, float *out, int m, int n, int depth) {
  __shared__ float u[16][16], v[16][16];
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  float far = 0.0f;
  for (int d = 0; d < depth; d += 16) {
    u[threadIdx.y][threadIdx.x] = i < m && d + threadIdx.x < depth ? left[i * depth + d + threadIdx.x] : 0.0f;
    v[threadIdx.y][threadIdx.x] = d + threadIdx.y < depth && j < n ? right[(d + threadIdx.y) * n + j] : 0.0f;
    __syncthreads();
    for (int e = 0; e < 16; ++e) {
      const float gap = u[threadIdx.y][e] - v[e][threadIdx.x];
      far += gap * gap;
    }
    __syncthreads();
  }
  if (i < m && j < n) out[i * n + j] = far;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  distances<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}
