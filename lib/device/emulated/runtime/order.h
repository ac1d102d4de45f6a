// What orders memory: the knowledge that one thread has of what others did before.
//
// Clocks. A block has one counter, `now`; a thread's clock is the value of `now` at its last act that others can learn of (barrier, warp
// sync, arrive, fence, release). An event is (thread, clock). So one number suffices for the common cases:
//   base       events of any thread of the block with a smaller clock are known (the last barrier of the whole block),
//   warpBase   the same for the thread's own warp (the last __syncwarp of all its live lanes),
//   peers      clocks by thread, where a partial mask, a named barrier or an atomic taught less than that,
//   acquired   what was learned through the address of an atomic: a variable and how much of its log of releases was seen.
// The log is never copied when it is acquired: a launch in which each block releases once and the last one reads all stays linear.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace klineage::emulated {

struct SyncVariable;

/// Events of thread i of the own block with a clock below [i] are known.
using PeerClocks = std::vector<uint32_t>;

struct Acquisition {
  SyncVariable *variable;
  uint32_t seen; ///< The first `seen` releases in its log are known.
};
using Acquisitions = std::vector<Acquisition>;

/// What a thread knew, and did, up to a fence.
struct Release {
  uint32_t block = 0;  ///< Number of the block in the order of issue, counted from one ("life", see Block).
  uint32_t thread = 0; ///< Linear in the block.
  bool blockScope = false; ///< By __threadfence_block: other blocks learn nothing.
  uint32_t self = 0;   ///< Its own events with a smaller clock.
  uint32_t base = 0, warpBase = 0;
  std::shared_ptr<const PeerClocks> peers;
  std::shared_ptr<const Acquisitions> acquired;
  bool covers(uint32_t ofBlock, uint32_t ofThread, uint32_t clock) const {
    if (ofBlock != block) return false;
    if (clock < base || (ofThread == thread && clock < self) || (ofThread / 32 == thread / 32 && clock < warpBase)) return true;
    return peers && clock < (*peers)[ofThread];
  }
};

/// An address that was written atomically after a fence.
struct SyncVariable {
  std::mutex lock;
  std::vector<Release> log;
  std::unordered_map<uint32_t, std::vector<uint32_t>> byBlock; ///< Positions in the log.
};

/// All of them, by address.
class SyncVariables {
public:
  /// Null when nothing was ever released there.
  SyncVariable *find(uintptr_t address);
  void release(uintptr_t address, const Release &what);
  void clear();
  bool empty() const { return table.empty(); }

private:
  std::mutex lock;
  std::unordered_map<uintptr_t, std::unique_ptr<SyncVariable>> table;
};

/// Adds "the first `seen` releases of `variable`".
void learn(std::shared_ptr<const Acquisitions> &acquired, SyncVariable *variable, uint32_t seen);
/// Adds all that `more` knows.
void learn(std::shared_ptr<const Acquisitions> &acquired, const std::shared_ptr<const Acquisitions> &more);
/// Whether the event is known through what was acquired, also by way of others. `foreign`: the one who asks is of another block.
bool knows(const Acquisitions &acquired, uint32_t block, uint32_t thread, uint32_t clock, bool foreign);

} // namespace klineage::emulated
