// direction: simplify
// out = transpose of in, row-major: in is rows x columns, out is columns x rows.
//
// A block turns one 32 x 32 tile in shared memory, so that both its reads and its writes run along rows. The column of padding puts the
// elements of a tile's column into different banks.
#include <cuda_runtime.h>

#define TILE 32
#define BLOCK_ROWS 8

__global__ void transpose_kernel(const float *__restrict__ in, float *__restrict__ out, int rows, int columns) {

  int col = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;

  // Now threadIdx.x runs along the rows of `in`.
  col = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  if (col < rows) {

    for (int j = 0; j < TILE; j += BLOCK_ROWS) {
      if (row + j < columns)
        out[(size_t)(row + j) * rows + col] =
            in[(size_t)(blockIdx.y * 32 + threadIdx.x) * columns + blockIdx.x * 32 + threadIdx.y + j];
    }
  }
}

extern "C" void transpose(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  dim3 block(TILE, BLOCK_ROWS);
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, columns);
}
