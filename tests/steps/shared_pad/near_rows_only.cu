// Rows of 32 words, but a warp never goes down a column: every access is to 32 different banks.
#include <cuda_runtime.h>

__global__ void mirrored(const float *in, float *out, int rows, int columns) {
  __shared__ float rowsOfTile[8][32];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  rowsOfTile[threadIdx.y][threadIdx.x] = x < columns && y < rows ? in[y * columns + x] : 0.0f;
  __syncthreads();
  if (x < columns && y < rows) out[x * rows + y] = rowsOfTile[threadIdx.y][31 - (31 - threadIdx.x)];
}

extern "C" void launch(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  mirrored<<<dim3((columns + 31) / 32, (rows + 7) / 8), dim3(32, 8), 0, stream>>>(in, out, rows, columns);
}
