// direction: simplify
// The helper is given the address of a plain variable, and the element of an array is combined on the spot.
#include <cuda_runtime.h>

__global__ void halves(const float *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float *in = x + (size_t)row * columns;
  float even = 0.0f, odd[1];
  odd[0] = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 32) {
    if (c % 2 == 0)
      even += fabsf(in[c]);
    else
      odd[0] += fabsf(in[c]);
  }
  __shared__ float evenSlots[128];
  const int evenSlotsThread = threadIdx.y * blockDim.x + threadIdx.x;
  evenSlots[evenSlotsThread] = even;
  __syncwarp();
  even = evenSlots[evenSlotsThread / 32 * 32];
  for (int other = 1; other < 32; ++other) even += evenSlots[evenSlotsThread / 32 * 32 + other];
  __syncwarp();
  __shared__ float oddSlots[128];
  const int oddSlotsThread = threadIdx.y * blockDim.x + threadIdx.x;
  oddSlots[oddSlotsThread] = odd[0];
  __syncwarp();
  odd[0] = oddSlots[oddSlotsThread / 32 * 32];
  for (int other = 1; other < 32; ++other) odd[0] += oddSlots[oddSlotsThread / 32 * 32 + other];
  __syncwarp();
  for (int c = threadIdx.x; c < columns; c += 32) y[(size_t)row * columns + c] = in[c] / (even + odd[0]);
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  halves<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, columns);
}
