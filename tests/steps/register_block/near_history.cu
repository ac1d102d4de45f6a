// The array is no block of accumulators: each output needs all of its elements.
#include <cuda_runtime.h>

__global__ void smooth(const float *a, const float *b, float *c, int m, int n, int k) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= n) return;
  float past[4] = {};
  for (int i = 0; i < 4; ++i) {
    past[i] = i < m ? a[i * n + col] : 0.0f;
    if (i < m) c[i * n + col] = past[0] + past[1] + past[2] + past[3];
  }
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  smooth<<<(n + 127) / 128, 128, 0, stream>>>(a, b, c, m, n, k);
}
