// direction: simplify
// Twice the largest magnitude, guarded the other way round, by two kernels, with memory taken from the stream.
#include <cuda_runtime.h>

__global__ void largestOfParts(const float *__restrict__ values, int length, float *__restrict__ found) {

  float best = 0.0f;
  for (int at = 0; at < length; ++at) best = fmaxf(2.0f * fabsf(values[at]), best);
  found[0] = best;
}

extern "C" void largest(const float *values, float *result, int length, cudaStream_t stream) {
  largestOfParts<<<1, 1, 0, stream>>>(values, length, result);
}
