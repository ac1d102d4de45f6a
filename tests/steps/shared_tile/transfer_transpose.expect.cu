// out = transpose of in: the reads run along rows, the writes down columns.
#include <cuda_runtime.h>

__global__ void turn(const float *in, float *out, int rows, int columns) {
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  __shared__ float inTile[32][32];
  for (int j = 0; j < 32; j += 8) {
    if (x < columns && y + j < rows) inTile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
  }

  __syncthreads();
  for (int j = 0; j < 32; j += 8) {
    if (blockIdx.x * 32 + threadIdx.y + j < columns && blockIdx.y * 32 + threadIdx.x < rows)
      out[(blockIdx.x * 32 + j + threadIdx.y) * rows + blockIdx.y * 32 + threadIdx.x] =
          inTile[threadIdx.x][threadIdx.y + j];
  }
}

extern "C" void launch(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  turn<<<dim3((columns + 31) / 32, (rows + 31) / 32), dim3(32, 8), 0, stream>>>(in, out, rows, columns);
}
