// y = running sums along rows of 32.
//
// One warp a row. The lanes exchange their sums through shared memory, so two warp syncs stand in each step.
#include <cuda_runtime.h>

namespace {

constexpr int kWarps = 4;

__global__ void warp_scan_kernel(const float *__restrict__ x, float *__restrict__ y, int rows) {
  __shared__ float line[kWarps][32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int row = blockIdx.x * kWarps + warp;
  if (row >= rows) return;
  float sum = x[row * 32 + lane];
  for (int step = 1; step < 32; step *= 2) {
    line[warp][lane] = sum;
    __syncwarp();
    if (lane >= step) sum += line[warp][lane - step];
    __syncwarp();
  }
  y[row * 32 + lane] = sum;
}

} // namespace

extern "C" void warp_scan(const float *x, float *y, int rows, cudaStream_t stream) {
  warp_scan_kernel<<<(rows + kWarps - 1) / kWarps, 32 * kWarps, 0, stream>>>(x, y, rows);
}
