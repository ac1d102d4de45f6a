// out = transpose of in, row-major: in is rows x columns, out is columns x rows.
//
// A block turns one 32 x 32 tile in shared memory, so that both its reads and its writes run along rows. The column of padding puts the
// elements of a tile's column into different banks.
#include <cuda_runtime.h>

#define TILE 32
#define BLOCK_ROWS 8

__global__ void transpose_kernel(const float *__restrict__ in, float *__restrict__ out, int rows, int columns) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < rows) {
    if (row < columns) out[(size_t)row * rows + col] = in[(size_t)col * columns + row];
  }
}

extern "C" void transpose(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  dim3 block(TILE, BLOCK_ROWS);
  dim3 grid((rows + 31) / 32, (columns + 7) / 8);
  transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, columns);
}
