// A kernel written in C++ that calls the runtime's hooks as lowered code would, and the machine that runs it.
#pragma once
#include "device/emulated/machine.h"
#include <functional>
#include <string>
#include <vector>

namespace klineage::emulated::testing {

/// Sites are numbered by hand; line n of "kernel.cu" is site n.
struct Sites {
  std::vector<kl_site> list;
  uint32_t add(kl_site_kind kind, kl_space space, uint32_t bytes, uint16_t flags = 0) {
    list.push_back({kind, space, flags, bytes, uint32_t(list.size() + 1), 5, "kernel.cu", 0, 0});
    return uint32_t(list.size() - 1);
  }
};

/// One kernel of one basic block.
class TestKernel {
public:
  using Body = std::function<void(kl_thread *)>;
  TestKernel(Sites sites, Body body) : sites(std::move(sites)) {
    current = std::move(body);
    kernel.name = "test_kernel";
    kernel.entry = [](kl_thread *self, void **) {
      self->blockCounts[0]++;
      current(self);
    };
    block.mix[KL_LOAD] = block.mix[KL_FP32] = 1;
    block.depth = 34;
    kernel.blocks = &block;
    kernel.blockCount = 1;
    module.kernels = &kernel;
    module.kernelCount = 1;
    module.sites = this->sites.list.data();
    module.siteCount = uint32_t(this->sites.list.size());
    module.version = KL_ABI_VERSION;
  }
  bool run(Machine &machine, unsigned grid, unsigned threads, unsigned sharedBytes = 0) {
    kernel.staticShared = sharedBytes;
    Launch launch;
    launch.module = &module;
    launch.kernel = &kernel;
    launch.grid = {grid, 1, 1};
    launch.block = {threads, 1, 1};
    return machine.launch(launch);
  }
  kl_kernel kernel{};
  kl_module module{};
  kl_block block{};

private:
  Sites sites;
  static inline Body current;
};

inline uint32_t globalIndex(const kl_thread *self) { return self->ctaid[0] * self->ntid[0] + self->tid[0]; }

template <typename T> T load(kl_thread *self, const T *address, uint32_t site, uint64_t key = 0) {
  kl_load(self, address, sizeof(T), site, key);
  return *static_cast<const volatile T *>(address);
}
template <typename T> void store(kl_thread *self, T *address, T value, uint32_t site, uint64_t key = 0) {
  kl_store(self, address, sizeof(T), site, key);
  *static_cast<volatile T *>(address) = value;
}

} // namespace klineage::emulated::testing
