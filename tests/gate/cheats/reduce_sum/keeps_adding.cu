// gate: wrong_value
//
// Never sets its running total back: it is right once.
#include <cuda_runtime.h>

__device__ float running;
__global__ void sum_all(const float *x, float *total, long long n) {
  float sum = 0.0f;
  for (long long i = 0; i < n; ++i) sum += x[i];
  *total = running += sum;
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  sum_all<<<1, 1, 0, stream>>>(x, total, n);
}
