// ker_viterbi<float> as its own launcher starts it, with the score of the best sequence and with a bias; a mask of one ends a sequence.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <curand_kernel.h>
#include "crf.cu"

extern "C" void lightseq_viterbi(const float *start, const float *end, const float *transition, const float *emission, const uint8_t *mask, const float *bias, float *score,
                                 int *history, int *best, int batch, int length, int tags, cudaStream_t stream) {
  ker_viterbi<float><<<batch, dim3(32, 32), 2 * tags * sizeof(float), stream>>>(start, end, transition, emission, mask, bias, score, history, best, tags, length);
}
