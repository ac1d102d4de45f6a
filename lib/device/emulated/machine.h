// Machine: the emulated GPU as the host side sees it: device memory, launches, the first fault, counts, modelled time.
// Lives in the worker process. Implemented in runtime/.
#pragma once
#include "device/device.h"
#include "device/emulated/runtime_abi.h"
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace klineage::emulated {

/// The limits of the modelled GPU (an H200 by default); the launch checks and the time model use them.
struct Limits {
  unsigned multiprocessors = 132, warpSize = 32, maxThreadsPerBlock = 1024, maxThreadsPerMultiprocessor = 2048;
  unsigned maxBlocksPerMultiprocessor = 32, registersPerMultiprocessor = 65536;
  unsigned sharedPerBlock = 48 * 1024, sharedPerBlockOptin = 227 * 1024, sharedPerMultiprocessor = 228 * 1024;
  unsigned sm = 90;
};

struct MachineOptions {
  bool check = true;            ///< Races, uninitialized shared reads, missing warp syncs. Bounds are always checked.
  bool count = true;            ///< Counters and the time model.
  bool reverse = false;         ///< The opposite order of fibers (and of blocks).
  uint64_t shuffleSeed = 0;     ///< Not 0: the lanes of a warp and the warps of a block take turns in an order drawn from this.
  unsigned workers = 0;         ///< Host threads for blocks; 0: all cores.
  unsigned maxBlocks = 0;       ///< Emulate a spread sample of this many blocks a launch; counts are scaled. 0: all.
  int64_t hangBound = 1 << 22;  ///< Yields (or fuel units in thousands) of one thread without progress of any other.
  Limits limits;
  std::map<std::string, double> registers; ///< Registers a thread by kernel name, from ptxas; a kernel that is missing: estimated.
};

struct Fault {
  Reason reason = Reason::None;
  std::string detail;           ///< With file:line, kernel, block and thread.
};

struct Launch {
  const kl_module *module = nullptr;
  const kl_kernel *kernel = nullptr;
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  size_t dynamicShared = 0;
  size_t sharedLimit = 0;       ///< cudaFuncAttributeMaxDynamicSharedMemorySize as set; 0: default (48 KiB with the statics).
  void **arguments = nullptr;   ///< Valid during the call.
  bool cooperative = false;
};

/// The shape of a kernel's launches, for what only the parent knows (its registers).
struct Launched {
  std::string kernel;
  unsigned threads = 0; ///< Of the largest block.
};

class Machine {
public:
  virtual ~Machine() = default;

  /// A lazily mapped allocation with guard zones; the address is aligned to `alignment` and then moved by `offset` bytes.
  /// Contents are zero pages until written; `initialized` false: global reads before a write are not faults, but are noted.
  virtual void *allocate(size_t bytes, size_t alignment, size_t offset, std::string label) = 0;
  virtual bool release(void *address) = 0;
  /// The allocation that holds the address: its first byte and size; size 0 when there is none.
  virtual std::pair<void *, size_t> allocationOf(const void *address) const = 0;
  /// Names of guard zones that no longer hold their pattern (writes by host code).
  virtual std::vector<std::string> damagedGuards() const = 0;

  /// Makes a module's globals known. The module must outlive the machine.
  virtual void addModule(const kl_module &module) = 0;

  /// Runs a launch to its end. False after a fault; a machine with a fault runs nothing more.
  virtual bool launch(const Launch &launch) = 0;
  virtual const Fault &fault() const = 0;
  virtual void setFault(Fault fault) = 0;

  /// A host-side copy or fill of device memory (cudaMemset*, cudaMemcpy*): counted as its own traffic.
  virtual void noteHostTraffic(const void *address, size_t bytes, bool write) = 0;

  virtual Counters counters() const = 0;
  virtual double modelledSeconds() const = 0;
  virtual unsigned launchCount() const = 0;
  virtual const std::vector<Launched> &launched() const = 0; ///< One a kernel.
};

std::unique_ptr<Machine> makeMachine(const MachineOptions &options);

/// Occupancy in blocks per multiprocessor, as cudaOccupancyMaxActiveBlocksPerMultiprocessor answers.
unsigned blocksPerMultiprocessor(const Limits &limits, unsigned threads, unsigned registers, size_t sharedBytes);

} // namespace klineage::emulated
