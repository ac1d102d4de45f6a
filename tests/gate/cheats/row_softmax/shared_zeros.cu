// gate: uninitialized_read
//
// Takes shared memory for zeros.
#include <cuda_runtime.h>

// One block a row.
__global__ void softmax(const float *x, float *y, int columns) {
  __shared__ float sum;
  const float *in = x + static_cast<size_t>(blockIdx.x) * columns;
  float *out = y + static_cast<size_t>(blockIdx.x) * columns;
  float most = -3.4e38f;
  for (int c = 0; c < columns; ++c) most = fmaxf(most, in[c]);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) atomicAdd(&sum, expf(in[c] - most));
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[c] = expf(in[c] - most) / sum;
}

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  softmax<<<rows, 64, 0, stream>>>(x, y, columns);
}
