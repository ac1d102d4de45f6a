#include "device/emulated/kernel_instrumenter.h"
#include "device/emulated/instruction_cost.h"
#include "device/emulated/lowering.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace klineage::emulated {

using llvm::Value;

Status KernelInstrumenter::run() {
  classifyLoops();
  collectDivergence();
  keys = std::make_unique<LoopKeys>(analyses.getResult<llvm::LoopAnalysis>(kernel));
  for (llvm::BasicBlock &block : kernel)
    info.blocks.push_back(costOf(block));
  keys->insert();
  makeEntry();
  // The counters belong to the blocks as they are now; later rewriting splits some.
  countBlocks();
  if (Status status = layOutShared(); !status) return status;
  if (Status status = replaceRegisters(); !status) return status;
  instrumentAccesses();
  if (Status status = replaceAtomics(); !status) return status;
  replaceHooks();
  instrumentBranches();
  guardBackEdges();
  entryPoint->eraseFromParent();
  info.name = kernel.getName().str();
  info.entry = entry;
  tables.addKernel(std::move(info));
  return Done{};
}

void KernelInstrumenter::classifyLoops() {
  auto &info = analyses.getResult<llvm::LoopAnalysis>(kernel);
  auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(kernel);
  for (llvm::Loop *loop : info.getLoopsInPreorder()) {
    BackEdge kind = evolution.getSmallConstantMaxTripCount(loop) ? BackEdge::Counted : BackEdge::Unknown;
    for (llvm::BasicBlock *block : loop->blocks())
      for (llvm::Instruction &instruction : *block) {
        auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        const HookInfo *hook = call && call->getCalledFunction() ? hookOf(*call->getCalledFunction()) : nullptr;
        auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        if (instruction.isAtomic() || (load && load->isVolatile()) || (hook && hook->site == KL_SITE_ATOMIC)) kind = BackEdge::Spins;
      }
    llvm::SmallVector<llvm::BasicBlock *> latches;
    loop->getLoopLatches(latches);
    for (llvm::BasicBlock *latch : latches)
      if (kind != BackEdge::Counted) loops.push_back({latch, kind});
  }
}

void KernelInstrumenter::collectDivergence() {
  auto &uniformity = analyses.getResult<llvm::UniformityInfoAnalysis>(kernel);
  for (llvm::BasicBlock &block : kernel) {
    llvm::Instruction *terminator = block.getTerminator();
    if (terminator->getNumSuccessors() > 1 && uniformity.hasDivergentTerminator(block)) divergentBranches.push_back(terminator);
  }
  for (llvm::Instruction &instruction : llvm::instructions(kernel)) {
    const Value *pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (!pointer) continue;
    if (uniformity.isUniform(pointer)) uniformPointers.insert(&instruction);
    if (!instruction.isAtomic() && !isPrivate(pointer)) accesses.push_back(&instruction);
  }
}

void KernelInstrumenter::makeEntry() {
  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kl_entry." + kernel.getName(), module);
  entry->setDoesNotThrow();
  entry->addFnAttr("frame-pointer", "none");
  self = entry->getArg(0);
  self->setName("self");
  const llvm::DataLayout &layout = module.getDataLayout();
  entry->splice(entry->begin(), &kernel);
  llvm::BasicBlock *first = &entry->getEntryBlock();
  llvm::IRBuilder<> builder(first, first->begin());
  for (llvm::Argument &argument : kernel.args()) {
    Value *slot = builder.CreateConstInBoundsGEP1_64(pointer, entry->getArg(1), argument.getArgNo());
    Value *address = builder.CreateLoad(pointer, slot);
    Value *value;
    llvm::Type *passed = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
    uint64_t bytes = layout.getTypeAllocSize(passed).getFixedValue();
    if (argument.hasByValAttr()) {
      llvm::AllocaInst *copy = builder.CreateAlloca(passed);
      copy->setAlignment(std::max(argument.getParamAlign().valueOrOne(), llvm::Align(16)));
      parameterCopies.insert(builder.CreateMemCpy(copy, copy->getAlign(), address, llvm::Align(1), bytes));
      value = builder.CreateAddrSpaceCast(copy, argument.getType());
    } else {
      value = builder.CreateAlignedLoad(passed, address, llvm::Align(1));
    }
    argument.replaceAllUsesWith(value);
    info.parameterBytes = unsigned(llvm::alignTo(info.parameterBytes, layout.getABITypeAlign(passed)) + bytes);
  }
  entryPoint = builder.CreateAlloca(builder.getInt1Ty()); // An anchor that no rewriting takes away.
  auto numbers = [&](const char *name, llvm::SmallVector<unsigned> &out) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(kernel.getFnAttribute(name).getValueAsString()).split(parts, ',', -1, false);
    for (llvm::StringRef part : parts) {
      unsigned value = 0;
      if (!part.trim().getAsInteger(10, value)) out.push_back(value);
    }
  };
  llvm::SmallVector<unsigned> threads, cluster;
  numbers("nvvm.maxntid", threads);
  numbers("nvvm.cluster_dim", cluster);
  if (!threads.empty()) {
    info.maxThreads = 1;
    for (unsigned extent : threads)
      info.maxThreads *= extent;
  }
  for (unsigned i = 0; i < cluster.size() && i < 3; ++i)
    info.cluster[i] = cluster[i];
}

