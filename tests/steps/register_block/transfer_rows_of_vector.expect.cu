// y = A x, one row a thread: along one axis only, x serves every row.
#include <cuda_runtime.h>

__global__ void rows_times(const double *__restrict__ matrix, const double *__restrict__ vector,
                           double *__restrict__ result, int height, int width) {
  int r = blockIdx.x * 256 + threadIdx.x;
  double total[4];
  for (int i = 0; i < 4; ++i) total[i] = 0.0;
  for (int c = 0; c < width; c++) {
    const double weight = vector[c];
    for (int i = 0; i < 4; ++i)
      total[i] = fma(weight, (r + i * 64 < height ? matrix[(size_t)(r + i * 64) * width + c] : 0.0), total[i]);
  }
  for (int i = 0; i < 4; ++i)
    if (r + i * 64 < height) result[r + i * 64] = total[i];
}

extern "C" void launch(const double *matrix, const double *vector, double *result, int height, int width,
                       cudaStream_t stream) {
  rows_times<<<(height + 255) / 256, 64, 0, stream>>>(matrix, vector, result, height, width);
}
