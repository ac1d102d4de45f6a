// Sums of squared differences between rows, one tile of each operand at a time.
#include <cuda_runtime.h>

__global__ void distances(const float *left, const float *right, float *out, int m, int n, int depth) {
  __shared__ float u[2][16][16], v[2][16][16];
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  float far = 0.0f;
  u[0][threadIdx.y][threadIdx.x] = i < m && threadIdx.x < depth ? left[i * depth + threadIdx.x] : 0.0f;
  v[0][threadIdx.y][threadIdx.x] = threadIdx.y < depth && j < n ? right[threadIdx.y * n + j] : 0.0f;
  __syncthreads();
  for (int d = 0; d < depth; d += 16) {
    const int stage = d / 16 % 2;
    float next0 = 0.f;
    if (d + 16 < depth) next0 = i < m && d + 16 + threadIdx.x < depth ? left[i * depth + d + 16 + threadIdx.x] : 0.0f;
    float next1 = 0.f;
    if (d + 16 < depth) next1 = d + 16 + threadIdx.y < depth && j < n ? right[(d + 16 + threadIdx.y) * n + j] : 0.0f;
    for (int e = 0; e < 16; ++e) {
      const float gap = u[stage][threadIdx.y][e] - v[stage][e][threadIdx.x];
      far += gap * gap;
    }
    if (d + 16 < depth) {
      u[1 - stage][threadIdx.y][threadIdx.x] = next0;
      v[1 - stage][threadIdx.y][threadIdx.x] = next1;
    }
    __syncthreads();
  }
  if (i < m && j < n) out[i * n + j] = far;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  distances<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}
