// gate: unwritten_output
//
// Launches half the blocks of its first phase and adds up all partial sums: what comes out is the poison of the
// work space, which is the same as that of an output.
#include <cuda_runtime.h>

__global__ void phase(const float *x, float *sums, long long n) {
  float sum = 0.0f;
  for (long long i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
  sums[blockIdx.x] = sum;
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  phase<<<32, 1, 0, stream>>>(x, partials, n);
  phase<<<1, 1, 0, stream>>>(partials, total, 64);
}
