// One output a thread, but nothing that it loads would serve a second one.
#include <cuda_runtime.h>

__global__ void add(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && col < n) c[row * n + col] = a[row * n + col] + b[row * n + col];
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  dim3 block(16, 16);
  dim3 grid((n + 15) / 16, (m + 15) / 16);
  add<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}
