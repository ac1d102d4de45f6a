// The sum of n values: 1024 parts side by side, then their totals.
#include <cuda_runtime.h>

__global__ void sumParts(const float *x, float *out, int n, int parts) {
  const int part = blockIdx.x * blockDim.x + threadIdx.x;
  if (part >= parts) return;
  float sum = 0.0f;
  for (int i = part; i < n; i += parts) sum += x[i];
  out[part] = sum;
}

// room holds 1024 floats.
extern "C" void total(const float *x, float *room, float *out, int n, cudaStream_t stream) {
  sumParts<<<8, 128, 0, stream>>>(x, room, n, 1024);
  sumParts<<<1, 128, 0, stream>>>(room, out, 1024, 1);
}
