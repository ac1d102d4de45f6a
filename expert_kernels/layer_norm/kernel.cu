// y = (x - mean) / sqrt(variance + eps) * gamma + beta along each row.
//
// One block a row, three sweeps: the mean, the variance about that mean, the result. Summing squared differences instead of squares
// keeps the variance right when the mean is large; the later sweeps find the row in the cache, which the writes are told not to fill.
// Longer rows get larger blocks: then fewer rows are in flight, and they stay in the cache between the sweeps.
#include <cuda_runtime.h>

namespace {

constexpr int kMaxThreads = 512;
constexpr int kMaxWarps = kMaxThreads / 32;

__device__ __forceinline__ float warpSum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}

// The sum over the block, in every thread: each warp adds up the sums of all warps. `scratch` holds one float a warp and may be used again only
// after another barrier.
__device__ __forceinline__ float blockSum(float value, float *scratch) {
  value = warpSum(value);
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = value;
  __syncthreads();
  return warpSum((threadIdx.x & 31) < blockDim.x / 32 ? scratch[threadIdx.x & 31] : 0.0f);
}

__global__ void layer_norm_kernel(const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta, float *__restrict__ y,
                  int columns, float eps) {
  __shared__ float sums[kMaxWarps];
  __shared__ float squares[kMaxWarps];

  const size_t base = static_cast<size_t>(blockIdx.x) * columns;
  const float *row = x + base;
  float *out = y + base;
  const bool wide = columns % 4 == 0;   // else most rows start off a 16-byte boundary
  const float inverse = 1.0f / columns;

  float sum = 0.0f;
  if (wide) {
    const float4 *row4 = reinterpret_cast<const float4 *>(row);
    for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
      float4 v = row4[i];
      sum += v.x + v.y + v.z + v.w;
    }
  } else {
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  }
  const float mean = blockSum(sum, sums) * inverse;

  float square = 0.0f;
  if (wide) {
    const float4 *row4 = reinterpret_cast<const float4 *>(row);
    for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
      float4 v = row4[i];
      float dx = v.x - mean, dy = v.y - mean, dz = v.z - mean, dw = v.w - mean;
      square += dx * dx + dy * dy + dz * dz + dw * dw;
    }
  } else {
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
      float d = row[i] - mean;
      square += d * d;
    }
  }
  const float rstd = rsqrtf(blockSum(square, squares) * inverse + eps);

  if (wide) {
    const float4 *row4 = reinterpret_cast<const float4 *>(row);
    const float4 *gamma4 = reinterpret_cast<const float4 *>(gamma);
    const float4 *beta4 = reinterpret_cast<const float4 *>(beta);
    float4 *out4 = reinterpret_cast<float4 *>(out);
    for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
      float4 v = row4[i];
      float4 g = gamma4[i];
      float4 b = beta4[i];
      v.x = (v.x - mean) * rstd * g.x + b.x;
      v.y = (v.y - mean) * rstd * g.y + b.y;
      v.z = (v.z - mean) * rstd * g.z + b.z;
      v.w = (v.w - mean) * rstd * g.w + b.w;
      __stcs(&out4[i], v);
    }
  } else {
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = (row[i] - mean) * rstd * gamma[i] + beta[i];
  }
}

} // namespace

extern "C" void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int columns, float eps,
                           cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  const int threads = columns <= 2048 ? 128 : columns <= 4096 ? 256 : kMaxThreads;
  layer_norm_kernel<<<rows, threads, 0, stream>>>(x, gamma, beta, y, columns, eps);
}
