// y = x / sum(|x|) along each row. One block a row; a butterfly inside each warp, then one over the warps' parts.
#include <cuda_runtime.h>

__global__ void normalize_kernel(const float *x, float *y, int columns) {
  const float *in = x + (size_t)blockIdx.x * columns;
  float *out = y + (size_t)blockIdx.x * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += fabsf(in[i]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  __shared__ float sumSlots[4];
  if (threadIdx.x % 32 == 0) sumSlots[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = threadIdx.x % 32 < 4 ? sumSlots[threadIdx.x % 32] : 0.0f;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = in[i] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  normalize_kernel<<<rows, 128, 0, stream>>>(x, y, columns);
}
