// gate: race
//
// Adds into one place from all threads, without atomics.
#include <cuda_runtime.h>

__global__ void clear(float *total) { *total = 0.0f; }
__global__ void sum_all(const float *x, float *total, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
  if (i < n) *total += x[i];
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  clear<<<1, 1, 0, stream>>>(total);
  sum_all<<<(n + 127) / 128, 128, 0, stream>>>(x, total, n);
}
