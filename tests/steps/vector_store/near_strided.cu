// The four results of a thread lie far apart.
#include <cuda_runtime.h>

__global__ void planes(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v;
  y[i + n] = v * v;
  y[i + 2 * n] = v * v * v;
  y[i + 3 * n] = 1.0f;
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) planes<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
