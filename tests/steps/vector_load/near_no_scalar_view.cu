// near: simplify
// Wide reads that cannot be written element by element where they stand: the index counts as it is read, the vector holds the bits of integers, the
// pointer was made with a value that changes or that another name hides, the scalar side of a branch does something else or other elements.
#include <cuda_runtime.h>

__global__ void fiveWays(const float *x, float *y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float4 *all = reinterpret_cast<const float4 *>(x);
  int next = r;
  float4 counted = all[next++];

  __shared__ int words[128];
  words[threadIdx.x % 128] = r;
  __syncthreads();
  float4 bits = *reinterpret_cast<const float4 *>(&words[threadIdx.x % 32 * 4]);

  int start = 4 * r;
  const float4 *early = reinterpret_cast<const float4 *>(x + start);
  start += 4;
  float4 before = *early;

  const float4 *outside = reinterpret_cast<const float4 *>(x + start);
  float4 hidden;
  {
    int start = columns;
    hidden = outside[start % 2];
  }

  float sum = 0.0f;
  if (columns % 4 == 0) {
    float4 v = all[r];
    sum = v.x + v.y + v.z + v.w;
  } else {
    sum = x[4 * r];
    y[r] = 0.0f;
  }
  float some = 0.0f;
  if (r % 2 == 0) {
    float4 v = all[r];
    some = v.x + v.y + v.z + v.w;
  } else {
    some = x[4 * r];
  }
  y[r] = counted.x + bits.y + before.z + hidden.w + sum + some + next;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) fiveWays<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
