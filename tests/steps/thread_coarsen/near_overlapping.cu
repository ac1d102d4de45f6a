// near: simplify
// The turns of neighbouring threads hit the same elements, so the threads of a block do not cover its part once.
#include <cuda_runtime.h>

__global__ void spread(const float *x, float *y, int rows, int columns, float scale, float shift) {
  const int at = blockIdx.x * 128 + threadIdx.x;
  for (int i = 0; i < 4; ++i) {
    if (at + i < rows * columns) y[at + i] = scale * x[at + i] + shift;
  }
}

extern "C" void launch(const float *x, float *y, int rows, int columns, float scale, float shift, cudaStream_t stream) {
  spread<<<(rows * columns + 127) / 128, 128, 0, stream>>>(x, y, rows, columns, scale, shift);
}
