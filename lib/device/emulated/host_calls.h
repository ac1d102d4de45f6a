// Host calls: what a launcher may call on the emulated device: the runtime API it needs, and a few plain functions of libc and
// libm. The table is the allowlist: a launcher with any other undefined symbol is refused before it runs.
#pragma once
#include "device/emulated/machine.h"
#include <functional>
#include <string_view>
#include <vector>

namespace klineage::emulated {

struct NativeSymbol {
  const char *name;
  void *address;
};

/// The CUDA runtime API and the plain functions that launchers may use.
const std::vector<NativeSymbol> &hostSymbols();
bool isHostFunction(std::string_view name);

/// kl_* hooks and __nv_* functions, for device code.
const std::vector<NativeSymbol> &deviceSymbols();
bool isDeviceFunction(std::string_view name);

/// What the runtime API acts on while a launcher runs. One at a time in a process.
struct HostState {
  Machine *machine = nullptr;
  const kl_module *module = nullptr;
  struct KernelSymbol {
    const void *stub;
    const kl_kernel *kernel;
    size_t sharedLimit = 0;
    int carveout = -1;
  };
  std::vector<KernelSymbol> kernels;
  struct VariableSymbol {
    const void *shadow;
    const kl_global *variable;
  };
  std::vector<VariableSymbol> variables;
  Limits limits;
  std::function<const std::map<std::string, double> &()> registers; ///< A thread's, by kernel name; waits until ptxas has answered.
  int lastError = 0;
  std::vector<void *> owned; ///< cudaMalloc'ed and not yet freed.
};
void useHostState(HostState *state);

} // namespace klineage::emulated
