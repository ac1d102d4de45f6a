// The squared length of each row, in vectors of four with a scalar tail.
#include <cuda_runtime.h>

__global__ void rowLengths(const float *x, float *y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float *row = x + (size_t)r * columns;
  float sum = 0.0f;
  const int vectors = reinterpret_cast<size_t>(row) % 16 == 0 ? (columns) / 4 : 0;
  for (int i = 0; i < vectors; ++i) {
    const float4 xLanes = reinterpret_cast<const float4 *>(row)[i];
    sum += xLanes.x * xLanes.x;
    sum += xLanes.y * xLanes.y;
    sum += xLanes.z * xLanes.z;
    sum += xLanes.w * xLanes.w;
  }
  for (int i = 4 * vectors + 0; i < columns; ++i) sum += row[i] * row[i];
  y[r] = sum;
}

extern "C" void lengths(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) rowLengths<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, columns);
}
