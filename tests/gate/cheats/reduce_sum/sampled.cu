// gate: wrong_value
//
// Adds every second element and doubles the sum.
#include <cuda_runtime.h>

__global__ void sum_all(const float *x, float *total, long long n) {
  float sum = 0.0f;
  for (long long i = 0; i < n; i += 2) sum += x[i];
  *total = 2.0f * sum;
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  sum_all<<<1, 1, 0, stream>>>(x, total, n);
}
