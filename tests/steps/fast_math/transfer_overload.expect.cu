// The functions are called by their overloaded names, one of them in a helper.
#include <cuda_runtime.h>

__device__ float grow(float value) { return __expf(value); }

__global__ void apply(float *out, const float *in, int count) {
  for (int k = threadIdx.x + blockDim.x * blockIdx.x; k < count; k += blockDim.x * gridDim.x) {
    float v = in[k];
    out[k] = __logf(grow(-v) + 1.0f) + grow(v * 0.5f);
  }
}

extern "C" void curve(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) apply<<<2, 64, 0, stream>>>(y, x, n);
}
