// Driver: the CUDA driver and NVML, found at run time. Nothing of CUDA is linked, so the program starts on every machine and says what it lacks.
#pragma once
#include <cuda.h>
#include <map>
#include <string>

namespace klineage::cuda {

/// What is called of libcuda.so.1, by the names that it exports.
struct Driver {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDeviceGet) deviceGet = nullptr;
  decltype(&::cuDeviceGetName) deviceGetName = nullptr;
  decltype(&::cuDeviceTotalMem) deviceTotalMemory = nullptr;
  decltype(&::cuDeviceGetAttribute) deviceGetAttribute = nullptr;
  decltype(&::cuDeviceGetPCIBusId) deviceGetPciBusId = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) primaryContextRetain = nullptr;
  decltype(&::cuCtxSetCurrent) contextSetCurrent = nullptr;
  decltype(&::cuCtxSynchronize) contextSynchronize = nullptr;
  decltype(&::cuCtxSetLimit) contextSetLimit = nullptr;
  decltype(&::cuCtxResetPersistingL2Cache) resetPersistingL2 = nullptr;
  decltype(&::cuStreamCreate) streamCreate = nullptr;
  decltype(&::cuMemAlloc) memoryAllocate = nullptr;
  decltype(&::cuMemFree) memoryFree = nullptr;
  decltype(&::cuMemcpyHtoD) copyToDevice = nullptr;
  decltype(&::cuMemcpyDtoH) copyToHost = nullptr;
  decltype(&::cuMemcpyDtoD) copyOnDevice = nullptr;
  decltype(&::cuMemsetD8) set8 = nullptr;
  decltype(&::cuMemsetD16) set16 = nullptr;
  decltype(&::cuGetErrorName) errorName = nullptr;
  decltype(&::cuGetErrorString) errorString = nullptr;

  /// Empty, or what is missing.
  std::string load();
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string nameOf(CUresult result) const;
};

/// The name of Reason for what the driver answered, and whether the context is lost with it.
struct DriverVerdict {
  const char *reason = "none";
  bool contextLost = false;
};
DriverVerdict verdictOf(CUresult result);

/// What the GPU is, as JSON for the parent's DeviceFacts; an empty text says in `error` why there is none.
std::string describe(std::string &error);

/// Clocks, temperature, power and throttle reasons, sampled between blocks. A machine without NVML has none, and timing goes on.
class Nvml {
public:
  /// `busId` as the driver gives it.
  void open(const std::string &busId);
  void sample();
  std::map<std::string, double> summary() const;
  std::string driverVersion() const { return version; }
  bool isThrottled() const { return samples > 0 && throttled * 2 > samples; }

private:
  void *device = nullptr;
  int (*clockInfo)(void *, int, unsigned *) = nullptr;
  int (*eventReasons)(void *, unsigned long long *) = nullptr;
  int (*temperature)(void *, int, unsigned *) = nullptr;
  int (*power)(void *, unsigned *) = nullptr;
  std::string version;
  unsigned samples = 0, throttled = 0;
  unsigned smLow = 0, smHigh = 0, memoryLow = 0, hottest = 0, mostPower = 0;
  unsigned long long reasons = 0;
};

} // namespace klineage::cuda
