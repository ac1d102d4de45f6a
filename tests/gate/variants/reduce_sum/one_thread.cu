// gate: accepted
//
// One thread, with the rounding error carried along or in double precision.
#include <cuda_runtime.h>
// vary: CARRIED=0,1

__global__ void add(const float *x, float *total, long long n) {
#if CARRIED
  float sum = 0.0f, lost = 0.0f;
  for (long long i = 0; i < n; ++i) {
    const float term = __fsub_rn(x[i], lost);
    const float next = __fadd_rn(sum, term);
    lost = __fsub_rn(__fsub_rn(next, sum), term);
    sum = next;
  }
  *total = sum;
#else
  double sum = 0.0;
  for (long long i = 0; i < n; ++i) sum += x[i];
  *total = static_cast<float>(sum);
#endif
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) { add<<<1, 1, 0, stream>>>(x, total, n); }
