// Fibers: the stacks that CUDA threads run on, and the switch between them.
//
// Boost.Context's fcontext is used directly: a switch is some ten nanoseconds, where ucontext needs hundreds. Stacks are mapped lazily
// with a guard page below each; a thread takes a stack when it first runs and gives it back when it ends, so that a kernel without
// barriers touches one stack only. Tops are staggered, or the hot lines of all stacks would fall into the same cache sets.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace klineage::emulated {

using FiberContext = boost::context::detail::fcontext_t;
using FiberTransfer = boost::context::detail::transfer_t;

struct Stack {
  char *low = nullptr; ///< First usable byte, above the guard page.
  char *top = nullptr; ///< Where the fiber starts; staggered.
};

/// The stacks of one worker. Not for use from several host threads.
class StackPool {
public:
  /// Usable bytes of a stack; local arrays of a thread live here.
  static constexpr size_t stackBytes = 256 * 1024;
  StackPool() = default;
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;
  ~StackPool();
  Stack take();
  void give(Stack stack) { idle.push_back(stack); }

private:
  static constexpr size_t chunkStacks = 64;
  void grow();
  std::vector<Stack> idle;
  std::vector<void *> chunks;
  unsigned made = 0;
};

} // namespace klineage::emulated
