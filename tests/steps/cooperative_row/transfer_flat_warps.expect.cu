// direction: simplify
// A warp a row in blocks of one dimension; lane and row are computed from the linear index.
#include <cuda_runtime.h>

constexpr int kWarpsPerBlock = 4;

__global__ void flat(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float *in = x + (size_t)row * columns;
  float a = 0.0f;
  for (int j = 0; j < columns; ++j) a += fabsf(in[j]);
  const float inverse = 1.0f / a;
  for (int j = 0; j < columns; ++j) y[(size_t)row * columns + j] = in[j] * inverse;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  flat<<<(rows + kWarpsPerBlock - 1) / kWarpsPerBlock, 4, 0, stream>>>(x, y, rows, columns);
}