Value *KernelInstrumenter::field(size_t offset, llvm::Type *type) {
  Value *&value = fields[offset];
  if (!value) {
    llvm::IRBuilder<> builder(entryPoint);
    auto *load = builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), self, offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    value = load;
  }
  return value;
}

Status KernelInstrumenter::layOutShared() {
  const llvm::DataLayout &layout = module.getDataLayout();
  std::vector<std::pair<llvm::GlobalVariable *, llvm::SmallVector<llvm::Instruction *>>> used;
  for (llvm::GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() != KL_SHARED) continue;
    llvm::SmallVector<llvm::Instruction *> users;
    for (llvm::User *user : variable.users())
      if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(user); instruction && instruction->getFunction() == entry)
        users.push_back(instruction);
    if (!users.empty()) used.push_back({&variable, std::move(users)});
  }
  uint64_t offset = 0;
  llvm::Align dynamicAlign(16);
  auto isDynamic = [&](llvm::GlobalVariable *variable) { return layout.getTypeAllocSize(variable->getValueType()).isZero(); };
  std::map<llvm::GlobalVariable *, uint64_t> places;
  for (auto &[variable, users] : used) {
    llvm::Align align = std::max(variable->getAlign().valueOrOne(), layout.getABITypeAlign(variable->getValueType()));
    if (isDynamic(variable)) {
      dynamicAlign = std::max(dynamicAlign, align);
      continue;
    }
    offset = llvm::alignTo(offset, align);
    places[variable] = offset;
    offset += layout.getTypeAllocSize(variable->getValueType()).getFixedValue();
  }
  info.staticShared = unsigned(offset);
  uint64_t dynamicOffset = llvm::alignTo(offset, dynamicAlign);
  bool hasDynamic = false;
  for (auto &[variable, users] : used) {
    Value *base = field(offsetof(kl_thread, shared), llvm::PointerType::get(context, 0));
    llvm::IRBuilder<> builder(entryPoint);
    hasDynamic |= isDynamic(variable);
    uint64_t place = isDynamic(variable) ? dynamicOffset : places[variable];
    Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, place);
    address = builder.CreateAddrSpaceCast(address, variable->getType(), variable->getName());
    if (!isDynamic(variable)) sharedVariables[address] = {unsigned(place), unsigned(place + layout.getTypeAllocSize(variable->getValueType()).getFixedValue())};
    for (llvm::Instruction *user : users)
      user->replaceUsesOfWith(variable, address);
  }
  if (hasDynamic) info.staticShared = unsigned(dynamicOffset);
  return Done{};
}

Value *KernelInstrumenter::registerValue(llvm::CallInst &call, llvm::StringRef name) {
  llvm::Type *word = llvm::Type::getInt32Ty(context);
  llvm::IRBuilder<> builder(&call);
  auto axis = [&](size_t base) { return field(base + 4 * size_t(name.back() - 'x'), word); };
  if (name.starts_with("tid.") && name.back() != 'w') return axis(offsetof(kl_thread, tid));
  if (name.starts_with("ctaid.") && name.back() != 'w') return axis(offsetof(kl_thread, ctaid));
  if (name.starts_with("ntid.") && name.back() != 'w') return axis(offsetof(kl_thread, ntid));
  if (name.starts_with("nctaid.") && name.back() != 'w') return axis(offsetof(kl_thread, nctaid));
  auto lane = [&] { return field(offsetof(kl_thread, lane), word); };
  if (name == "laneid") return lane();
  if (name == "warpid") return field(offsetof(kl_thread, warp), word);
  if (name == "smid") return field(offsetof(kl_thread, smid), word);
  if (name == "gridid") return builder.CreateZExtOrTrunc(field(offsetof(kl_thread, gridid), builder.getInt64Ty()), call.getType());
  if (name == "dynamic.smem.size") return field(offsetof(kl_thread, dynamicShared), word);
  if (name == "warpsize") return builder.getInt32(32);
  if (name == "nsmid") return builder.getInt32(132);
  if (name == "nwarpid") return builder.getInt32(64);
  Value *one = builder.getInt32(1);
  if (name == "lanemask.eq") return builder.CreateShl(one, lane());
  if (name == "lanemask.lt") return builder.CreateSub(builder.CreateShl(one, lane()), one);
  if (name == "lanemask.le") return builder.CreateSub(builder.CreateShl(builder.getInt32(2), lane()), one);
  if (name == "lanemask.gt") return builder.CreateNot(builder.CreateSub(builder.CreateShl(builder.getInt32(2), lane()), one));
  if (name == "lanemask.ge") return builder.CreateNot(builder.CreateSub(builder.CreateShl(one, lane()), one));
  if (name == "clock" || name == "clock64" || name == "globaltimer" || name == "globaltimer.lo") {
    Value *ticks = callRuntime(builder, "kl_clock", builder.getInt64Ty(), {self, builder.getInt32(name.starts_with("global"))});
    return builder.CreateZExtOrTrunc(ticks, call.getType());
  }
  return nullptr;
}

