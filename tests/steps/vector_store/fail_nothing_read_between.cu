// waived: unwritten_output
// The second store reads what the first one wrote: moved in front of it, it reads the poison that outputs hold, and hands it on.
#include <cuda_runtime.h>

__global__ void chain(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float *out = y + 4 * i;
  out[0] = x[i];
  out[1] = out[0] * x[i];
  out[2] = out[1] * x[i];
  out[3] = 1.0f;
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) chain<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
