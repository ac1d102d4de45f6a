// transform_0213<float> as its own launcher starts it: [batch, tokens, heads * size] becomes [batch, heads, tokens, size]; size is a multiple of four.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <curand_kernel.h>
#include "transform_kernels.cu"

extern "C" void lightseq_split_heads(float *output, const float *input, int batch, int tokens, int heads, int size, cudaStream_t stream) {
  const int hidden = heads * size / 4;
  const int threads = hidden < 1024 ? hidden : 1024;
  transform_0213<float><<<dim3(batch, tokens), threads, 0, stream>>>(output, input, hidden, size / 4);
}
