// near: simplify
// Each turn of the loop needs what the turn before it left.
#include <cuda_runtime.h>

__global__ void running(const float *x, float *y, int rows, int columns, float scale, float shift) {
  const int row = blockIdx.y * 32 + threadIdx.y;
  const int col = blockIdx.x * 32 + threadIdx.x;
  float sum = shift;
  for (int i = 0; i < 4; ++i) {
    if (row + i * 8 < rows && col < columns) {
      sum += scale * x[(row + i * 8) * columns + col];
      y[(row + i * 8) * columns + col] = sum;
    }
  }
}

extern "C" void launch(const float *x, float *y, int rows, int columns, float scale, float shift, cudaStream_t stream) {
  dim3 block(32, 8);
  dim3 grid((columns + 31) / 32, (rows + 31) / 32);
  running<<<grid, block, 0, stream>>>(x, y, rows, columns, scale, shift);
}
