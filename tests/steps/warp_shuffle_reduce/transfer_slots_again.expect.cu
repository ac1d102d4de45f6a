// direction: simplify
// The first reduction declares what the second one uses again: the slots, and a variable that only later code fills.
#include <cuda_runtime.h>

__global__ void twice(const float *x, float *y, int columns) {
  const float *in = x + (size_t)blockIdx.x * columns;
  float weight = 0.0f, top = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 64) {
    weight += fabsf(in[i]);
    top = fmaxf(top, fabsf(in[i]));
  }
  float factor;
  __shared__ float weightSlots[64];
  weightSlots[threadIdx.x] = weight;
  __syncthreads();
  for (int offset = 32; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) weightSlots[threadIdx.x] += weightSlots[threadIdx.x + offset];
    __syncthreads();
  }
  weight = weightSlots[0];
  __syncthreads();
  __shared__ float topSlots[64];
  topSlots[threadIdx.x] = top;
  __syncthreads();
  for (int offset = 32; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) topSlots[threadIdx.x] = fmaxf(topSlots[threadIdx.x], topSlots[threadIdx.x + offset]);
    __syncthreads();
  }
  top = topSlots[0];
  __syncthreads();
  factor = top > 0.0f ? 1.0f / weight : 0.0f;
  for (int i = threadIdx.x; i < columns; i += 64) y[(size_t)blockIdx.x * columns + i] = in[i] * factor;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  twice<<<rows, 64, 0, stream>>>(x, y, columns);
}
