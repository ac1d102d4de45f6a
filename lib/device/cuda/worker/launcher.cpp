#include "device/cuda/worker/launcher.h"
#include <dlfcn.h>

namespace klineage::cuda {
namespace {

int64_t nanoseconds() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

std::string Launcher::open(const std::string &path) {
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return ::dlerror();
  call = reinterpret_cast<decltype(call)>(::dlsym(library, "klineage_call"));
  auto *count = static_cast<const int *>(::dlsym(library, "klineage_parameters"));
  if (!call || !count) return "the library of a version has no klineage_call";
  parameters = *count;
  return {};
}

Watchdog::Watchdog(std::function<void()> onExpiry) {
  thread = std::thread([this, onExpiry = std::move(onExpiry)] {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      int64_t at = deadline;
      if (at && nanoseconds() > at) onExpiry();
    }
  });
  thread.detach(); // ends with the process
}

void Watchdog::arm(double seconds) { deadline = nanoseconds() + int64_t(seconds * 1e9); }

Failure callOnce(const Driver &driver, const Launcher &launcher, void *const *arguments, Watchdog &watchdog, double seconds) {
  CallStatus status;
  watchdog.arm(seconds);
  launcher.call(arguments, &status);
  CUresult result = driver.contextSynchronize();
  watchdog.disarm();
  if (result != CUDA_SUCCESS) {
    DriverVerdict verdict = verdictOf(result);
    return {verdict.reason, driver.nameOf(result), verdict.contextLost};
  }
  int error = status.last ? status.last : status.returned;
  if (error) {
    // The runtime's numbers are the driver's for what a kernel can do to the device.
    DriverVerdict verdict = verdictOf(static_cast<CUresult>(error));
    return {verdict.reason, "the launcher answered CUDA error " + std::to_string(error) + (status.last ? std::string(" ") + status.name : ""), verdict.contextLost};
  }
  return {};
}

} // namespace klineage::cuda
