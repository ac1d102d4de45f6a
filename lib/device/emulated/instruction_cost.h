// Instruction cost: a static estimate of the machine instructions that a basic block becomes on the GPU.
#pragma once
#include "device/emulated/runtime_abi.h"
#include "source/clang_headers.h"

namespace klineage::emulated {

/// Counts by kl_instruction and the longest chain of dependent instructions. Memory latency is not part of the chain beyond
/// `loadLatency`; the time model adds what the memory system costs.
kl_block costOf(const llvm::BasicBlock &block);

constexpr unsigned loadLatency = 30; ///< Cycles: a hit in L1 or shared memory, as microbenchmarks of recent parts report.

} // namespace klineage::emulated
