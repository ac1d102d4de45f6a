// A term of two buffers: the totals need a kernel of their own, and the launcher offers no memory for them.
#include <cuda_runtime.h>

__global__ void dot(const float *a, const float *b, float *result, int count) {
  float accumulated = 0.0f;
  for (int element = 0; element < count; ++element) accumulated = accumulated + a[element] * b[element];
  *result = accumulated;
}

extern "C" void product(const float *a, const float *b, float *result, int count, cudaStream_t stream) {
  if (count < 0) return;
  dot<<<1, 1, 0, stream>>>(a, b, result, count);
}
