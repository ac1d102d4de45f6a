// y = scale * x + shift on a matrix, row-major: a thread takes four elements of a column, eight rows apart.
#include <cuda_runtime.h>

__global__ void affine(const float *x, float *y, int rows, int columns, float scale, float shift) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && col < columns) y[row * columns + col] = scale * x[row * columns + col] + shift;
}

extern "C" void launch(const float *x, float *y, int rows, int columns, float scale, float shift, cudaStream_t stream) {
  dim3 block(32, 8);
  dim3 grid((columns + 31) / 32, (rows + 7) / 8);
  affine<<<grid, block, 0, stream>>>(x, y, rows, columns, scale, shift);
}
