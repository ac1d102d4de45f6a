// direction: materialize
// The row's work stands inside the guard, in pointer form, with a tail of two loops that fill one sum.
#include <cuda_runtime.h>

__global__ void naive(const float *x, float *y, int n, int len) {
  int r = threadIdx.x + blockDim.x * blockIdx.x;
  if (n > r) {
    const float *p = x + (size_t)r * len;
    float s = 0.0f;
    int half = len / 2;
    for (int k = 0; k < half; k++) s += fabsf(p[k]);
    for (int k = half; k < len; k++) s = s + fabsf(p[k]);
    float inv = 1.0f / s;
    for (int k = 0; k < len; k++) y[(size_t)r * len + k] = p[k] * inv;
  }
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  naive<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, columns);
}
