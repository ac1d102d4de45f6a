// out = transpose of in, row-major: in is rows x columns, out is columns x rows.
//
// A block turns one 32 x 32 tile in shared memory, so that both its reads and its writes run along rows. The column of padding puts the
// elements of a tile's column into different banks.
#include <cuda_runtime.h>

#define TILE 32
#define BLOCK_ROWS 8

__global__ void __launch_bounds__(TILE *BLOCK_ROWS)
transpose_kernel(const float *__restrict__ in, float *__restrict__ out, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];

  int col = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;
  if (col < columns) {
#pragma unroll
    for (int j = 0; j < TILE; j += BLOCK_ROWS) {
      if (row + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(row + j) * columns + col];
    }
  }
  __syncthreads();

  // Now threadIdx.x runs along the rows of `in`.
  col = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  if (col < rows) {
#pragma unroll
    for (int j = 0; j < TILE; j += BLOCK_ROWS) {
      if (row + j < columns) out[(size_t)(row + j) * rows + col] = tile[threadIdx.x][threadIdx.y + j];
    }
  }
}

extern "C" void transpose(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  dim3 block(TILE, BLOCK_ROWS);
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, columns);
}
