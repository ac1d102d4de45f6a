// Two stores of two, one index flattened by hand, another order of the factors.
#include <cuda_runtime.h>

__global__ void fill(float *y, const float *x, int count) {
  const int at = threadIdx.x + blockDim.x * blockIdx.x;
  if (at < count) {
    float v = x[at];
    float a = v * v;

    if (reinterpret_cast<size_t>(&y[at * 4 + 0]) % 16 == 0) {
      *reinterpret_cast<float4 *>(&y[at * 4 + 0]) = make_float4(v, a, a * v, 1.0f);
    } else {
      y[at * 4 + 0] = v;
      y[at * 4 + 1] = a;
      y[at * 4 + 2] = a * v;
      y[at * 4 + 3] = 1.0f;
    }
  }
}

extern "C" void expand(const float *x, float *y, int n, cudaStream_t stream) {
  if (n > 0) fill<<<(n + 31) / 32, 32, 0, stream>>>(y, x, n);
}
