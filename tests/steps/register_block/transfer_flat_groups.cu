// direction: simplify
// C = alpha * A * B^T + beta * D. 128 threads in one row; a thread's 4 rows are neighbours, its 2 columns are stored one after the other.
#include <cuda_runtime.h>

#define TILE_ROWS 64
#define TILE_COLS 16

__global__ void mix(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ d, float *__restrict__ y, int batch, int width,
                    int depth, float alpha, float beta) {
  const int lane = threadIdx.x % 8, group = threadIdx.x / 8;
  const int r0 = blockIdx.x * TILE_ROWS + group * 4;
  const int c0 = blockIdx.y * TILE_COLS + lane;
  if (r0 >= batch || c0 >= width) return;
  float total[2][4] = {};
  for (int p = 0; p < depth; ++p) {
    float first = 0.0f, second = 0.0f;
    if (c0 < width) first = w[(size_t)c0 * depth + p];
    if (c0 + 8 < width) second = w[(size_t)(c0 + 8) * depth + p];
    for (int r = 0; r < 4; ++r) {
      const float value = r0 + r < batch ? x[(size_t)(r0 + r) * depth + p] : 0.0f;
      total[0][r] = fmaf(value, first, total[0][r]);
      total[1][r] = fmaf(value, second, total[1][r]);
    }
  }
  for (int r = 0; r < 4; ++r) {
    const int at = r0 + r;
    if (at < batch) {
      if (c0 < width) y[(size_t)at * width + c0] = alpha * total[0][r] + beta * d[c0];
      if (c0 + 8 < width) y[(size_t)at * width + c0 + 8] = alpha * total[1][r] + beta * d[c0 + 8];
    }
  }
}

extern "C" void launch(const float *x, const float *w, const float *d, float *y, int batch, int width, int depth, float alpha, float beta,
                       cudaStream_t stream) {
  mix<<<dim3((batch + TILE_ROWS - 1) / TILE_ROWS, (width + TILE_COLS - 1) / TILE_COLS), 128, 0, stream>>>(x, w, d, y, batch, width, depth, alpha, beta);
}
