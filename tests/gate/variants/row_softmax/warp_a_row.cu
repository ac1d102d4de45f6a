// gate: accepted
//
// One warp a row, online: a running maximum with the sum relative to it, merged by shuffles of either kind.
#include <cuda_runtime.h>
// vary: WARPS=1,2,4,8 DOWN=0,1 FUSED=0,1

__device__ void merge(float &most, float &sum, float otherMost, float otherSum) {
  const float newMost = fmaxf(most, otherMost);
#if FUSED
  sum = fmaf(sum, __expf(most - newMost), otherSum * __expf(otherMost - newMost));
#else
  sum = __fadd_rn(__fmul_rn(sum, __expf(most - newMost)), __fmul_rn(otherSum, __expf(otherMost - newMost)));
#endif
  most = newMost;
}

__global__ void softmax(const float *x, float *y, int rows, int columns) {
  const int lane = threadIdx.x % 32;
  const int row = blockIdx.x * WARPS + threadIdx.x / 32;
  if (row >= rows) return;
  const float *in = x + static_cast<size_t>(row) * columns;
  float *out = y + static_cast<size_t>(row) * columns;
  float most = -3.402823466e38f, sum = 0.0f;
  for (int c = lane; c < columns; c += 32) merge(most, sum, in[c], 1.0f);
#if DOWN
  for (int offset = 16; offset > 0; offset /= 2) {
    const float otherMost = __shfl_down_sync(0xffffffffu, most, offset), otherSum = __shfl_down_sync(0xffffffffu, sum, offset);
    merge(most, sum, otherMost, otherSum);
  }
  most = __shfl_sync(0xffffffffu, most, 0);
  sum = __shfl_sync(0xffffffffu, sum, 0);
#else
  for (int offset = 1; offset < 32; offset *= 2) {
    const float otherMost = __shfl_xor_sync(0xffffffffu, most, offset), otherSum = __shfl_xor_sync(0xffffffffu, sum, offset);
    merge(most, sum, otherMost, otherSum);
  }
#endif
  for (int c = lane; c < columns; c += 32) out[c] = __expf(in[c] - most) / sum;
}

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  softmax<<<(rows + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(x, y, rows, columns);
}
