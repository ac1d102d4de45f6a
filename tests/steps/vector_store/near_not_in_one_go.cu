// Neighbours that cannot be written together: what they hold changes between them, a barrier or a return
// stands between.
#include <cuda_runtime.h>

__global__ void threeWays(const float *x, float *y, int n) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 3 >= n) return;
  float v = x[i];
  y[i] = v;
  v = v * 2.0f;
  y[i + 1] = v;

  __shared__ float turn[512];
  float *own = turn + threadIdx.x % 128 * 4;
  own[0] = v;
  __syncthreads();
  own[1] = v;

  float *z = y + n;
  z[i] = v;
  if (v < 0.0f) return;
  z[i + 1] = own[1];
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) threeWays<<<(n + 511) / 512, 128, 0, stream>>>(x, y, n);
}
