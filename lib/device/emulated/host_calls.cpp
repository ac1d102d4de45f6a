#include "device/emulated/host_calls.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <driver_types.h>
#include <unordered_set>
#include <vector_types.h>

namespace klineage::emulated {
namespace {

HostState *state = nullptr;

int failed(cudaError_t error) {
  if (error != cudaSuccess) state->lastError = error;
  return error;
}

// ------------------------------------------------------------- launches

struct Configuration {
  dim3 grid, block;
  size_t shared;
  void *stream;
};
std::vector<Configuration> pending;

unsigned pushConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  pending.push_back({grid, block, shared, stream});
  return 0;
}

int popConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream) {
  if (pending.empty()) return failed(cudaErrorMissingConfiguration);
  *grid = pending.back().grid, *block = pending.back().block, *shared = pending.back().shared, *stream = pending.back().stream;
  pending.pop_back();
  return cudaSuccess;
}

HostState::KernelSymbol *kernelOf(const void *stub) {
  for (HostState::KernelSymbol &symbol : state->kernels)
    if (symbol.stub == stub) return &symbol;
  return nullptr;
}

int launch(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared, bool cooperative) {
  HostState::KernelSymbol *symbol = kernelOf(stub);
  if (!symbol) return failed(cudaErrorInvalidDeviceFunction);
  Launch request;
  request.module = state->module;
  request.kernel = symbol->kernel;
  request.grid = {grid.x, grid.y, grid.z};
  request.block = {block.x, block.y, block.z};
  request.dynamicShared = shared;
  request.sharedLimit = symbol->sharedLimit;
  request.arguments = arguments;
  request.cooperative = cooperative;
  return state->machine->launch(request) ? cudaSuccess : failed(cudaErrorLaunchFailure);
}

int launchKernel(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared, void *) {
  return launch(stub, grid, block, arguments, shared, false);
}
int launchCooperative(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared, void *) {
  return launch(stub, grid, block, arguments, shared, true);
}
int launchEx(const cudaLaunchConfig_t *config, const void *stub, void **arguments) {
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) return failed(cudaErrorNotSupported);
  return launch(stub, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, false);
}

int setFunctionAttribute(const void *stub, cudaFuncAttribute attribute, int value) {
  HostState::KernelSymbol *symbol = kernelOf(stub);
  if (!symbol) return failed(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
    symbol->carveout = value;
    return cudaSuccess;
  }
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return failed(cudaErrorInvalidValue);
  if (value < 0 || size_t(value) + symbol->kernel->staticShared > state->limits.sharedPerBlockOptin) return failed(cudaErrorInvalidValue);
  symbol->sharedLimit = size_t(value);
  return cudaSuccess;
}
int setCacheConfig(const void *, int) { return cudaSuccess; }

unsigned registersOf(const kl_kernel &kernel) {
  const auto &registers = state->registers();
  auto found = registers.find(kernel.name);
  return found == registers.end() ? 32 : unsigned(found->second);
}

int functionAttributes(cudaFuncAttributes *out, const void *stub) {
  HostState::KernelSymbol *symbol = kernelOf(stub);
  if (!symbol) return failed(cudaErrorInvalidDeviceFunction);
  *out = {};
  out->sharedSizeBytes = symbol->kernel->staticShared;
  out->maxThreadsPerBlock = int(symbol->kernel->maxThreads ? symbol->kernel->maxThreads : state->limits.maxThreadsPerBlock);
  out->numRegs = int(registersOf(*symbol->kernel));
  out->maxDynamicSharedSizeBytes = int(symbol->sharedLimit ? symbol->sharedLimit : state->limits.sharedPerBlock - symbol->kernel->staticShared);
  out->ptxVersion = out->binaryVersion = int(state->limits.sm);
  return cudaSuccess;
}

int occupancy(int *blocks, const void *stub, int threads, size_t dynamicShared) {
  HostState::KernelSymbol *symbol = kernelOf(stub);
  if (!symbol || threads <= 0) return failed(cudaErrorInvalidValue);
  *blocks = int(blocksPerMultiprocessor(state->limits, unsigned(threads), registersOf(*symbol->kernel), symbol->kernel->staticShared + dynamicShared));
  return cudaSuccess;
}
int occupancyWithFlags(int *blocks, const void *stub, int threads, size_t shared, unsigned) { return occupancy(blocks, stub, threads, shared); }

// ------------------------------------------------------------- memory

