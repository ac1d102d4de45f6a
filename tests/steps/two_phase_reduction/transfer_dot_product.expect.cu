// A term of two buffers: the totals need a kernel of their own, and the launcher offers no memory for them.
#include <cuda_runtime.h>

__global__ void dot(const float *a, const float *b, float *result, int count, int parts) {
  const int part = blockIdx.x * blockDim.x + threadIdx.x;
  if (part >= parts) return;
  float accumulated = 0.0f;
  for (int element = part; element < count; element += parts) accumulated = accumulated + a[element] * b[element];
  result[part] = accumulated;
}

__global__ void combineAccumulated(const float *__restrict__ totals, float *__restrict__ out, int count, int parts) {
  const int part = blockIdx.x * blockDim.x + threadIdx.x;
  if (part >= parts) return;
  float total = 0.0f;
  for (int i = part; i < count; i += parts) total += totals[i];
  out[part] = total;
}

extern "C" void product(const float *a, const float *b, float *result, int count, cudaStream_t stream) {
  if (count < 0) return;
  float *totals2 = nullptr;
  if (cudaMallocAsync(&totals2, 1024 * sizeof(float), stream) != cudaSuccess) return;
  dot<<<8, 128, 0, stream>>>(a, b, totals2, count, 1024);
  combineAccumulated<<<1, 128, 0, stream>>>(totals2, result, 1024, 1);
  cudaFreeAsync(totals2, stream);
}
