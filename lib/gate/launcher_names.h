// Inside the gate only: the names that the launcher's grammar is made of (docs/gate.md, "The launcher").
#pragma once
#include <algorithm>
#include <cctype>
#include <string_view>

namespace klineage::launcher {

template <size_t N> bool isOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}
inline bool startsWith(std::string_view name, std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; }

/// Calls into CUDA's runtime that a launcher may make: attributes and queries of its kernels and device, work space and fills on its stream.
inline constexpr std::string_view runtimeCalls[] = {
    "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchKernelEx", "cudaLaunchCooperativeKernel", "cudaGetLastError", "cudaPeekAtLastError",
    "cudaGetErrorString", "cudaGetErrorName", "cudaFuncSetAttribute", "cudaFuncGetAttributes", "cudaFuncSetCacheConfig",
    "cudaFuncSetSharedMemConfig", "cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxPotentialBlockSize", "cudaGetDevice",
    "cudaDeviceGetAttribute", "cudaGetDeviceProperties", "cudaMemsetAsync", "cudaMemset", "cudaMemcpyAsync", "cudaMemcpyToSymbolAsync",
    "cudaMallocAsync", "cudaFreeAsync", "cudaMalloc", "cudaFree", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaGetSymbolAddress",
    "cudaMemcpy2DAsync", "__cudaPushCallConfiguration", "__cudaPopCallConfiguration"};

/// Host arithmetic that is no constexpr function.
inline constexpr std::string_view arithmetic[] = {
    "abs", "labs", "llabs", "fabs", "fabsf", "sqrt", "sqrtf", "rsqrt", "cbrt", "exp", "expf", "exp2", "exp2f", "log", "logf", "log2", "log2f", "log10",
    "pow", "powf", "ceil", "ceilf", "floor", "floorf", "round", "roundf", "lround", "trunc", "truncf", "fmin", "fminf", "fmax", "fmaxf", "min",
    "max", "fmod", "fmodf", "ldexp", "isnan", "isinf", "isfinite", "__float2half", "__half2float", "__float2bfloat16", "__bfloat162float"};

/// Reaching these is an attempt on the gate itself: its environment, its clocks, its symbols.
inline constexpr std::string_view tampering[] = {
    "getenv", "secure_getenv", "setenv", "putenv", "unsetenv", "clearenv", "clock", "clock_gettime", "gettimeofday", "time", "clock_settime", "dlopen",
    "dlsym", "dlmopen", "dl_iterate_phdr", "signal", "sigaction", "prctl", "ptrace", "mprotect", "setitimer", "alarm", "atexit", "on_exit",
    "at_quick_exit", "longjmp", "setjmp", "siglongjmp", "process_vm_writev"};

/// Names that only the runtime, the C library or the gate define.
inline bool isReservedSymbol(std::string_view name) {
  static constexpr std::string_view library[] = {"main", "malloc", "calloc", "realloc", "memcpy", "memset", "memcmp", "memmove", "write", "read", "exit",
                                                 "_exit", "abort", "mmap", "munmap", "open", "close", "rand", "srand"};
  return isOneOf(name, library) || isOneOf(name, tampering) || startsWith(name, "cuda") || startsWith(name, "__cuda") ||
         startsWith(name, "kl_") || startsWith(name, "klineage") || startsWith(name, "__nv_") || startsWith(name, "__llvm") ||
         (name.size() > 2 && startsWith(name, "cu") && std::isupper(static_cast<unsigned char>(name[2])));
}

/// Is it a library that does the kernel's work? `scope` is the outermost namespace of the function, or empty.
inline bool isLibrary(std::string_view name, std::string_view scope) {
  static constexpr std::string_view prefixes[] = {"cublas", "cudnn", "cufft", "cusparse", "cusolver", "curand", "cutensor", "nccl", "nvrtc", "nvJitLink"};
  static constexpr std::string_view scopes[] = {"thrust", "cub", "at", "torch", "c10", "cutlass", "cudnn_frontend"};
  for (auto prefix : prefixes)
    if (startsWith(name, prefix)) return true;
  if (isOneOf(scope, scopes)) return true;
  return name.size() > 2 && startsWith(name, "cu") && std::isupper(static_cast<unsigned char>(name[2])); // the driver's interface
}

} // namespace klineage::launcher
