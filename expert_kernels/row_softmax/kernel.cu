// y = softmax(x) along each row.
//
// One block a row. Each thread keeps a running maximum and the sum of exponentials relative to it, so the row is read once for both;
// the pairs are merged by shuffles inside a warp and through shared memory between warps. A second sweep writes the quotients; its
// reads find the row in the cache.
#include <cuda_runtime.h>
#include <cfloat>

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__global__ void __launch_bounds__(kThreads)
row_softmax_kernel(const float *__restrict__ x, float *__restrict__ y, int columns) {
  __shared__ float warpMax[kWarps];
  __shared__ float warpSum[kWarps];

  const float *in = x + static_cast<size_t>(blockIdx.x) * columns;
  float *out = y + static_cast<size_t>(blockIdx.x) * columns;
  const float4 *in4 = reinterpret_cast<const float4 *>(in);
  float4 *out4 = reinterpret_cast<float4 *>(out);
  // Every row starts at a 16-byte boundary only if the row length is a multiple of 4.
  const int vectors = columns % 4 == 0 ? columns / 4 : 0;

  // The lowest finite value instead of -inf: merging two parts that saw only -inf must not compute (-inf) - (-inf).
  float runMax = -FLT_MAX;
  float runSum = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    const float4 v = in4[i];
    const float newMax = fmaxf(runMax, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    runSum = runSum * __expf(runMax - newMax) + __expf(v.x - newMax) + __expf(v.y - newMax) + __expf(v.z - newMax) + __expf(v.w - newMax);
    runMax = newMax;
  }
  for (int i = 4 * vectors + threadIdx.x; i < columns; i += kThreads) {
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

  float rowMax = warpMax[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) rowMax = fmaxf(rowMax, warpMax[w]);
  float rowSum = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) rowSum += warpSum[w] * __expf(warpMax[w] - rowMax);
  const float scale = 1.0f / rowSum;

#pragma unroll 4
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    float4 v = in4[i];
    v.x = __expf(v.x - rowMax) * scale;
    v.y = __expf(v.y - rowMax) * scale;
    v.z = __expf(v.z - rowMax) * scale;
    v.w = __expf(v.w - rowMax) * scale;
    out4[i] = v;
  }
  for (int i = 4 * vectors + threadIdx.x; i < columns; i += kThreads) out[i] = __expf(in[i] - rowMax) * scale;
}

} // namespace

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  row_softmax_kernel<<<rows, kThreads, 0, stream>>>(x, y, columns);
}