int allocate(void **out, size_t bytes) {
  *out = bytes ? state->machine->allocate(bytes, 256, 0, "cudaMalloc of " + std::to_string(bytes) + " bytes") : nullptr;
  if (bytes && !*out) return failed(cudaErrorMemoryAllocation);
  if (*out) state->owned.push_back(*out);
  return cudaSuccess;
}
int allocateAsync(void **out, size_t bytes, void *) { return allocate(out, bytes); }
int release(void *address) {
  if (!address) return cudaSuccess;
  auto found = std::find(state->owned.begin(), state->owned.end(), address);
  if (found == state->owned.end()) return failed(cudaErrorInvalidValue);
  state->owned.erase(found);
  return state->machine->release(address) ? cudaSuccess : failed(cudaErrorInvalidValue);
}
int releaseAsync(void *address, void *) { return release(address); }

/// Whether the range may be touched: inside one allocation, or a device variable, or (for copies) plain host memory.
bool isDeviceRange(const void *address, size_t bytes) {
  auto [base, size] = state->machine->allocationOf(address);
  if (size) return size_t(static_cast<const char *>(address) - static_cast<char *>(base)) + bytes <= size;
  for (uint32_t i = 0; i < state->module->globalCount; ++i) {
    const kl_global &variable = state->module->globals[i];
    const char *first = static_cast<char *>(variable.address), *at = static_cast<const char *>(address);
    if (at >= first && at + bytes <= first + variable.bytes) return true;
  }
  return false;
}

int outside(const char *call, size_t bytes) {
  state->machine->setFault({Reason::OutOfBounds, std::string(call) + " of " + std::to_string(bytes) + " bytes reaches outside the allocation"});
  return failed(cudaErrorInvalidValue);
}

int fill(void *address, int byte, size_t bytes) {
  if (!bytes) return cudaSuccess;
  if (!isDeviceRange(address, bytes)) return outside("cudaMemset", bytes);
  std::memset(address, byte, bytes);
  state->machine->noteHostTraffic(address, bytes, true);
  return cudaSuccess;
}
int fillAsync(void *address, int byte, size_t bytes, void *) { return fill(address, byte, bytes); }
int fill2D(void *address, size_t pitch, int byte, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row)
    if (int error = fill(static_cast<char *>(address) + row * pitch, byte, width)) return error;
  return cudaSuccess;
}
int fill2DAsync(void *address, size_t pitch, int byte, size_t width, size_t height, void *) { return fill2D(address, pitch, byte, width, height); }

int copy(void *to, const void *from, size_t bytes, int kind) {
  if (!bytes) return cudaSuccess;
  bool toDevice = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool fromDevice = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) toDevice = isDeviceRange(to, bytes), fromDevice = isDeviceRange(from, bytes);
  if ((toDevice && !isDeviceRange(to, bytes)) || (fromDevice && !isDeviceRange(from, bytes))) return outside("cudaMemcpy", bytes);
  std::memmove(to, from, bytes);
  if (fromDevice) state->machine->noteHostTraffic(from, bytes, false);
  if (toDevice) state->machine->noteHostTraffic(to, bytes, true);
  return cudaSuccess;
}
int copyAsync(void *to, const void *from, size_t bytes, int kind, void *) { return copy(to, from, bytes, kind); }

const kl_global *variableOf(const void *shadow) {
  for (HostState::VariableSymbol &symbol : state->variables)
    if (symbol.shadow == shadow) return symbol.variable;
  return nullptr;
}
int copyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int) {
  const kl_global *variable = variableOf(symbol);
  if (!variable) return failed(cudaErrorInvalidSymbol);
  if (offset + bytes > variable->bytes) return outside("cudaMemcpyToSymbol", bytes);
  std::memcpy(static_cast<char *>(variable->address) + offset, from, bytes);
  return cudaSuccess;
}
int copyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind, void *) {
  return copyToSymbol(symbol, from, bytes, offset, kind);
}
int copyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int) {
  const kl_global *variable = variableOf(symbol);
  if (!variable) return failed(cudaErrorInvalidSymbol);
  if (offset + bytes > variable->bytes) return outside("cudaMemcpyFromSymbol", bytes);
  std::memcpy(to, static_cast<char *>(variable->address) + offset, bytes);
  return cudaSuccess;
}
int symbolAddress(void **out, const void *symbol) {
  const kl_global *variable = variableOf(symbol);
  if (!variable) return failed(cudaErrorInvalidSymbol);
  *out = variable->address;
  return cudaSuccess;
}
int symbolSize(size_t *out, const void *symbol) {
  const kl_global *variable = variableOf(symbol);
  if (!variable) return failed(cudaErrorInvalidSymbol);
  *out = variable->bytes;
  return cudaSuccess;
}

