// Four neighbouring results a thread, written as one vector where the row allows it.
#include <cuda_runtime.h>

__global__ void powers(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float *out = y + 4 * i;

  out[0] = v;
  out[1] = v * v;
  out[2] = v * v * v;
  out[3] = 1.0f;
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) powers<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
