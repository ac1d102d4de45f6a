// Shuffles up in a helper that works in place: each lane ends with the sum of the lanes up to it and divides by that, a prefix and no total.
#include <cuda_runtime.h>

__device__ void prefixes(float *part) {
  for (int back = 1; back < 32; back *= 2) {
    float before = __shfl_up_sync(0xffffffffu, *part, back);
    if (threadIdx.x >= back) *part += before;
  }
}

__global__ void running(const float *x, float *y, int columns) {
  const float *in = x + (size_t)blockIdx.x * columns;
  float part[1] = {0.0f};
  for (int i = threadIdx.x; i < columns; i += 32) part[0] += fabsf(in[i]);
  prefixes(part);
  for (int i = threadIdx.x; i < columns; i += 32) y[(size_t)blockIdx.x * columns + i] = in[i] / part[0];
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  running<<<rows, 32, 0, stream>>>(x, y, columns);
}
