// direction: simplify
// Cooperative groups, a warp-sized tile a row: the strides of the butterfly grow, and the largest element goes down to lane 0 and is handed round.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace groups = cooperative_groups;

__global__ void tiles(const float *x, float *y, int rows, int columns) {
  auto block = groups::this_thread_block();
  auto tile = groups::tiled_partition<32>(block);
  const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= rows) return;
  float total = 0.0f, largest = 0.0f;
  for (int c = tile.thread_rank(); c < columns; c += tile.size()) {
    float size = fabsf(x[row * columns + c]);
    total += size;
    largest = fmaxf(largest, size);
  }
  __shared__ float totalSlots[128];
  totalSlots[threadIdx.x] = total;
  __syncwarp();
  total = totalSlots[threadIdx.x / 32 * 32];
  for (int other = 1; other < 32; ++other) total += totalSlots[threadIdx.x / 32 * 32 + other];
  __syncwarp();
  __shared__ float largestSlots[128];
  largestSlots[threadIdx.x] = largest;
  __syncwarp();
  largest = largestSlots[threadIdx.x / 32 * 32];
  for (int other = 1; other < 32; ++other) largest = fmaxf(largest, largestSlots[threadIdx.x / 32 * 32 + other]);
  __syncwarp();
  const float scale = largest > 0.0f ? 1.0f / total : 0.0f;
  for (int c = tile.thread_rank(); c < columns; c += tile.size()) y[row * columns + c] = x[row * columns + c] * scale;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  tiles<<<(rows + 3) / 4, 128, 0, stream>>>(x, y, rows, columns);
}
