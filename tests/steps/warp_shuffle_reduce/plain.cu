// y = x / sum(|x|) along each row. One block a row; its threads combine through shared memory.
#include <cuda_runtime.h>

__global__ void normalize_kernel(const float *x, float *y, int columns) {
  const float *in = x + (size_t)blockIdx.x * columns;
  float *out = y + (size_t)blockIdx.x * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += fabsf(in[i]);
  __shared__ float sumSlots2[128];
  sumSlots2[threadIdx.x] = sum;
  __syncthreads();
  for (int offset = 64; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) sumSlots2[threadIdx.x] += sumSlots2[threadIdx.x + offset];
    __syncthreads();
  }
  sum = sumSlots2[0];
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = in[i] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  normalize_kernel<<<rows, 128, 0, stream>>>(x, y, columns);
}
