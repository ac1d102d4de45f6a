// rope_cuda_kernel<true> as its own launcher starts it; size is a multiple of four above 32, and every sequence of the batch has `past` tokens behind it.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include "rope.cu"

extern "C" void exllamav2_rope(half *x, const half *sine, const half *cosine, int batch, int tokens, int heads, int size, int past, cudaStream_t stream) {
  const int rows = tokens * heads;
  const dim3 grid((size + 31) / 32 / 2, (rows + 3) / 4, batch);
  rope_cuda_kernel<true><<<grid, dim3(32, 4), 0, stream>>>(x, sine, cosine, rows, size, heads, past, nullptr, 4);
}
