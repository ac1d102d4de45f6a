// quantize_kernel<__half> as its own launcher starts it; numel is a multiple of eight.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <curand_kernel.h>
#include "quantize_kernels.cu"

extern "C" void lightseq_quantize(int8_t *quantized, uint8_t *mask, float *alpha, const __half *input, const __half *clip, int numel, cudaStream_t stream) {
  quantize_kernel<__half><<<numel / 8192 + 2, 1024, 0, stream>>>(quantized, mask, alpha, input, clip, numel, 3);
}
