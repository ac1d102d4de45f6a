// direction: simplify
// Four rows a thread, in steps: the padded tile is as tall as the last step reaches.
#include <cuda_runtime.h>

#define SIDE 16
#define LINES 4

__global__ void turn(float *turned, const float *given, int rows, int columns) {
  __shared__ float patch[SIDE][SIDE + 1];
  const int fromColumn = SIDE * blockIdx.x + threadIdx.x, fromRow = SIDE * blockIdx.y + threadIdx.y;
  for (int step = 0; step < SIDE; step += LINES)
    if (fromColumn < columns && fromRow + step < rows) patch[step + threadIdx.y][threadIdx.x] = given[(fromRow + step) * columns + fromColumn];
  __syncthreads();
  const int toColumn = SIDE * blockIdx.y + threadIdx.x, toRow = SIDE * blockIdx.x + threadIdx.y;
  for (int step = 0; step < SIDE; step += LINES)
    if (toColumn < rows && toRow + step < columns) turned[(toRow + step) * rows + toColumn] = patch[threadIdx.x][step + threadIdx.y];
}

extern "C" void launch(const float *a, float *b, int rows, int columns, cudaStream_t stream) {
  const dim3 grid((columns + SIDE - 1) / SIDE, (rows + SIDE - 1) / SIDE), block(SIDE, LINES);
  turn<<<grid, block, 0, stream>>>(b, a, rows, columns);
}
