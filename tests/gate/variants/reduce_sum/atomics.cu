// gate: accepted
//
// One atomic a block into the result: the order of blocks is nobody's, so the last digits differ from run to run.
#include <cuda_runtime.h>
// vary: THREADS=32,128,256 ITEMS=1,8

__global__ void add(const float *x, float *total, long long n) {
  __shared__ float ofBlock;
  if (threadIdx.x == 0) ofBlock = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  const long long first = static_cast<long long>(blockIdx.x) * THREADS * ITEMS + threadIdx.x;
  for (int k = 0; k < ITEMS; ++k)
    if (first + k * THREADS < n) sum += x[first + k * THREADS];
  atomicAdd(&ofBlock, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, ofBlock);
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  cudaMemsetAsync(total, 0, sizeof(float), stream);
  add<<<(n + THREADS * ITEMS - 1) / (THREADS * ITEMS), THREADS, 0, stream>>>(x, total, n);
}
