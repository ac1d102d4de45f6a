// direction: simplify
// The helper is given the address of a plain variable, and the element of an array is combined on the spot.
#include <cuda_runtime.h>

template <typename T> __device__ __forceinline__ void overWarp(T *where) {
  *where = *where + __shfl_xor_sync(0xffffffffu, *where, 16);
  *where = *where + __shfl_xor_sync(0xffffffffu, *where, 8);
  *where = *where + __shfl_xor_sync(0xffffffffu, *where, 4);
  *where = *where + __shfl_xor_sync(0xffffffffu, *where, 2);
  *where = *where + __shfl_xor_sync(0xffffffffu, *where, 1);
}

__global__ void halves(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float *in = x + (size_t)row * columns;
  float even = 0.0f, odd[1];
  odd[0] = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 32) {
    if (c % 2 == 0) even += fabsf(in[c]);
    else odd[0] += fabsf(in[c]);
  }
  overWarp(&even);
  for (int lanes = 1; lanes < 32; lanes *= 2) odd[0] += __shfl_xor_sync(0xffffffffu, odd[0], lanes);
  for (int c = threadIdx.x; c < columns; c += 32) y[(size_t)row * columns + c] = in[c] / (even + odd[0]);
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  halves<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, columns);
}
