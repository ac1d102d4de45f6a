// How often each of 64 values occurs in x.
//
// Each block counts in shared memory first, then adds its counts to the result, so that few atomics meet in global memory.
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 128;
constexpr int kBins = 64;

__global__ void histogram_kernel(const int *__restrict__ x, unsigned *__restrict__ bins, int n) {
  __shared__ unsigned own[kBins];
  for (int b = threadIdx.x; b < kBins; b += kThreads) own[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += kThreads) atomicAdd(&bins[b], own[b]);
}

} // namespace

extern "C" void histogram(const int *x, unsigned *bins, int n, cudaStream_t stream) {
  cudaMemsetAsync(bins, 0, kBins * sizeof(unsigned), stream);
  const int blocks = (n + 4 * kThreads - 1) / (4 * kThreads);
  histogram_kernel<<<blocks, kThreads, 0, stream>>>(x, bins, n);
}
