// One thread a row: each total is wanted, and the rows are no parts of one range.
#include <cuda_runtime.h>

__global__ void rowSums(const float *x, float *out, int n, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += x[row * n + i];
  out[row] = sum;
}

extern "C" void total(const float *x, float *room, float *out, int n, cudaStream_t stream) {
  rowSums<<<8, 128, 0, stream>>>(x, room, n / 1024, 1024);
  rowSums<<<1, 128, 0, stream>>>(room, out, 1024, 1);
}
