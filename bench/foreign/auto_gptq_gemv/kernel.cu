// VecQuant4MatMulKernelFaster_old as its own launcher starts it; it adds to what `sum` holds. A group is a multiple of eight rows of the matrix written out.
#include <cstring>
#include "autogptq_cuda_kernel_256.cu"

extern "C" void auto_gptq_gemv(const half *x, const int *matrix, float *sum, const float *scales, const int *zeros, int batch, int height, int width, int groups, cudaStream_t stream) {
  VecQuant4MatMulKernelFaster_old<<<dim3(height / 32, width / 256, batch), 256, 0, stream>>>(reinterpret_cast<const half2 *>(x), matrix, sum, scales, zeros, batch, height * 4, height, width,
                                                                                             width / 8, height * 8 / groups);
}
