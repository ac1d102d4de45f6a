// waived: uninitialized_read
// The tile is read back as one run of elements, so its rows must not be longer than they are.
#include <cuda_runtime.h>

__global__ void transposed(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[32][32];
  const int x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 8)
    tile[threadIdx.x][i] = y + i < rows && x + threadIdx.x < columns ? in[(y + i) * columns + x + threadIdx.x] : 0.0f;
  __syncthreads();
  const float *run = &tile[0][0];
  for (int i = threadIdx.y; i < 32; i += 8)
    if (x + i < columns && y + threadIdx.x < rows) out[(x + i) * rows + y + threadIdx.x] = run[32 * i + threadIdx.x];
}

extern "C" void launch(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  transposed<<<dim3((columns + 31) / 32, (rows + 31) / 32), dim3(32, 8), 0, stream>>>(in, out, rows, columns);
}
