// waived: out_of_bounds
// Right only for whole blocks of eight rows: without a guard the rows of a thread go past the end.
#include <cuda_runtime.h>

__global__ void affine(const float *x, float *y, int rows, int columns, float scale, float shift) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < columns) y[row * columns + col] = scale * x[row * columns + col] + shift;
}

extern "C" void launch(const float *x, float *y, int rows, int columns, float scale, float shift, cudaStream_t stream) {
  dim3 block(32, 8);
  dim3 grid((columns + 31) / 32, rows / 8);
  affine<<<grid, block, 0, stream>>>(x, y, rows, columns, scale, shift);
}
