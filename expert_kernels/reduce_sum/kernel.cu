// The sum of n floats.
//
// Two phases: a fixed number of blocks strides over the input and leaves one partial sum a block; one more block adds those up. No
// atomics, so equal inputs give equal bits.
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;
constexpr int kMaxBlocks = 1024;

// Adds over the block; the result is valid in thread 0. Threads is a multiple of 32.
template <int Threads> __device__ __forceinline__ float blockSum(float value) {
  constexpr int warps = Threads / 32;
  __shared__ float perWarp[warps];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  if (lane == 0) perWarp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < warps ? perWarp[lane] : 0.0f;
#pragma unroll
    for (int offset = warps / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <int Threads>
__global__ void __launch_bounds__(Threads) sum_kernel(const float *__restrict__ x, float *__restrict__ sums, long long n) {
  const float4 *x4 = reinterpret_cast<const float4 *>(x);
  const long long vectors = n / 4;
  const long long stride = static_cast<long long>(gridDim.x) * Threads;
  const long long first = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;

  float sum = 0.0f;
#pragma unroll 4
  for (long long i = first; i < vectors; i += stride) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  // At most three elements are left over.
  const long long tail = 4 * vectors + first;
  if (tail < n) sum += x[tail];

  sum = blockSum<Threads>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

} // namespace

// partials has room for 1024 floats.
extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  const long long perBlock = 16LL * kThreads;
  const long long wanted = (n + perBlock - 1) / perBlock;
  const int blocks = static_cast<int>(wanted < 1 ? 1 : (wanted < kMaxBlocks ? wanted : kMaxBlocks));
  sum_kernel<kThreads><<<blocks, kThreads, 0, stream>>>(x, partials, n);
  sum_kernel<kThreads><<<1, kThreads, 0, stream>>>(partials, total, blocks);
}