Status KernelInstrumenter::replaceRegisters() {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(entry))) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction()) continue;
    llvm::StringRef name = call->getCalledFunction()->getName();
    if (!name.consume_front("llvm.nvvm.read.ptx.sreg.")) continue;
    Value *value = registerValue(*call, name);
    if (!value) return refusal("unsupported_intrinsic: llvm.nvvm.read.ptx.sreg." + name.str(), whereIs(instruction));
    call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
  return Done{};
}

void KernelInstrumenter::countBlocks() {
  llvm::Type *word = llvm::Type::getInt32Ty(context);
  unsigned index = 0;
  for (llvm::BasicBlock &block : *entry) {
    bool isFirst = &block == &entry->getEntryBlock();
    Value *counters = field(offsetof(kl_thread, blockCounts), llvm::PointerType::get(context, 0));
    llvm::IRBuilder<> builder(&block, isFirst ? entryPoint->getIterator() : block.getFirstInsertionPt());
    Value *slot = builder.CreateConstInBoundsGEP1_64(word, counters, index++);
    builder.CreateStore(builder.CreateAdd(builder.CreateLoad(word, slot), builder.getInt32(1)), slot);
  }
}

llvm::CallInst *KernelInstrumenter::callRuntime(llvm::IRBuilder<> &builder, const std::string &name, llvm::Type *result,
                                                llvm::ArrayRef<Value *> arguments) {
  llvm::SmallVector<llvm::Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  return builder.CreateCall(callee, arguments);
}

Value *KernelInstrumenter::generic(llvm::IRBuilder<> &builder, Value *pointer) {
  return builder.CreateAddrSpaceCast(pointer, builder.getPtrTy());
}

unsigned KernelInstrumenter::site(const llvm::Instruction &at, kl_site_kind kind, unsigned bytes, const Value *pointer, unsigned flags) {
  unsigned space = pointer ? pointer->getType()->getPointerAddressSpace() : 0;
  if (pointer && uniformPointers.contains(&at)) flags |= KL_UNIFORM;
  return tables.addSite(kind, bytes, space, flags | flagsOf(at), at.getDebugLoc());
}

void KernelInstrumenter::keepInsideVariable(unsigned site, const Value *pointer) {
  while (true) {
    if (auto known = sharedVariables.find(pointer); known != sharedVariables.end()) return tables.keepInside(site, known->second.first, known->second.second);
    if (auto *step = llvm::dyn_cast<llvm::GEPOperator>(pointer)) pointer = step->getPointerOperand();
    else if (auto *cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(pointer)) pointer = cast->getPointerOperand();
    else return; // one of several, or from memory
  }
}

void KernelInstrumenter::instrumentBranches() {
  for (llvm::Instruction *terminator : divergentBranches) {
    llvm::IRBuilder<> builder(terminator);
    Value *way = nullptr;
    if (auto *branch = llvm::dyn_cast<llvm::BranchInst>(terminator)) {
      way = builder.CreateSelect(branch->getCondition(), builder.getInt32(0), builder.getInt32(1));
    } else if (auto *choice = llvm::dyn_cast<llvm::SwitchInst>(terminator)) {
      way = builder.getInt32(0);
      for (auto &option : choice->cases())
        way = builder.CreateSelect(builder.CreateICmpEQ(choice->getCondition(), option.getCaseValue()),
                                   builder.getInt32(option.getSuccessorIndex()), way);
    } else {
      continue;
    }
    unsigned index = site(*terminator, KL_SITE_BRANCH, 0, nullptr, 0);
    callRuntime(builder, "kl_branch", builder.getVoidTy(), {self, way, builder.getInt32(index), keyAt(*terminator)});
  }
}

void KernelInstrumenter::guardBackEdges() {
  for (const Loop &loop : loops) {
    llvm::Instruction *terminator = loop.latch->getTerminator();
    unsigned index = site(*terminator, KL_SITE_LOOP, 0, nullptr, 0);
    Value *key = keyAt(*terminator);
    llvm::IRBuilder<> builder(terminator);
    if (loop.kind == BackEdge::Spins) {
      callRuntime(builder, "kl_yield", builder.getVoidTy(), {self, builder.getInt32(index), key});
      continue;
    }
    Value *slot = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), self, offsetof(kl_thread, fuel));
    Value *left = builder.CreateSub(builder.CreateLoad(builder.getInt64Ty(), slot), builder.getInt64(1));
    builder.CreateStore(left, slot);
    Value *empty = builder.CreateICmpSLT(left, builder.getInt64(0));
    llvm::Instruction *then = llvm::SplitBlockAndInsertIfThen(empty, terminator->getIterator(), false);
    llvm::IRBuilder<> inside(then);
    callRuntime(inside, "kl_out_of_fuel", inside.getVoidTy(), {self, inside.getInt32(index), key});
  }
}

} // namespace klineage::emulated
