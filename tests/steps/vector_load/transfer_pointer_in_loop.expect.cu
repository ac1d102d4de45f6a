// direction: simplify
// The vector pointer is made anew in each round of a loop, whose variable it holds.
#include <cuda_runtime.h>

__global__ void strided(const float *x, float *y, int rows, int columns) {
  for (int r = threadIdx.x; r < rows; r += blockDim.x) {

    float sum = 0.0f;
    int i = 0;
    if (columns % 4 == 0)
      while (i < columns / 4) {
        const float4 v = make_float4((x + (size_t)r * columns)[4 * i], (x + (size_t)r * columns)[4 * i + 1],
                                     (x + (size_t)r * columns)[4 * i + 2], (x + (size_t)r * columns)[4 * i + 3]);
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        ++i;
      }
    for (i *= 4; i < columns; ++i) sum += x[(size_t)r * columns + i] * x[(size_t)r * columns + i];
    y[r] = sum;
  }
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) strided<<<1, 64, 0, stream>>>(x, y, rows, columns);
}
