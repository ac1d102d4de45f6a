// direction: simplify
// A helper reduces an array in place, two values at once, its rounds written out by a macro; only the first warp is left with the totals.
#include <cuda_runtime.h>

const unsigned everyLane = ~0u;
const float nothing = 0.f;

template <int Count>
__device__ void acrossWarp(float *values);
template <int Count>
__device__ void acrossBlock(float *values);

#define ROUND(distance)                                                                                                \
  other0 = __shfl_xor_sync(everyLane, *values, distance, 32);                                                          \
  other1 = __shfl_xor_sync(everyLane, *(values + 1), distance, 32);                                                    \
  *values += other0;                                                                                                   \
  *(values + 1) = *(values + 1) + other1

template <>
__device__ void acrossWarp<2>(float *values) {
  float other0, other1;
  ROUND(1);
  ROUND(2);
  ROUND(4);
  ROUND(8);
  ROUND(16);
}

template <>
__device__ void acrossBlock<2>(float *values) {
  static __shared__ float parts[2][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  acrossWarp<2>(values);
  if (lane == 0) {
#pragma unroll
    for (int k = 0; k < 2; ++k) parts[k][warp] = values[k];
  }
  __syncthreads();
  for (int k = 0; k < 2; ++k) values[k] = threadIdx.x < blockDim.x / 32 ? parts[k][lane] : nothing;
  acrossWarp<2>(values);
}

__global__ void bothSigns(const float *x, float *y, int columns) {
  const float *in = x + (size_t)blockIdx.x * columns;
  float above = 0.f, below = 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    above += fmaxf(in[c], 0.f);
    below -= fminf(in[c], 0.f);
  }
  float signs[2] = {above, below};
  __shared__ float signsSlots[160];
  __shared__ float signsSlots2[160];
  signsSlots[threadIdx.x] = signs[0];
  signsSlots2[threadIdx.x] = signs[1];
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int other = 1; other < 160; ++other) {
      signsSlots[0] += signsSlots[other];
      signsSlots2[0] += signsSlots2[other];
    }
  }
  __syncthreads();
  signs[0] = signsSlots[0];
  signs[1] = signsSlots2[0];
  __syncthreads();
  __shared__ float factor;
  if (threadIdx.x == 0) factor = 1.f / (signs[0] + signs[1]);
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) y[(size_t)blockIdx.x * columns + c] = in[c] * factor;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  bothSigns<<<rows, 160, 0, stream>>>(x, y, columns);
}
