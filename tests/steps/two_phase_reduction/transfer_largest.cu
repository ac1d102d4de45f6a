// direction: simplify
// Twice the largest magnitude, guarded the other way round, by two kernels, with memory taken from the stream.
#include <cuda_runtime.h>

__global__ void largestOfParts(const float *__restrict__ values, int length, float *__restrict__ found, int shares) {
  int mine = threadIdx.x + blockDim.x * blockIdx.x;
  if (mine < shares) {
    float best = 0.0f;
    const int distance = shares;
    for (int at = mine; at < length; at += distance) best = fmaxf(2.0f * fabsf(values[at]), best);
    found[mine] = best;
  }
}

__global__ void largestOfAll(const float *__restrict__ found, float *__restrict__ result, int shares) {
  float best = 0.0f;
  for (int at = 0; at < shares; ++at) best = fmaxf(best, found[at]);
  result[0] = best;
}

extern "C" void largest(const float *values, float *result, int length, cudaStream_t stream) {
  const int shares = length < 4096 ? 32 : 512;
  float *found = nullptr;
  cudaMallocAsync(&found, shares * sizeof(float), stream);
  largestOfParts<<<(shares + 63) / 64, 64, 0, stream>>>(values, length, found, shares);
  largestOfAll<<<1, 1, 0, stream>>>(found, result, shares);
  cudaFreeAsync(found, stream);
}
