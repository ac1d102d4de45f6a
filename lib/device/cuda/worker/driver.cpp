#include "device/cuda/worker/driver.h"
#include <algorithm>
#include <dlfcn.h>
#include <nlohmann/json.hpp>

namespace klineage::cuda {
namespace {

/// Not only the application's own wish, idleness or the power cap of a heavy kernel, but a card that is too hot or short of power.
constexpr unsigned long long throttleBits = 0x8 | 0x20 | 0x40 | 0x80; // hardware slowdown, software thermal, hardware thermal, power brake

template <typename F> bool find(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

} // namespace

std::string Driver::load() {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) return std::string("no CUDA driver: ") + ::dlerror();
  std::string missing;
  auto need = [&](const char *name, auto &function) {
    if (!find(library, name, function)) missing += std::string(missing.empty() ? "" : ", ") + name;
  };
  need("cuInit", init);
  need("cuDeviceGet", deviceGet);
  need("cuDeviceGetName", deviceGetName);
  need("cuDeviceTotalMem_v2", deviceTotalMemory);
  need("cuDeviceGetAttribute", deviceGetAttribute);
  need("cuDeviceGetPCIBusId", deviceGetPciBusId);
  need("cuDevicePrimaryCtxRetain", primaryContextRetain);
  need("cuCtxSetCurrent", contextSetCurrent);
  need("cuCtxSynchronize", contextSynchronize);
  need("cuCtxSetLimit", contextSetLimit);
  need("cuCtxResetPersistingL2Cache", resetPersistingL2);
  need("cuStreamCreate", streamCreate);
  need("cuMemAlloc_v2", memoryAllocate);
  need("cuMemFree_v2", memoryFree);
  need("cuMemcpyHtoD_v2", copyToDevice);
  need("cuMemcpyDtoH_v2", copyToHost);
  need("cuMemcpyDtoD_v2", copyOnDevice);
  need("cuMemsetD8_v2", set8);
  need("cuMemsetD16_v2", set16);
  need("cuGetErrorName", errorName);
  need("cuGetErrorString", errorString);
  return missing.empty() ? missing : "the CUDA driver lacks " + missing;
}

std::string Driver::nameOf(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (errorName) errorName(result, &name);
  if (errorString) errorString(result, &text);
  std::string whole = name ? name : "CUDA error " + std::to_string(int(result));
  if (text) whole += std::string(" (") + text + ")";
  return whole;
}

DriverVerdict verdictOf(CUresult result) {
  switch (result) {
  case CUDA_SUCCESS: return {};
  case CUDA_ERROR_OUT_OF_MEMORY: return {"resources_exceeded", false};
  case CUDA_ERROR_ILLEGAL_ADDRESS: return {"out_of_bounds", true};
  case CUDA_ERROR_MISALIGNED_ADDRESS: return {"misaligned", true};
  case CUDA_ERROR_LAUNCH_TIMEOUT: return {"hang", true};
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED: return {"crash", true};
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_UNKNOWN: return {"launch_error", true};
  default: return {"launch_error", false};
  }
}

std::string describe(std::string &error) {
  Driver driver;
  CUdevice device = 0;
  if (!(error = driver.load()).empty()) return {};
  CUresult result = driver.init(0);
  if (result == CUDA_SUCCESS) result = driver.deviceGet(&device, 0);
  if (result != CUDA_SUCCESS) {
    error = driver.nameOf(result);
    return {};
  }
  auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.deviceGetAttribute(&value, which, device);
    return value;
  };
  char name[256] = {}, bus[32] = {};
  size_t memory = 0;
  driver.deviceGetName(name, sizeof name, device);
  driver.deviceGetPciBusId(bus, sizeof bus, device);
  driver.deviceTotalMemory(&memory, device);
  Nvml nvml;
  nvml.open(bus);
  return nlohmann::json{{"name", name},
                        {"bus", bus},
                        {"driver", nvml.driverVersion()},
                        {"sm", 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)},
                        {"l2_bytes", attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)},
                        {"memory_bytes", double(memory)}}
      .dump();
}

void Nvml::open(const std::string &busId) {
  void *library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return;
  int (*init)() = nullptr;
  int (*handle)(const char *, void **) = nullptr;
  if (!find(library, "nvmlInit_v2", init) || !find(library, "nvmlDeviceGetHandleByPciBusId_v2", handle)) return;
  int (*versionOf)(char *, unsigned) = nullptr;
  char text[96] = {};
  bool works = init() == 0;
  if (works && find(library, "nvmlSystemGetDriverVersion", versionOf) && versionOf(text, sizeof text) == 0) version = text;
  if (!works || handle(busId.c_str(), &device) != 0) {
    device = nullptr;
    return;
  }
  find(library, "nvmlDeviceGetClockInfo", clockInfo);
  if (!find(library, "nvmlDeviceGetCurrentClocksEventReasons", eventReasons)) find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", eventReasons);
  find(library, "nvmlDeviceGetTemperature", temperature);
  find(library, "nvmlDeviceGetPowerUsage", power);
}

void Nvml::sample() {
  if (!device) return;
  constexpr int sm = 1, memory = 2;
  unsigned value = 0;
  if (clockInfo && clockInfo(device, sm, &value) == 0) {
    smLow = samples == 0 ? value : std::min(smLow, value);
    smHigh = std::max(smHigh, value);
  }
  if (clockInfo && clockInfo(device, memory, &value) == 0) memoryLow = samples == 0 ? value : std::min(memoryLow, value);
  if (temperature && temperature(device, 0, &value) == 0) hottest = std::max(hottest, value);
  if (power && power(device, &value) == 0) mostPower = std::max(mostPower, value);
  unsigned long long now = 0;
  if (eventReasons && eventReasons(device, &now) == 0) {
    reasons |= now;
    throttled += (now & throttleBits) != 0;
  }
  ++samples;
}

std::map<std::string, double> Nvml::summary() const {
  if (samples == 0) return {};
  return {{"clock_samples", samples},       {"clock_throttled_samples", throttled}, {"clock_sm_mhz_low", smLow}, {"clock_sm_mhz_high", smHigh},
          {"clock_memory_mhz_low", memoryLow}, {"clock_reasons", double(reasons)},     {"celsius_high", hottest},  {"watts_high", mostPower / 1000.0}};
}

} // namespace klineage::cuda
