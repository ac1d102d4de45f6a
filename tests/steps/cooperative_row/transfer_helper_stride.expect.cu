// direction: simplify
// Another author's form: a helper that answers the total, a stride that is a constant, one thread that leaves a scale for the others.
#include <cuda_runtime.h>

namespace {
constexpr int kBlock = 192;

__global__ void __launch_bounds__(kBlock)
    scale(const float *__restrict__ in, float *__restrict__ out, int length, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float factor;
  in += (size_t)row * length;
  out += (size_t)row * length;
  float part = 0.f;
  for (int c = 0; c < length; ++c) part = fabsf(in[c]) + part;
  float whole = part;
  factor = 1.f / whole;
  for (int c = 0; c < length; ++c) out[c] = in[c] * factor;
}
} // namespace

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  dim3 grid(rows), block(kBlock);
  scale<<<(grid.x + 127) / 128, 128, 0, stream>>>(x, y, columns, grid.x);
}
