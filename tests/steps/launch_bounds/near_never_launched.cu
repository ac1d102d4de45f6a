// near: materialize
// The only launch belongs to the kernel that has its bound already.
#include <cuda_runtime.h>

__global__ void forgotten(float *y, int n) { y[threadIdx.x % n] = 0.0f; }

__global__ void __launch_bounds__(128) horner(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = x[i], sum = 0.0f;
  for (int k = 0; k < 8; ++k) sum = sum * value + 1.0f / (k + 1);
  y[i] = sum;
}

extern "C" void polynomial(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) horner<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
