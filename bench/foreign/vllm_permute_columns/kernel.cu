// permute_cols_kernel as its own launcher starts it, on a machine of four multiprocessors.
#include "permute_cols.cu"

extern "C" void vllm_permute_columns(const half *input, const int *order, half *output, int rows, int columns, cudaStream_t stream) {
  permute_cols_kernel<<<4, 256, 0, stream>>>(reinterpret_cast<const int4 *>(input), order, reinterpret_cast<int4 *>(output), rows, columns, (rows + 3) / 4);
}
