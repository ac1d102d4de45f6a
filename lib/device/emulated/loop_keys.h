// Loop keys: an SSA value for each block that tells apart the passes of one thread through it.
#pragma once
#include "source/clang_headers.h"
#include "llvm/Analysis/LoopInfo.h"

namespace klineage::emulated {

/// The key outside all loops is 0. A loop's key starts from a hash of the key around it and the loop's number, and grows by
/// one each iteration, so equal keys at one place mean equal iterations of every loop around it. Needs loops in simplified form;
/// cycles that are no natural loops get the key around them.
class LoopKeys {
public:
  explicit LoopKeys(const llvm::LoopInfo &loops) : loops(loops) {}
  void insert();
  llvm::Value *at(const llvm::BasicBlock *block) const;

private:
  void insert(const llvm::Loop &loop, llvm::Value *outer);
  const llvm::LoopInfo &loops;
  std::map<const llvm::Loop *, llvm::Value *> keys;
  uint64_t count = 0;
};

} // namespace klineage::emulated
