// direction: simplify
// The tile of a transpose whose threads exchange their places by new values of the same variables.
#include <cuda_runtime.h>

#define EDGE 32

__global__ void flip(const float *__restrict__ src, float *__restrict__ dst, int height, int width) {
  __shared__ float patch[EDGE][EDGE];
  int u = blockIdx.x * EDGE + threadIdx.x, v = blockIdx.y * EDGE + threadIdx.y;
  if (u < width)
    for (int s = 0; s < EDGE; s += 8)
      if (v + s < height) patch[threadIdx.y + s][threadIdx.x] = src[(size_t)(v + s) * width + u];
  __syncthreads();
  u = blockIdx.y * EDGE + threadIdx.x;
  v = blockIdx.x * EDGE + threadIdx.y;
  if (u < height)
    for (int s = 0; s < EDGE; s += 8)
      if (v + s < width) dst[(size_t)(v + s) * height + u] = patch[threadIdx.x][threadIdx.y + s];
}

extern "C" void launch(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  flip<<<dim3((columns + EDGE - 1) / EDGE, (rows + EDGE - 1) / EDGE), dim3(EDGE, 8), 0, stream>>>(in, out, rows, columns);
}
