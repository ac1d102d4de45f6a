// The part of KernelInstrumenter that puts hooks before memory accesses and turns atomics and pseudo functions into runtime calls.
#include "device/emulated/kernel_instrumenter.h"
#include "device/emulated/lowering.h"
#include "device/emulated/translate.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace klineage::emulated {

using llvm::Value;

void KernelInstrumenter::instrumentAccesses() {
  const llvm::DataLayout &layout = module.getDataLayout();
  for (llvm::Instruction *access : accesses) {
    llvm::IRBuilder<> builder(access);
    bool isLoad = llvm::isa<llvm::LoadInst>(access);
    Value *pointer = llvm::getLoadStorePointerOperand(access);
    unsigned bytes = unsigned(layout.getTypeStoreSize(llvm::getLoadStoreType(access)).getFixedValue());
    unsigned flags = access->isVolatile() ? KL_VOLATILE : 0;
    if (access->hasMetadata(llvm::LLVMContext::MD_invariant_load)) flags |= KL_READ_ONLY;
    // More than 16 bytes are several machine accesses.
    for (unsigned offset = 0; offset < bytes; offset += 16) {
      unsigned width = std::min(16u, bytes - offset);
      unsigned index = site(*access, isLoad ? KL_SITE_LOAD : KL_SITE_STORE, width, pointer, flags);
      keepInsideVariable(index, pointer);
      Value *address = builder.CreateConstGEP1_64(builder.getInt8Ty(), generic(builder, pointer), offset);
      callRuntime(builder, isLoad ? "kl_load" : "kl_store", builder.getVoidTy(),
                  {self, address, builder.getInt32(width), builder.getInt32(index), keyAt(*access)});
    }
    // The host must not assume what the hook is there to check.
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(access)) {
      load->setAlignment(llvm::Align(1));
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
    } else {
      llvm::cast<llvm::StoreInst>(access)->setAlignment(llvm::Align(1));
    }
  }
}

namespace {

/// CUDA's atomic functions are relaxed; Clang's builtins for them carry LLVM's strongest order for want of a weaker one, so
/// that order means nothing here. Explicit orders come from inline PTX and from atomic loads and stores.
unsigned orderOf(llvm::AtomicOrdering ordering) {
  switch (ordering) {
  case llvm::AtomicOrdering::Acquire: return KL_ACQUIRE;
  case llvm::AtomicOrdering::Release: return KL_RELEASE;
  case llvm::AtomicOrdering::AcquireRelease: return KL_ACQ_REL;
  default: return KL_RELAXED;
  }
}

unsigned fenceOrder(llvm::AtomicOrdering ordering) {
  unsigned order = orderOf(ordering);
  return order == KL_RELAXED ? unsigned(KL_SEQ_CST) : order;
}

unsigned scopeOf(llvm::LLVMContext &context, llvm::SyncScope::ID id) {
  llvm::SmallVector<llvm::StringRef> names;
  context.getSyncScopeNames(names);
  llvm::StringRef name = id < names.size() ? names[id] : "";
  if (name == "block" || name == "cluster") return KL_SCOPE_BLOCK;
  return name == "device" ? KL_SCOPE_DEVICE : KL_SCOPE_SYSTEM;
}

std::optional<unsigned> operationOf(llvm::AtomicRMWInst::BinOp op) {
  using Op = llvm::AtomicRMWInst;
  switch (op) {
  case Op::Xchg: return KL_EXCHANGE;
  case Op::Add: return KL_ADD;
  case Op::Sub: return KL_SUB;
  case Op::And: return KL_AND;
  case Op::Nand: return KL_NAND;
  case Op::Or: return KL_OR;
  case Op::Xor: return KL_XOR;
  case Op::Max: return KL_MAX_S;
  case Op::Min: return KL_MIN_S;
  case Op::UMax: return KL_MAX_U;
  case Op::UMin: return KL_MIN_U;
  case Op::FAdd: return KL_FADD;
  case Op::FSub: return KL_FSUB;
  case Op::FMax: return KL_FMAX;
  case Op::FMin: return KL_FMIN;
  case Op::UIncWrap: return KL_INC_WRAP;
  case Op::UDecWrap: return KL_DEC_WRAP;
  default: return {};
  }
}

std::optional<unsigned> atomicType(llvm::Type *type) {
  if (type->isFloatTy()) return KL_F32;
  if (type->isDoubleTy()) return KL_F64;
  if (type->isHalfTy()) return KL_F16;
  if (type->isBFloatTy()) return KL_BF16;
  if (type->isIntegerTy(16)) return KL_I16;
  if (type->isIntegerTy(32)) return KL_I32;
  if (type->isIntegerTy(64) || type->isPointerTy()) return KL_I64;
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type); vector && vector->getNumElements() == 2) {
    if (vector->getElementType()->isHalfTy()) return KL_F16X2;
    if (vector->getElementType()->isBFloatTy()) return KL_BF16X2;
  }
  return {};
}

} // namespace

