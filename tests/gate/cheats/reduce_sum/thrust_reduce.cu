// gate: delegated
//
// Lets Thrust do the work.
#include <cuda_runtime.h>

namespace thrust {
float reduce(const float *first, const float *last);
}
__global__ void store(float *total, float value) { *total = value; }

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  store<<<1, 1, 0, stream>>>(total, thrust::reduce(x, x + n));
}
