// The machine: memory, modules, launches.
#include "device/emulated/machine.h"
#include "device/emulated/runtime/launch_checks.h"
#include "device/emulated/runtime/time_model.h"
#include "device/emulated/runtime/worker.h"
#include <thread>

namespace klineage::emulated {
namespace {

class EmulatedMachine final : public Machine {
public:
  explicit EmulatedMachine(const MachineOptions &options) : options(options) {}

  void *allocate(size_t bytes, size_t alignment, size_t offset, std::string label) override {
    return memory.allocate(bytes, alignment, offset, std::move(label));
  }
  bool release(void *address) override { return memory.release(address); }
  std::pair<void *, size_t> allocationOf(const void *address) const override {
    Allocation *found = memory.find(reinterpret_cast<uintptr_t>(address));
    if (!found) return {nullptr, 0};
    return {reinterpret_cast<void *>(found->base), found->bytes};
  }
  std::vector<std::string> damagedGuards() const override { return memory.damagedGuards(); }

  void addModule(const kl_module &module) override {
    for (uint32_t i = 0; i < module.globalCount; ++i) {
      const kl_global &global = module.globals[i];
      memory.addGlobal(global.address, global.bytes, global.name, global.readOnly || global.space == KL_CONSTANT);
    }
  }

  bool launch(const Launch &launch) override;
  const Fault &fault() const override { return firstFault; }
  void setFault(Fault fault) override {
    if (firstFault.reason == Reason::None) firstFault = std::move(fault);
  }
  void noteHostTraffic(const void *, size_t bytes, bool write) override {
    (write ? hostBytesWritten : hostBytesRead) += bytes;
    if (options.count) seconds += hostCopySeconds(bytes);
  }
  Counters counters() const override;
  double modelledSeconds() const override { return seconds; }
  unsigned launchCount() const override { return launches; }
  const std::vector<Launched> &launched() const override { return shapes; }

private:
  MachineOptions options;
  DeviceMemory memory;
  SharedArena arena;
  std::vector<std::unique_ptr<StackPool>> stacks;
  Fault firstFault;
  Counters total;
  double seconds = 0, hostBytesRead = 0, hostBytesWritten = 0;
  unsigned launches = 0;
  std::vector<Launched> shapes;

  void note(const char *kernel, unsigned threads) {
    for (Launched &shape : shapes)
      if (shape.kernel == kernel) return void(shape.threads = std::max(shape.threads, threads));
    shapes.push_back({kernel, threads});
  }
};

bool EmulatedMachine::launch(const Launch &launch) {
  if (firstFault.reason != Reason::None) return false;
  auto known = options.registers.find(launch.kernel->name);
  unsigned registers = known == options.registers.end() ? 0 : unsigned(known->second);
  if (LaunchRefusal refusal = launchRefusal(launch, options.limits); refusal.reason != Reason::None) {
    firstFault = {refusal.reason, std::string(launch.kernel->name) + ": " + refusal.detail};
    return false;
  }
  ++launches;
  note(launch.kernel->name, launch.block[0] * launch.block[1] * launch.block[2]);
  LaunchState state(launch, options, memory);
  memory.prepare(options.check, state.granuleShift, options.count);
  while (stacks.size() < state.workers) stacks.push_back(std::make_unique<StackPool>());
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < state.workers; ++i) workers.push_back(std::make_unique<Worker>(state, arena, *stacks[i]));
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < state.workers; ++i) helpers.emplace_back([&, i] { workers[i]->run(); });
  workers[0]->run();
  for (std::thread &helper : helpers) helper.join();
  LaunchTotals totals;
  for (auto &worker : workers) totals.add(worker->totals);
  if (FoundFault found = state.found(); found.fault.reason != Reason::None) {
    firstFault = std::move(found.fault);
    return false;
  }
  if (!options.count) return true;
  LaunchProfile profile = profileOf(state, totals, registers);
  for (auto &[key, value] : profile.counters) total[key] += value;
  seconds += profile.seconds;
  return true;
}

Counters EmulatedMachine::counters() const {
  Counters all = total;
  if (options.count) {
    all["host_bytes_read"] = hostBytesRead;
    all["host_bytes_written"] = hostBytesWritten;
    all["launches"] = launches;
  }
  return all;
}

} // namespace

std::unique_ptr<Machine> makeMachine(const MachineOptions &options) { return std::make_unique<EmulatedMachine>(options); }

} // namespace klineage::emulated
