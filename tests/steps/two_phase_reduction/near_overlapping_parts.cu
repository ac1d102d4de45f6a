// The parts overlap by one element, so together they are more than the range.
#include <cuda_runtime.h>

__global__ void windows(const float *x, float *out, int n, int parts) {
  const int part = blockIdx.x * blockDim.x + threadIdx.x;
  if (part >= parts) return;
  float sum = 0.0f;
  for (int i = part; i < n; i += parts - 1) sum += x[i];
  out[part] = sum;
}

extern "C" void total(const float *x, float *room, float *out, int n, cudaStream_t stream) {
  windows<<<8, 128, 0, stream>>>(x, room, n, 1024);
  windows<<<1, 128, 0, stream>>>(room, out, 1025, 2);
}
