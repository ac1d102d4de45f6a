// near: simplify
// Wide stores that cannot be written element by element where they stand: inside an expression, to an address that counts, of the bits of integers.
#include <cuda_runtime.h>

__global__ void threeWays(const float *x, float *y, int n) {
  __shared__ int words[512];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 >= n) return;
  float4 v = make_float4(x[4 * i], 1.0f, 2.0f, 3.0f);
  float4 *out = reinterpret_cast<float4 *>(y);
  float4 same = (out[i] = v);
  int next = i;
  out[next++] = same;
  *reinterpret_cast<float4 *>(&words[threadIdx.x % 128 * 4]) = v;
  y[i] += float(words[threadIdx.x % 128 * 4]) * 0.0f + float(next) * 0.0f;
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) threeWays<<<(n + 511) / 512, 128, 0, stream>>>(x, y, n);
}
