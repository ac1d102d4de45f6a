// direction: materialize
// The two passes name their counters and reach the row in different ways.
#include <cuda_runtime.h>

__global__ void naive(const float *data, float *result, int count, int length) {
  int r = threadIdx.x + blockIdx.x * blockDim.x;
  if (r < count) {
    const float *line = data + (size_t)r * length;
    float biggest = -INFINITY;
    float z = 0.0f;
    for (int a = 0; a < length; a++) {
      const float element = line[a];
      const float next = fmaxf(biggest, element);
      z = z * (biggest == next ? 1.0f : __expf(biggest - next)) + (element == next ? 1.0f : __expf(element - next));
      biggest = next;
    }
    for (int c = 0; c < length; c++) result[(size_t)r * length + c] = __expf(line[c] - biggest) / z;
  }
}

extern "C" void softmax_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  naive<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, columns);
}
