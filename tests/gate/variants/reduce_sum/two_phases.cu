// gate: accepted
//
// Partial sums of a fixed number of blocks, then one block over those: other blocks, other runs of elements, other trees.
#include <cuda_runtime.h>
// vary: THREADS=64,128,512 BLOCKS=7,64 BY_RUNS=0,1 SHUFFLES=0,1

__global__ void phase(const float *x, float *sums, long long n) {
  const long long threads = static_cast<long long>(gridDim.x) * THREADS;
  const long long own = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  float sum = 0.0f;
#if BY_RUNS
  const long long run = (n + threads - 1) / threads;
  for (long long i = own * run; i < (own + 1) * run && i < n; ++i) sum += x[i];
#else
  for (long long i = own; i < n; i += threads) sum += x[i];
#endif
#if SHUFFLES
  __shared__ float ofWarp[THREADS / 32];
  for (int offset = 1; offset < 32; offset *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) ofWarp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float whole = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) whole += ofWarp[w];
    sums[blockIdx.x] = whole;
  }
#else
  __shared__ float part[THREADS];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = THREADS / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
#endif
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  phase<<<BLOCKS, THREADS, 0, stream>>>(x, partials, n);
  phase<<<1, THREADS, 0, stream>>>(partials, total, BLOCKS);
}