// ------------------------------------------------------------- the device, streams and events

int getLastError() { return std::exchange(state->lastError, 0); }
int peekLastError() { return state->lastError; }
const char *errorString(int error) { return error ? "an error of the emulated device" : "no error"; }
int getDevice(int *device) { return *device = 0, cudaSuccess; }
int setDevice(int device) { return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice); }
int deviceCount(int *count) { return *count = 1, cudaSuccess; }
int succeed() { return cudaSuccess; }
int makeHandle(void **out) { return *out = std::calloc(1, 8), cudaSuccess; }
int dropHandle(void *handle) { return std::free(handle), cudaSuccess; }
int eventElapsed(float *out, void *, void *) { return *out = float(state->machine->modelledSeconds() * 1e3), cudaSuccess; }

int deviceAttribute(int *out, cudaDeviceAttr attribute, int) {
  const Limits &l = state->limits;
  switch (attribute) {
  case cudaDevAttrMultiProcessorCount: *out = int(l.multiprocessors); break;
  case cudaDevAttrWarpSize: *out = int(l.warpSize); break;
  case cudaDevAttrMaxThreadsPerBlock: *out = int(l.maxThreadsPerBlock); break;
  case cudaDevAttrMaxThreadsPerMultiProcessor: *out = int(l.maxThreadsPerMultiprocessor); break;
  case cudaDevAttrMaxBlocksPerMultiprocessor: *out = int(l.maxBlocksPerMultiprocessor); break;
  case cudaDevAttrMaxSharedMemoryPerBlock: *out = int(l.sharedPerBlock); break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin: *out = int(l.sharedPerBlockOptin); break;
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *out = int(l.sharedPerMultiprocessor); break;
  case cudaDevAttrMaxRegistersPerMultiprocessor: case cudaDevAttrMaxRegistersPerBlock: *out = int(l.registersPerMultiprocessor); break;
  case cudaDevAttrComputeCapabilityMajor: *out = int(l.sm / 10); break;
  case cudaDevAttrComputeCapabilityMinor: *out = int(l.sm % 10); break;
  case cudaDevAttrCooperativeLaunch: *out = 1; break;
  case cudaDevAttrMaxGridDimX: *out = 2147483647; break;
  case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *out = 65535; break;
  default: return failed(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

int deviceProperties(cudaDeviceProp *out, int) {
  const Limits &l = state->limits;
  std::memset(static_cast<void *>(out), 0, sizeof *out);
  std::strcpy(out->name, "klineage emulated device");
  out->major = int(l.sm / 10), out->minor = int(l.sm % 10);
  out->multiProcessorCount = int(l.multiprocessors);
  out->warpSize = int(l.warpSize);
  out->maxThreadsPerBlock = int(l.maxThreadsPerBlock);
  out->maxThreadsPerMultiProcessor = int(l.maxThreadsPerMultiprocessor);
  out->maxBlocksPerMultiProcessor = int(l.maxBlocksPerMultiprocessor);
  out->sharedMemPerBlock = l.sharedPerBlock;
  out->sharedMemPerBlockOptin = l.sharedPerBlockOptin;
  out->sharedMemPerMultiprocessor = l.sharedPerMultiprocessor;
  out->regsPerBlock = out->regsPerMultiprocessor = int(l.registersPerMultiprocessor);
  out->totalGlobalMem = size_t(1) << 36;
  out->maxGridSize[0] = 2147483647, out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024, out->maxThreadsDim[2] = 64;
  out->cooperativeLaunch = 1;
  return cudaSuccess;
}

// ------------------------------------------------------------- plain functions

int quiet() { return 0; }
int guardAcquire(char *guard) { return guard[0] == 0; }
void guardRelease(char *guard) { guard[0] = 1; }
void guardAbort(char *) {}
[[noreturn]] void aborted() { std::abort(); }

template <typename F> void *address(F *function) { return reinterpret_cast<void *>(function); }

} // namespace

void useHostState(HostState *next) {
  state = next;
  pending.clear();
}

const std::vector<NativeSymbol> &hostSymbols() {
  static const std::vector<NativeSymbol> symbols = {
      {"__cudaPushCallConfiguration", address(pushConfiguration)}, {"__cudaPopCallConfiguration", address(popConfiguration)},
      {"cudaLaunchKernel", address(launchKernel)}, {"cudaLaunchCooperativeKernel", address(launchCooperative)},
      {"cudaLaunchKernelExC", address(launchEx)}, {"cudaFuncSetAttribute", address(setFunctionAttribute)},
      {"cudaFuncSetCacheConfig", address(setCacheConfig)}, {"cudaFuncGetAttributes", address(functionAttributes)},
      {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", address(occupancy)},
      {"cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", address(occupancyWithFlags)},
      {"cudaMalloc", address(allocate)}, {"cudaMallocAsync", address(allocateAsync)}, {"cudaFree", address(release)},
      {"cudaFreeAsync", address(releaseAsync)}, {"cudaMemset", address(fill)}, {"cudaMemsetAsync", address(fillAsync)},
      {"cudaMemset2D", address(fill2D)}, {"cudaMemset2DAsync", address(fill2DAsync)}, {"cudaMemcpy", address(copy)},
      {"cudaMemcpyAsync", address(copyAsync)}, {"cudaMemcpyToSymbol", address(copyToSymbol)},
      {"cudaMemcpyToSymbolAsync", address(copyToSymbolAsync)}, {"cudaMemcpyFromSymbol", address(copyFromSymbol)},
      {"cudaGetSymbolAddress", address(symbolAddress)}, {"cudaGetSymbolSize", address(symbolSize)},
      {"cudaGetLastError", address(getLastError)}, {"cudaPeekAtLastError", address(peekLastError)},
      {"cudaGetErrorString", address(errorString)}, {"cudaGetErrorName", address(errorString)}, {"cudaGetDevice", address(getDevice)},
      {"cudaSetDevice", address(setDevice)}, {"cudaGetDeviceCount", address(deviceCount)}, {"cudaDeviceSynchronize", address(succeed)},
      {"cudaStreamSynchronize", address(succeed)}, {"cudaStreamWaitEvent", address(succeed)}, {"cudaStreamCreate", address(makeHandle)},
      {"cudaStreamCreateWithFlags", address(makeHandle)}, {"cudaStreamDestroy", address(dropHandle)}, {"cudaEventCreate", address(makeHandle)},
      {"cudaEventCreateWithFlags", address(makeHandle)}, {"cudaEventDestroy", address(dropHandle)}, {"cudaEventRecord", address(succeed)},
      {"cudaEventSynchronize", address(succeed)}, {"cudaEventElapsedTime", address(eventElapsed)},
      {"cudaDeviceGetAttribute", address(deviceAttribute)}, {"cudaGetDeviceProperties", address(deviceProperties)},
      {"cudaGetDeviceProperties_v2", address(deviceProperties)}, {"cudaDeviceSetLimit", address(succeed)},
      {"memcpy", address<void *(void *, const void *, size_t)>(std::memcpy)}, {"memset", address<void *(void *, int, size_t)>(std::memset)},
      {"memmove", address<void *(void *, const void *, size_t)>(std::memmove)},
      {"sqrt", address<double(double)>(std::sqrt)}, {"sqrtf", address<float(float)>(std::sqrt)}, {"ceil", address<double(double)>(std::ceil)},
      {"ceilf", address<float(float)>(std::ceil)}, {"floor", address<double(double)>(std::floor)}, {"floorf", address<float(float)>(std::floor)},
      {"log2", address<double(double)>(std::log2)}, {"log2f", address<float(float)>(std::log2)}, {"exp", address<double(double)>(std::exp)},
      {"expf", address<float(float)>(std::exp)}, {"pow", address<double(double, double)>(std::pow)},
      {"powf", address<float(float, float)>(std::pow)}, {"logf", address<float(float)>(std::log)}, {"log", address<double(double)>(std::log)},
      {"printf", address(quiet)}, {"fprintf", address(quiet)}, {"puts", address(quiet)}, {"fputs", address(quiet)},
      {"__cxa_guard_acquire", address(guardAcquire)}, {"__cxa_guard_release", address(guardRelease)}, {"__cxa_guard_abort", address(guardAbort)},
      {"abort", address(aborted)}, {"__assert_fail", address(aborted)}, {"_Unwind_Resume", address(aborted)},
      {"__gxx_personality_v0", address(aborted)}, {"__cxa_begin_catch", address(aborted)}, {"__cxa_end_catch", address(aborted)},
      {"_ZSt9terminatev", address(aborted)},
  };
  return symbols;
}

bool isHostFunction(std::string_view name) {
  static const auto *names = [] {
    auto *set = new std::unordered_set<std::string_view>;
    for (const NativeSymbol &symbol : hostSymbols())
      set->insert(symbol.name);
    return set;
  }();
  return names->count(name) != 0;
}

} // namespace klineage::emulated
