// near: simplify
// The block's elements come from a library's block-wide load, which numbers them by the thread: with the threads they would be gone.
#include <cub/block/block_load.cuh>
#include <cuda_runtime.h>

__global__ void loaded(const float *x, float *y, int columns) {
  typedef cub::BlockLoad<float, 128, 4> Load;
  __shared__ typename Load::TempStorage room;
  __shared__ float heap[128];
  const float *in = x + (size_t)blockIdx.x * columns;
  float own[4];
  Load(room).Load(in, own, columns < 512 ? columns : 512, 0.0f);
  float sum = fabsf(own[0]) + fabsf(own[1]) + fabsf(own[2]) + fabsf(own[3]);
  heap[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int t = 1; t < 128; ++t) heap[0] += heap[t];
  __syncthreads();
  sum = heap[0];
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += 128) y[(size_t)blockIdx.x * columns + c] = in[c] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  loaded<<<rows, 128, 0, stream>>>(x, y, columns);
}
