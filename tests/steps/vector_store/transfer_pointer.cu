// direction: simplify
// A wide store of a computed vector through a moving index.
#include <cuda_runtime.h>

__device__ float4 powersOf(float v) { return make_float4(v, v * v, v * v * v, 1.0f); }

__global__ void each(float *y, const float *x, int count) {
  float4 *wide = reinterpret_cast<float4 *>(y);
  for (int at = threadIdx.x + blockDim.x * blockIdx.x; at < count; at += gridDim.x * blockDim.x) wide[at] = powersOf(x[at]);
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) each<<<2, 64, 0, stream>>>(y, x, n);
}
