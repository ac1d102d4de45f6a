// direction: simplify
// Another author's form: a helper that answers the total, a stride that is a constant, one thread that leaves a scale for the others.
#include <cuda_runtime.h>

namespace {
constexpr int kBlock = 192;

__device__ float addUp(float mine, float *room) {
  room[threadIdx.x] = mine;
  __syncthreads();
  float all = 0.f;
  for (int t = 0; t < kBlock; ++t) all += room[t];
  __syncthreads();
  return all;
}

__global__ void __launch_bounds__(kBlock) scale(const float *__restrict__ in, float *__restrict__ out, int length) {
  __shared__ float room[kBlock];
  __shared__ float factor;
  in += (size_t)blockIdx.x * length;
  out += (size_t)blockIdx.x * length;
  float part = 0.f;
  int tid = threadIdx.x;
  for (int c = tid; c < length; c += kBlock) part = fabsf(in[c]) + part;
  float whole = addUp(part, room);
  if (tid == 0) factor = 1.f / whole;
  __syncthreads();
  for (int c = tid; c < length; c += kBlock) out[c] = in[c] * factor;
}
} // namespace

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  dim3 grid(rows), block(kBlock);
  scale<<<grid, block, 0, stream>>>(x, y, columns);
}
