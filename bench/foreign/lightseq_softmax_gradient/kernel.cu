// ker_attn_softmax_bw<float, 8> as its own launcher starts it for rows of 129 to 256 elements; the gradient is overwritten, rows are a multiple of four.
#include <math.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cub/block/block_load.cuh>
#include <cub/cub.cuh>
#include <curand_kernel.h>
#include <cooperative_groups.h>
#include "softmax_kernels.cu"

extern "C" void lightseq_softmax_gradient(float *gradient, const float *output, int rows, int length, cudaStream_t stream) {
  ker_attn_softmax_bw<float, 8><<<rows / 4, dim3(32, 4), 0, stream>>>(gradient, output, length);
}
