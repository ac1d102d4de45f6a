// direction: simplify
// A wide store of a computed vector through a moving index.
#include <cuda_runtime.h>

__device__ float4 powersOf(float v) { return make_float4(v, v * v, v * v * v, 1.0f); }

__global__ void each(float *y, const float *x, int count) {

  for (int at = threadIdx.x + blockDim.x * blockIdx.x; at < count; at += gridDim.x * blockDim.x) {
    const float4 lanes = powersOf(x[at]);
    y[4 * at] = lanes.x;
    y[4 * at + 1] = lanes.y;
    y[4 * at + 2] = lanes.z;
    y[4 * at + 3] = lanes.w;
  }
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) each<<<2, 64, 0, stream>>>(y, x, n);
}
