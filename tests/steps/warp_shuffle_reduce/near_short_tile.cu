// A tile of 16 lanes is given the five rounds of a warp: the first round finds no partner in the tile, so no lane ends with a total.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void shortTile(const float *x, float *y, int columns) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const float *in = x + (size_t)blockIdx.x * columns;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) sum += fabsf(in[i]) / 32.0f;
  for (int offset = 16; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  sum = tile.shfl(sum, 0);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[(size_t)blockIdx.x * columns + i] = in[i] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  shortTile<<<rows, 32, 0, stream>>>(x, y, columns);
}
