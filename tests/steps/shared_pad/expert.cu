// out = transpose of in through a tile whose rows are one element longer than they need to be.
#include <cuda_runtime.h>

constexpr int kEdge = 32;

__global__ void transposed(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[kEdge][kEdge + 1];
  const int x = blockIdx.x * kEdge, y = blockIdx.y * kEdge;
  for (int i = threadIdx.y; i < kEdge; i += 8)
    if (y + i < rows && x + threadIdx.x < columns) tile[i][threadIdx.x] = in[(y + i) * columns + x + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < kEdge; i += 8)
    if (x + i < columns && y + threadIdx.x < rows) out[(x + i) * rows + y + threadIdx.x] = tile[threadIdx.x][i];
}

extern "C" void launch(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  const dim3 block(kEdge, 8);
  const dim3 grid((columns + kEdge - 1) / kEdge, (rows + kEdge - 1) / kEdge);
  transposed<<<grid, block, 0, stream>>>(in, out, rows, columns);
}
