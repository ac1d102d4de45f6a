// A block of one thread for each row: the grid stays, and its threads share the row.
#include <cuda_runtime.h>

__global__ void lone(const float *x, float *y, float, int columns) {
  const float *from = x + (size_t)blockIdx.y * columns;
  float *to = y + (size_t)blockIdx.y * columns;
  float size = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) size += from[c] < 0.0f ? -from[c] : from[c];
  __shared__ float sizeSlots[256];
  sizeSlots[threadIdx.x] = size;
  __syncthreads();
  for (int offset = 128; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) sizeSlots[threadIdx.x] += sizeSlots[threadIdx.x + offset];
    __syncthreads();
  }
  size = sizeSlots[0];
  __syncthreads();
  const float scale = 1.0f / size;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) to[c] = scale * from[c];
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  lone<<<dim3(1, rows), 256, 0, stream>>>(x, y, 0.0f, columns);
}
