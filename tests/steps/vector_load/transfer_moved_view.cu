// direction: simplify
// The view is moved to its row after the cast, once by adding and once by taking an address, and read through the read-only cache.
#include <cuda_runtime.h>

__global__ void rowNorms(const float *x, const float *weight, float *y, int rows, int vectors) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float4 *line = reinterpret_cast<const float4 *>(x) + r * vectors;
  const float4 *scales = &reinterpret_cast<const float4 *>(weight)[0];
  float sum = 0.0f;
  for (int k = 0; k < vectors; ++k) {
    float4 v = line[k];
    float4 s = __ldg(scales + k);
    sum += v.x * s.x + v.y * s.y + v.z * s.z + v.w * s.w;
  }
  y[r] = sum;
}

extern "C" void weighted(const float *x, const float *weight, float *y, int rows, int vectors, cudaStream_t stream) {
  if (rows > 0) rowNorms<<<(rows + 31) / 32, 32, 0, stream>>>(x, weight, y, rows, vectors);
}
