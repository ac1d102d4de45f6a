// near: simplify
// Eight halves and eight bytes that travel in one vector, and a pair whose lanes are no 32-bit scalars: each is declined by name.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void packed(const float *x, float *y, int rows, int columns) {
  __shared__ __align__(16) __half halves[256];
  __shared__ __align__(16) unsigned char bytes[256];
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    halves[i] = __float2half(1.0f);
    bytes[i] = 1;
  }
  __syncthreads();
  if (r >= rows) return;
  float4 eight = *reinterpret_cast<const float4 *>(&halves[8 * (r % 32)]);
  long long words = *reinterpret_cast<const long long *>(&bytes[8 * (r % 32)]);
  __half2 pair = *reinterpret_cast<const __half2 *>(&halves[2 * (r % 32)]);
  y[r] = __half2float(*reinterpret_cast<__half *>(&eight)) * float(words & 1) * __low2float(pair) + x[r] * 0.0f * columns;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) packed<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
