// y = A x, one row a thread: along one axis only, x serves every row.
#include <cuda_runtime.h>

__global__ void rows_times(const double *__restrict__ matrix, const double *__restrict__ vector, double *__restrict__ result, int height, int width) {
  int r = threadIdx.x + blockDim.x * blockIdx.x;
  if (r < height) {
    double total = 0.0;
    for (int c = 0; c < width; c++) {
      const double weight = vector[c];
      total = fma(weight, matrix[(size_t)r * width + c], total);
    }
    result[r] = total;
  }
}

extern "C" void launch(const double *matrix, const double *vector, double *result, int height, int width, cudaStream_t stream) {
  rows_times<<<(height + 63) / 64, 64, 0, stream>>>(matrix, vector, result, height, width);
}
