// direction: simplify
// The view is moved to its row after the cast, once by adding and once by taking an address, and read through the read-only cache.
#include <cuda_runtime.h>

__global__ void rowNorms(const float *x, const float *weight, float *y, int rows, int vectors) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;

  float sum = 0.0f;
  for (int k = 0; k < vectors; ++k) {
    float4 v = make_float4(x[4 * (r * vectors) + 4 * k], x[4 * (r * vectors) + 4 * k + 1],
                           x[4 * (r * vectors) + 4 * k + 2], x[4 * (r * vectors) + 4 * k + 3]);
    float4 s = make_float4(weight[4 * k], weight[4 * k + 1], weight[4 * k + 2], weight[4 * k + 3]);
    sum += v.x * s.x + v.y * s.y + v.z * s.z + v.w * s.w;
  }
  y[r] = sum;
}

extern "C" void weighted(const float *x, const float *weight, float *y, int rows, int vectors, cudaStream_t stream) {
  if (rows > 0) rowNorms<<<(rows + 31) / 32, 32, 0, stream>>>(x, weight, y, rows, vectors);
}
