// Wide accesses: Clang at -O2 turns a `float4` load into four scalar ones, where nvcc keeps one. So before the first optimization
// each copy and vector access is made one opaque call of its width. Copies whose other side is a local variable become
// one access at the side that is not; once the optimizer has shown that a side is private after all, the call is undone.
#include "device/emulated/lowering.h"
#include "device/emulated/hooks.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

namespace klineage::emulated {

bool isPrivate(const llvm::Value *pointer) {
  llvm::SmallVector<const llvm::Value *, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  for (const llvm::Value *object : objects) {
    if (llvm::isa<llvm::AllocaInst>(object)) continue;
    auto *argument = llvm::dyn_cast<llvm::Argument>(object);
    if (argument && argument->hasByValAttr()) continue; // The kernel's parameter space.
    return false;
  }
  return !objects.empty();
}

namespace {

constexpr uint64_t longestUnrolledCopy = 512;

llvm::Type *wordsOf(llvm::LLVMContext &context, unsigned bytes) {
  if (bytes <= 4) return llvm::Type::getIntNTy(context, bytes * 8);
  return llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context), bytes / 4);
}

llvm::Value *loadPiece(llvm::IRBuilder<> &builder, llvm::Value *pointer, unsigned bytes, bool isLocal, llvm::Align align) {
  llvm::Type *type = wordsOf(builder.getContext(), bytes);
  if (isLocal || bytes <= 4) return builder.CreateAlignedLoad(type, pointer, align);
  return callHook(builder, "load", type, {pointer});
}

void storePiece(llvm::IRBuilder<> &builder, llvm::Value *pointer, llvm::Value *value, unsigned bytes, bool isLocal, llvm::Align align) {
  if (isLocal || bytes <= 4)
    builder.CreateAlignedStore(value, pointer, align);
  else
    callHook(builder, "store", builder.getVoidTy(), {pointer, value});
}

unsigned pieceWidth(llvm::Align align, uint64_t offset, uint64_t left) {
  uint64_t width = std::min<uint64_t>(16, align.value());
  while (width > left || offset % width) width /= 2;
  return unsigned(width);
}

bool splitCopy(llvm::MemTransferInst &copy) {
  auto *length = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
  if (!length || copy.isVolatile() || length->getZExtValue() > longestUnrolledCopy) return false;
  bool fromLocal = isPrivate(copy.getSource()), toLocal = isPrivate(copy.getDest());
  if (fromLocal && toLocal) return false;
  llvm::Align from = copy.getSourceAlign().valueOrOne(), to = copy.getDestAlign().valueOrOne();
  llvm::Align both = fromLocal ? to : toLocal ? from : std::min(from, to);
  llvm::IRBuilder<> builder(&copy);
  struct Piece {
    uint64_t offset;
    unsigned bytes;
    llvm::Value *value;
  };
  std::vector<Piece> pieces; // All loads before all stores, so that a memmove stays one.
  for (uint64_t offset = 0, size = length->getZExtValue(); offset < size;) {
    unsigned bytes = pieceWidth(both, offset, size - offset);
    llvm::Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), copy.getSource(), offset);
    pieces.push_back({offset, bytes, loadPiece(builder, address, bytes, fromLocal, llvm::commonAlignment(from, offset))});
    offset += bytes;
  }
  for (Piece &piece : pieces) {
    llvm::Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), copy.getDest(), piece.offset);
    storePiece(builder, address, piece.value, piece.bytes, toLocal, llvm::commonAlignment(to, piece.offset));
  }
  copy.eraseFromParent();
  return true;
}

bool splitFill(llvm::MemSetInst &fill) {
  auto *length = llvm::dyn_cast<llvm::ConstantInt>(fill.getLength());
  auto *byte = llvm::dyn_cast<llvm::ConstantInt>(fill.getValue());
  if (!length || !byte || fill.isVolatile() || length->getZExtValue() > longestUnrolledCopy || isPrivate(fill.getDest())) return false;
  llvm::IRBuilder<> builder(&fill);
  llvm::Align align = fill.getDestAlign().valueOrOne();
  for (uint64_t offset = 0, size = length->getZExtValue(); offset < size;) {
    unsigned bytes = pieceWidth(align, offset, size - offset);
    llvm::Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), fill.getDest(), offset);
    llvm::Type *type = wordsOf(builder.getContext(), bytes);
    llvm::Constant *value = llvm::ConstantInt::get(type, llvm::APInt::getSplat(type->getScalarSizeInBits(), byte->getValue()));
    storePiece(builder, address, value, bytes, false, llvm::commonAlignment(align, offset));
    offset += bytes;
  }
  fill.eraseFromParent();
  return true;
}

unsigned vectorBytes(llvm::Type *type, const llvm::DataLayout &layout) {
  if (!type->isVectorTy()) return 0;
  uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  return bits == 64 || bits == 128 ? unsigned(bits / 8) : bits == 32 ? 4 : 0;
}

} // namespace

void makeWideAccesses(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (auto *copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
      splitCopy(*copy);
    } else if (auto *fill = llvm::dyn_cast<llvm::MemSetInst>(&instruction)) {
      splitFill(*fill);
    } else if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      unsigned bytes = vectorBytes(load->getType(), layout);
      if (!bytes || !load->isSimple() || isPrivate(load->getPointerOperand()) || load->getAlign() < bytes) continue;
      llvm::IRBuilder<> builder(load);
      llvm::Value *words = loadPiece(builder, load->getPointerOperand(), bytes, false, load->getAlign());
      if (load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) setFlags(*llvm::cast<llvm::Instruction>(words), KL_READ_ONLY);
      load->replaceAllUsesWith(builder.CreateBitCast(words, load->getType()));
      load->eraseFromParent();
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      llvm::Value *value = store->getValueOperand();
      unsigned bytes = vectorBytes(value->getType(), layout);
      if (!bytes || !store->isSimple() || isPrivate(store->getPointerOperand()) || store->getAlign() < bytes) continue;
      llvm::IRBuilder<> builder(store);
      llvm::Value *words = builder.CreateBitCast(value, wordsOf(function.getContext(), bytes));
      storePiece(builder, store->getPointerOperand(), words, bytes, false, store->getAlign());
      store->eraseFromParent();
    }
  }
}

bool revealPrivate(llvm::Function &function) {
  bool changed = false;
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const HookInfo *hook = call && call->getCalledFunction() ? hookOf(*call->getCalledFunction()) : nullptr;
    if (!hook || (hook->shape != HookShape::WideLoad && hook->shape != HookShape::WideStore)) continue;
    if (!isPrivate(call->getArgOperand(0))) continue;
    llvm::IRBuilder<> builder(call);
    // The width is what the code asked for, so the variable gets the alignment that this needs.
    llvm::Type *type = hook->shape == HookShape::WideLoad ? call->getType() : call->getArgOperand(1)->getType();
    llvm::Align align =
        llvm::getOrEnforceKnownAlignment(call->getArgOperand(0), llvm::Align(layout.getTypeStoreSize(type).getFixedValue()), layout, call);
    if (hook->shape == HookShape::WideLoad)
      call->replaceAllUsesWith(builder.CreateAlignedLoad(type, call->getArgOperand(0), align));
    else
      builder.CreateAlignedStore(call->getArgOperand(1), call->getArgOperand(0), align);
    call->eraseFromParent();
    changed = true;
  }
  return changed;
}

} // namespace klineage::emulated