Status KernelInstrumenter::replaceAtomics() {
  const llvm::DataLayout &layout = module.getDataLayout();
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(entry))) {
    llvm::IRBuilder<> builder(&instruction);
    llvm::Type *wide = builder.getInt64Ty();
    auto call = [&](const char *name, llvm::Type *result, unsigned bytes, const Value *pointer, llvm::SmallVector<Value *> arguments) {
      unsigned index = site(instruction, KL_SITE_ATOMIC, bytes, pointer, 0);
      keepInsideVariable(index, pointer);
      arguments.insert(arguments.begin(), self);
      arguments.append({builder.getInt32(index), keyAt(instruction)});
      return callRuntime(builder, name, result, arguments);
    };
    auto packed = [&](unsigned order, llvm::SyncScope::ID scope) { return builder.getInt32(order | scopeOf(context, scope) << 8); };
    auto width = [&](llvm::Type *type) { return unsigned(layout.getTypeStoreSize(type).getFixedValue()); };
    if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      auto operation = operationOf(update->getOperation());
      auto type = atomicType(update->getType());
      if (!operation || !type)
        return refusal("unsupported_atomic: " + llvm::AtomicRMWInst::getOperationName(update->getOperation()).str(), whereIs(instruction));
      Value *answer = call("kl_atomic_rmw", wide, width(update->getType()), update->getPointerOperand(),
                           {generic(builder, update->getPointerOperand()), builder.getInt32(*operation), builder.getInt32(*type),
                            toBits(builder, update->getValOperand()), packed(orderOf(update->getOrdering()), update->getSyncScopeID())});
      update->replaceAllUsesWith(fromBits(builder, answer, update->getType()));
    } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      llvm::Type *type = exchange->getCompareOperand()->getType();
      Value *answer = call("kl_atomic_cas", wide, width(type), exchange->getPointerOperand(),
                           {generic(builder, exchange->getPointerOperand()), builder.getInt32(width(type)),
                            toBits(builder, exchange->getCompareOperand()), toBits(builder, exchange->getNewValOperand()),
                            packed(orderOf(exchange->getSuccessOrdering()), exchange->getSyncScopeID())});
      Value *old = fromBits(builder, answer, type);
      Value *same = builder.CreateICmpEQ(old, exchange->getCompareOperand());
      Value *result = builder.CreateInsertValue(llvm::PoisonValue::get(exchange->getType()), old, 0);
      exchange->replaceAllUsesWith(builder.CreateInsertValue(result, same, 1));
    } else if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load && load->isAtomic()) {
      Value *answer = call("kl_atomic_load", wide, width(load->getType()), load->getPointerOperand(),
                           {generic(builder, load->getPointerOperand()), builder.getInt32(width(load->getType())),
                            packed(orderOf(load->getOrdering()), load->getSyncScopeID())});
      load->replaceAllUsesWith(fromBits(builder, answer, load->getType()));
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store && store->isAtomic()) {
      Value *value = store->getValueOperand();
      call("kl_atomic_store", builder.getVoidTy(), width(value->getType()), store->getPointerOperand(),
           {generic(builder, store->getPointerOperand()), builder.getInt32(width(value->getType())), toBits(builder, value),
            packed(orderOf(store->getOrdering()), store->getSyncScopeID())});
    } else if (auto *fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
      unsigned index = site(instruction, KL_SITE_FENCE, 0, nullptr, 0);
      callRuntime(builder, "kl_fence", builder.getVoidTy(),
                  {self, packed(fenceOrder(fence->getOrdering()), fence->getSyncScopeID()), builder.getInt32(index), keyAt(instruction)});
    } else {
      continue;
    }
    instruction.eraseFromParent();
  }
  return Done{};
}

