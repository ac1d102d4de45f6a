// direction: simplify
// The operands transposed, a row of 256 threads that divides itself, tiles in one dimension, the tile count computed ahead.
#include <cuda_runtime.h>

#define T 16

template <int W>
__global__ void gram(const float *__restrict__ x, const float *__restrict__ y, float *__restrict__ out, int m, int n,
                     int depth) {
  const int lane = threadIdx.x % W;
  const int line = threadIdx.x / W;
  const int i = W * blockIdx.y + line, j = W * blockIdx.x + lane;
  if (i >= m || j >= n) return;
  float total = 0.f;
  for (int d = 0; d < depth; ++d) total = fmaf(x[d * m + W * blockIdx.y + line], y[d * n + j], total);
  out[i * n + j] = total;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  gram<T><<<dim3((n + T - 1) / T, (m + T - 1) / T), T * T, 0, stream>>>(a, b, c, m, n, k);
}
