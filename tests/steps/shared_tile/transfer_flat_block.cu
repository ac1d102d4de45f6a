// direction: simplify
// The operands transposed, a row of 256 threads that divides itself, tiles in one dimension, the tile count computed ahead.
#include <cuda_runtime.h>

#define T 16

template <int W>
__global__ void gram(const float *__restrict__ x, const float *__restrict__ y, float *__restrict__ out, int m, int n, int depth) {
  __shared__ float left[W * W], right[W * W];
  const int lane = threadIdx.x % W;
  const int line = threadIdx.x / W;
  const int i = W * blockIdx.y + line, j = W * blockIdx.x + lane;
  float total = 0.f;
  const int steps = (depth + W - 1) / W;
  for (int s = 0; s < steps; ++s) {
    // x is depth x m: a column of it is a row of the product.
    float v = 0.f;
    if (s * W + line < depth && W * blockIdx.y + lane < m) v = x[(s * W + line) * m + W * blockIdx.y + lane];
    left[line * W + lane] = v;
    if (s * W + line < depth && j < n)
      right[line * W + lane] = y[(s * W + line) * n + j];
    else
      right[line * W + lane] = 0.f;
    __syncthreads();
    for (int d = 0; d < W; d++) total = fmaf(left[d * W + line], right[d * W + lane], total);
    __syncthreads();
  }
  if (i < m && j < n) out[i * n + j] = total;
}

extern "C" void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  gram<T><<<dim3((n + T - 1) / T, (m + T - 1) / T), T * T, 0, stream>>>(a, b, c, m, n, k);
}
