// direction: simplify
// A wide store that tells the cache not to keep what it writes.
#include <cuda_runtime.h>

__global__ void stream(float *y, const float *x, int count) {
  const int at = threadIdx.x + blockDim.x * blockIdx.x;
  if (at >= count) return;
  const float v = x[at];
  float4 *wide = reinterpret_cast<float4 *>(y);
  float4 four = make_float4(v, v * v, v * v * v, 1.0f);
  __stcs(&wide[at], four);
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream_) {
  if (n > 0) stream<<<(n + 63) / 64, 64, 0, stream_>>>(y, x, n);
}
