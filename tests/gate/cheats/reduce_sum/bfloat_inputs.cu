// gate: wrong_value
//
// Rounds every element to bfloat16 before it is added.
#include <cuda_runtime.h>
#include <cuda_bf16.h>

__global__ void sum_all(const float *x, float *total, long long n) {
  float sum = 0.0f;
  for (long long i = 0; i < n; ++i) sum += __bfloat162float(__float2bfloat16(x[i]));
  *total = sum;
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  sum_all<<<1, 1, 0, stream>>>(x, total, n);
}
