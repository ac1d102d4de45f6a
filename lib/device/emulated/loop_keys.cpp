#include "device/emulated/loop_keys.h"

namespace klineage::emulated {

void LoopKeys::insert() {
  for (const llvm::Loop *loop : loops)
    insert(*loop, nullptr);
}

void LoopKeys::insert(const llvm::Loop &loop, llvm::Value *outer) {
  llvm::BasicBlock *header = loop.getHeader(), *preheader = loop.getLoopPreheader();
  llvm::Value *key = outer;
  ++count;
  if (preheader) {
    llvm::IRBuilder<> before(preheader->getTerminator());
    llvm::Value *around = outer ? outer : before.getInt64(0);
    llvm::Value *start = before.CreateAdd(before.CreateMul(around, before.getInt64(0x9E3779B97F4A7C15ull)),
                                          before.getInt64(count * 0xD1B54A32D192ED03ull));
    llvm::IRBuilder<> at(header, header->begin());
    llvm::PHINode *phi = at.CreatePHI(at.getInt64Ty(), 2, "kl.key");
    for (llvm::BasicBlock *from : llvm::predecessors(header)) {
      if (!loop.contains(from)) {
        phi->addIncoming(start, from);
        continue;
      }
      llvm::IRBuilder<> back(from->getTerminator());
      phi->addIncoming(back.CreateAdd(phi, back.getInt64(1)), from);
    }
    key = phi;
  }
  keys[&loop] = key;
  for (const llvm::Loop *inner : loop)
    insert(*inner, key);
}

llvm::Value *LoopKeys::at(const llvm::BasicBlock *block) const {
  const llvm::Loop *loop = loops.getLoopFor(block);
  llvm::Value *key = loop ? keys.at(loop) : nullptr;
  return key ? key : llvm::ConstantInt::get(llvm::Type::getInt64Ty(block->getContext()), 0);
}

} // namespace klineage::emulated
