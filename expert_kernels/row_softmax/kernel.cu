// y = softmax(x) along each row.
//
// One block a row. Each thread keeps a running maximum and the sum of exponentials relative to it, so the row is read once for both;
// the pairs are merged by shuffles inside a warp, and those of the warps by shuffles in every warp. A second sweep writes the quotients; its reads
// find the row in the cache, which the writes are told not to fill. Longer rows get larger blocks: then fewer rows are in flight, and they stay
// in the cache between the sweeps.
#include <cuda_runtime.h>
#include <cfloat>

namespace {

constexpr int kMaxThreads = 512;
constexpr int kMaxWarps = kMaxThreads / 32;

__global__ void __launch_bounds__(kMaxThreads)
row_softmax_kernel(const float *__restrict__ x, float *__restrict__ y, int columns) {
  __shared__ float warpMax[kMaxWarps];
  __shared__ float warpSum[kMaxWarps];

  const float *in = x + static_cast<size_t>(blockIdx.x) * columns;
  float *out = y + static_cast<size_t>(blockIdx.x) * columns;
  const float4 *in4 = reinterpret_cast<const float4 *>(in);
  float4 *out4 = reinterpret_cast<float4 *>(out);
  // Every row starts at a 16-byte boundary only if the row length is a multiple of 4.
  const int vectors = columns % 4 == 0 ? columns / 4 : 0;

  // The lowest finite value instead of -inf: merging two parts that saw only -inf must not compute (-inf) - (-inf).
  float runMax = -FLT_MAX;
  float runSum = 0.0f;
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    const float4 v = in4[i];
    const float newMax = fmaxf(runMax, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    runSum = runSum * __expf(runMax - newMax) + __expf(v.x - newMax) + __expf(v.y - newMax) + __expf(v.z - newMax) + __expf(v.w - newMax);
    runMax = newMax;
  }
  for (int i = 4 * vectors + threadIdx.x; i < columns; i += blockDim.x) {
    const float v = in[i];
    const float newMax = fmaxf(runMax, v);
    runSum = runSum * __expf(runMax - newMax) + __expf(v - newMax);
    runMax = newMax;
  }

#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float otherMax = __shfl_xor_sync(0xffffffffu, runMax, offset);
    const float otherSum = __shfl_xor_sync(0xffffffffu, runSum, offset);
    const float newMax = fmaxf(runMax, otherMax);
    runSum = runSum * __expf(runMax - newMax) + otherSum * __expf(otherMax - newMax);
    runMax = newMax;
  }

  if (threadIdx.x % 32 == 0) {
    warpMax[threadIdx.x / 32] = runMax;
    warpSum[threadIdx.x / 32] = runSum;
  }
  __syncthreads();

  const int lane = threadIdx.x % 32;
  float rowMax = lane < blockDim.x / 32 ? warpMax[lane] : -FLT_MAX;
  float rowSum = lane < blockDim.x / 32 ? warpSum[lane] : 0.0f;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float otherMax = __shfl_xor_sync(0xffffffffu, rowMax, offset);
    const float otherSum = __shfl_xor_sync(0xffffffffu, rowSum, offset);
    const float newMax = fmaxf(rowMax, otherMax);
    rowSum = rowSum * __expf(rowMax - newMax) + otherSum * __expf(otherMax - newMax);
    rowMax = newMax;
  }
  const float scale = 1.0f / rowSum;

  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float4 v = in4[i];
    v.x = __expf(v.x - rowMax) * scale;
    v.y = __expf(v.y - rowMax) * scale;
    v.z = __expf(v.z - rowMax) * scale;
    v.w = __expf(v.w - rowMax) * scale;
    __stcs(&out4[i], v);
  }
  for (int i = 4 * vectors + threadIdx.x; i < columns; i += blockDim.x) out[i] = __expf(in[i] - rowMax) * scale;
}

} // namespace

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  const int threads = columns <= 2048 ? 128 : columns <= 4096 ? 256 : kMaxThreads;
  row_softmax_kernel<<<rows, threads, 0, stream>>>(x, y, columns);
}
