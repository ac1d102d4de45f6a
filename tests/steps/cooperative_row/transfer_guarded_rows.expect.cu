// direction: materialize
// The row's work stands inside the guard, in pointer form, with a tail of two loops that fill one sum.
#include <cuda_runtime.h>

__global__ void naive(const float *x, float *y, int n, int len) {
  int r = blockIdx.x;
  if (n > r) {
    const float *p = x + (size_t)r * len;
    float s = 0.0f;
    int half = len / 2;
    for (int k = threadIdx.x; k < half; k += blockDim.x) s += fabsf(p[k]);
    for (int k = half + threadIdx.x; k < len; k += blockDim.x) s = s + fabsf(p[k]);
    __shared__ float sSlots[256];
    sSlots[threadIdx.x] = s;
    __syncthreads();
    for (int offset = 128; offset > 0; offset /= 2) {
      if (threadIdx.x < offset) sSlots[threadIdx.x] += sSlots[threadIdx.x + offset];
      __syncthreads();
    }
    s = sSlots[0];
    __syncthreads();
    float inv = 1.0f / s;
    for (int k = threadIdx.x; k < len; k += blockDim.x) y[(size_t)r * len + k] = p[k] * inv;
  }
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  naive<<<rows, 256, 0, stream>>>(x, y, rows, columns);
}
