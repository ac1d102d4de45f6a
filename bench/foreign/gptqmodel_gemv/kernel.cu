// gemv_kernel_g128 as its own launcher starts it; the inputs are a multiple of 1024, as the load of the weights has no guard, the outputs a multiple of four.
#include "gemv_cuda.cu"

extern "C" void gptqmodel_gemv(const half *input, const uint32_t *weight, const uint32_t *zeros, const half *scales, half *output, int batch, int inputs, int outputs, cudaStream_t stream) {
  gemv_kernel_g128<<<dim3(1, outputs / 4, batch), dim3(32, 4), 0, stream>>>(reinterpret_cast<const float4 *>(input), weight, zeros, scales, output, inputs, outputs);
}
