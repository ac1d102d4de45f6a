// Local bounds: accesses that leave a local variable, found where unrolling has made their places known. Sound code has none, so nothing is added to it and no
// count moves. A place that is only known at run time is not looked at.
#include "device/emulated/hooks.h"
#include "device/emulated/lowering.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace klineage::emulated {
namespace {

/// The pointer of an access and its bytes; null for other instructions.
std::pair<const llvm::Value *, uint64_t> accessOf(const llvm::Instruction &instruction, const llvm::DataLayout &layout) {
  if (const llvm::Value *pointer = llvm::getLoadStorePointerOperand(&instruction))
    return {pointer, layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue()};
  auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const HookInfo *hook = call && call->getCalledFunction() ? hookOf(*call->getCalledFunction()) : nullptr;
  if (hook && hook->shape == HookShape::WideLoad) return {call->getArgOperand(0), layout.getTypeStoreSize(call->getType()).getFixedValue()};
  if (hook && hook->shape == HookShape::WideStore) return {call->getArgOperand(0), layout.getTypeStoreSize(call->getArgOperand(1)->getType()).getFixedValue()};
  return {nullptr, 0};
}

bool leaves(const llvm::Value *pointer, uint64_t bytes, const llvm::DataLayout &layout) {
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  auto *local = llvm::dyn_cast<llvm::AllocaInst>(pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true));
  auto size = local ? local->getAllocationSize(layout) : std::nullopt;
  if (!size || size->isScalable()) return false;
  int64_t begin = offset.getSExtValue();
  return begin < 0 || uint64_t(begin) + bytes > size->getFixedValue();
}

} // namespace

bool reportLeavingLocals(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  std::vector<llvm::Instruction *> found;
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    auto [pointer, bytes] = accessOf(instruction, layout);
    if (pointer && leaves(pointer, bytes, layout)) found.push_back(&instruction);
  }
  for (llvm::Instruction *instruction : found) {
    llvm::IRBuilder<> builder(instruction);
    callHook(builder, "leaves_local", builder.getVoidTy(), {});
  }
  return !found.empty();
}

} // namespace klineage::emulated
