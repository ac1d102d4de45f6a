// y[r][t] = the sum over chunks c of (c + 1) * x[r][128 c + 127 - t]: a row folded into its mirrored, weighted chunks.
//
// One block a row. While the block adds one chunk, the next is on its way into the other of two stages by asynchronous copies. The mirror makes each thread
// read what another one has brought.
#include <cuda_runtime.h>
#include <cuda_pipeline.h>

namespace {

constexpr int kThreads = 128;

// One element a thread, zero behind the end of the row.
__device__ __forceinline__ void bring(float *stage, const float *__restrict__ row, int first, int columns) {
  const int column = first + threadIdx.x;
  if (column < columns) __pipeline_memcpy_async(&stage[threadIdx.x], &row[column], sizeof(float));
  else stage[threadIdx.x] = 0.0f;
}

__global__ void async_rows_kernel(const float *__restrict__ x, float *__restrict__ y, int columns) {
  __shared__ float stage[2][kThreads];
  const float *row = x + static_cast<size_t>(blockIdx.x) * columns;
  const int chunks = (columns + kThreads - 1) / kThreads;
  bring(stage[0], row, 0, columns);
  __pipeline_commit();
  float sum = 0.0f;
  for (int c = 0; c < chunks; ++c) {
    if (c + 1 < chunks) bring(stage[(c + 1) % 2], row, (c + 1) * kThreads, columns);
    __pipeline_commit();       // an empty group behind the last chunk, so that the wait below always leaves one
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += (c + 1) * stage[c % 2][kThreads - 1 - threadIdx.x];
    __syncthreads();           // the stage is filled again in the next round
  }
  y[static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x] = sum;
}

} // namespace

extern "C" void async_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  async_rows_kernel<<<rows, kThreads, 0, stream>>>(x, y, columns);
}
