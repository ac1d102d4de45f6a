// gate: wrong_value
//
// Keeps its sum in half precision.
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void sum_all(const float *x, float *total, long long n) {
  __half sum = __float2half(0.0f);
  for (long long i = 0; i < n; ++i) sum = __hadd(sum, __float2half(x[i]));
  *total = __half2float(sum);
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  sum_all<<<1, 1, 0, stream>>>(x, total, n);
}
