// gate: accepted
//
// Through a shared tile, with or without padding, of several shapes.
#include <cuda_runtime.h>
// vary: TILE=8,16,32 ROWS=2,8 PAD=0,1

__global__ void turn(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[TILE][TILE + PAD];
  const int column = blockIdx.x * TILE + threadIdx.x;
  for (int j = threadIdx.y; j < TILE; j += ROWS) {
    const int row = blockIdx.y * TILE + j;
    if (row < rows && column < columns) tile[j][threadIdx.x] = in[static_cast<size_t>(row) * columns + column];
  }
  __syncthreads();
  const int outColumn = blockIdx.y * TILE + threadIdx.x;
  for (int j = threadIdx.y; j < TILE; j += ROWS) {
    const int outRow = blockIdx.x * TILE + j;
    if (outRow < columns && outColumn < rows) out[static_cast<size_t>(outRow) * rows + outColumn] = tile[threadIdx.x][j];
  }
}

extern "C" void transpose(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  turn<<<dim3((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), dim3(TILE, ROWS), 0, stream>>>(in, out, rows, columns);
}