void KernelInstrumenter::replaceHooks() {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(entry))) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction()) continue;
    if (const HookInfo *hook = hookOf(*call->getCalledFunction())) {
      replaceHook(*call, *hook);
      continue;
    }
    auto *transfer = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
    if (!transfer || parameterCopies.count(transfer)) continue;
    auto *copy = llvm::dyn_cast<llvm::MemTransferInst>(transfer);
    if (isPrivate(transfer->getDest()) && (!copy || isPrivate(copy->getSource()))) continue;
    llvm::IRBuilder<> builder(transfer);
    unsigned index = site(instruction, copy ? KL_SITE_LOAD : KL_SITE_STORE, 0, transfer->getDest(), 0);
    Value *second = copy ? generic(builder, copy->getSource()) : builder.CreateZExt(llvm::cast<llvm::MemSetInst>(transfer)->getValue(), builder.getInt32Ty());
    const char *name = !copy ? "kl_memset" : llvm::isa<llvm::MemMoveInst>(copy) ? "kl_memmove" : "kl_memcpy";
    callRuntime(builder, name, builder.getVoidTy(),
                {self, generic(builder, transfer->getDest()), second, builder.CreateZExtOrTrunc(transfer->getLength(), builder.getInt64Ty()),
                 builder.getInt32(index), keyAt(instruction)});
    transfer->eraseFromParent();
  }
}

void KernelInstrumenter::replaceHook(llvm::CallInst &call, const HookInfo &hook) {
  const llvm::DataLayout &layout = module.getDataLayout();
  llvm::IRBuilder<> builder(&call);
  Value *key = keyAt(call);
  bool isLoad = hook.shape == HookShape::WideLoad, isStore = hook.shape == HookShape::WideStore;
  if (isLoad || isStore) {
    Value *pointer = call.getArgOperand(0);
    llvm::Type *type = isLoad ? call.getType() : call.getArgOperand(1)->getType();
    unsigned bytes = unsigned(layout.getTypeStoreSize(type).getFixedValue());
    unsigned index = site(call, hook.site, bytes, pointer, 0);
    keepInsideVariable(index, pointer);
    Value *address = generic(builder, pointer);
    callRuntime(builder, isLoad ? "kl_load" : "kl_store", builder.getVoidTy(),
                {self, address, builder.getInt32(bytes), builder.getInt32(index), key});
    if (isLoad)
      call.replaceAllUsesWith(builder.CreateAlignedLoad(type, address, llvm::Align(1)));
    else
      builder.CreateAlignedStore(call.getArgOperand(1), address, llvm::Align(1));
    call.eraseFromParent();
    return;
  }
  auto inEntry = [&](llvm::Type *type) {
    llvm::IRBuilder<> top(entryPoint);
    return top.CreateAlloca(type);
  };
  llvm::SmallVector<Value *> arguments{self};
  const Value *pointer = nullptr;
  for (Value *argument : call.args()) {
    if (argument->getType()->isPointerTy() && !pointer) pointer = argument;
    if (argument->getType()->isPointerTy()) argument = generic(builder, argument);
    if (argument->getType()->isVectorTy()) { // Register arrays go by pointer.
      Value *slot = inEntry(argument->getType());
      builder.CreateStore(argument, slot);
      argument = slot;
    }
    arguments.push_back(argument);
  }
  Value *out = nullptr;
  llvm::Type *result = call.getType();
  if (hook.shape == HookShape::OutFirst || hook.shape == HookShape::OutAfter2 || hook.shape == HookShape::OutAfter3 ||
      hook.shape == HookShape::OutAfter4) {
    unsigned plain = hook.shape == HookShape::OutFirst ? 0 : 2 + unsigned(hook.shape) - unsigned(HookShape::OutAfter2);
    out = inEntry(result);
    arguments.insert(arguments.begin() + 1 + plain, out);
    result = builder.getVoidTy();
  }
  unsigned bytes = 0;
  if (hook.name == "cp_async") bytes = unsigned(llvm::cast<llvm::ConstantInt>(call.getArgOperand(2))->getZExtValue());
  if (hook.shape != HookShape::NoSite) arguments.push_back(builder.getInt32(site(call, hook.site, bytes, pointer, 0)));
  if (hook.shape != HookShape::NoSite && hook.shape != HookShape::NoKey) arguments.push_back(key);
  Value *answer = callRuntime(builder, "kl_" + std::string(hook.name), result, arguments);
  if (out) answer = builder.CreateLoad(call.getType(), out);
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(answer);
  call.eraseFromParent();
}

} // namespace klineage::emulated
