// Each part's total is changed before it is handed on: many parts are not one part.
#include <cuda_runtime.h>

__global__ void lengths(const float *x, float *out, int n, int parts) {
  const int part = blockIdx.x * blockDim.x + threadIdx.x;
  if (part >= parts) return;
  float sum = 0.0f;
  for (int i = part; i < n; i += parts) sum += x[i] * x[i];
  out[part] = sqrtf(sum);
}

__global__ void sumAll(const float *x, float *out, int n) {
  float sum = 1.0f;
  for (int i = 0; i < n; ++i) sum += x[i];
  out[0] = sum;
}

extern "C" void total(const float *x, float *room, float *out, int n, cudaStream_t stream) {
  lengths<<<8, 128, 0, stream>>>(x, room, n, 1024);
  sumAll<<<1, 1, 0, stream>>>(room, out, 1024);
}
