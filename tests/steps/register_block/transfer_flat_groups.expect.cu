// direction: simplify
// C = alpha * A * B^T + beta * D. 128 threads in one row; a thread's 4 rows are neighbours, its 2 columns are stored one after the other.
#include <cuda_runtime.h>

#define TILE_ROWS 64
#define TILE_COLS 16

__global__ void mix(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ d,
                    float *__restrict__ y, int batch, int width, int depth, float alpha, float beta) {
  const int r0 = blockIdx.y * blockDim.y + threadIdx.y;
  const int c0 = blockIdx.x * blockDim.x + threadIdx.x;
  if (r0 >= batch || c0 >= width) return;
  float total = 0;
  for (int p = 0; p < depth; ++p) {
    float first = w[(size_t)c0 * depth + p];
    {
      const float value = x[(size_t)r0 * depth + p];
      total = fmaf(value, first, total);
    }
  }

  y[(size_t)r0 * width + c0] = alpha * total + beta * d[c0];
}

extern "C" void launch(const float *x, const float *w, const float *d, float *y, int batch, int width, int depth,
                       float alpha, float beta, cudaStream_t stream) {
  mix<<<dim3((width + 15) / 16, (batch + 15) / 16), dim3(16, 16), 0, stream>>>(x, w, d, y, batch, width, depth, alpha,
                                                                               beta);
}
