// Where the toolchain is: set at configure time, overridden by CUDA_PATH and KLINEAGE_RESOURCE_DIR (the portable bundle).
#pragma once
#include <string>

namespace klineage {

std::string cudaFolder();     ///< The CUDA Toolkit: holds bin/nvcc and include/cuda.h.
std::string resourceFolder(); ///< Clang's own headers: holds include/__clang_cuda_runtime_wrapper.h.

} // namespace klineage
