#include "device/emulated/instruction_cost.h"
#include "device/emulated/hooks.h"
#include "device/emulated/lowering.h"
#include "llvm/IR/IntrinsicInst.h"

namespace klineage::emulated {
namespace {

struct Part {
  kl_instruction kind;
  unsigned count;
};
using Parts = llvm::SmallVector<Part, 3>;

kl_instruction arithmeticKind(llvm::Type *type, kl_instruction single) {
  type = type->getScalarType();
  if (type->isDoubleTy()) return KL_FP64;
  if (type->isHalfTy() || type->isBFloatTy()) return KL_FP16;
  return single;
}

/// A vector counts once an element, except that two 16-bit elements share an instruction.
unsigned elements(llvm::Type *type) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return 1;
  unsigned count = vector->getNumElements();
  return type->getScalarSizeInBits() == 16 ? (count + 1) / 2 : count;
}

bool isFusedInto(const llvm::Instruction &product) {
  if (product.getOpcode() != llvm::Instruction::FMul || !product.hasAllowContract() || !product.hasOneUse()) return false;
  auto *user = llvm::dyn_cast<llvm::Instruction>(product.user_back());
  return user && user->hasAllowContract() && (user->getOpcode() == llvm::Instruction::FAdd || user->getOpcode() == llvm::Instruction::FSub);
}

bool hasFusedOperand(const llvm::Instruction &sum) {
  for (const llvm::Value *operand : sum.operands())
    if (auto *product = llvm::dyn_cast<llvm::Instruction>(operand); product && isFusedInto(*product)) return true;
  return false;
}

Parts callParts(const llvm::CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (!callee) return {};
  if (const HookInfo *hook = hookOf(*callee)) {
    bool isLocal = hook->shape == HookShape::WideLoad || hook->shape == HookShape::WideStore ? isPrivate(call.getArgOperand(0)) : false;
    return isLocal ? Parts{} : Parts{{hook->instruction, 1}};
  }
  llvm::StringRef name = callee->getName();
  llvm::Type *type = call.getType();
  if (name.starts_with("__nv_")) {
    // A library function: a range reduction and a polynomial around at most one special-function instruction.
    if (type->isDoubleTy()) return {{KL_FP64, 20}, {KL_INT, 6}};
    return {{KL_FP32_FMA, 6}, {KL_FP32, 3}, {KL_SPECIAL, 1}};
  }
  switch (callee->getIntrinsicID()) {
  case llvm::Intrinsic::fma:
  case llvm::Intrinsic::fmuladd:
    return {{arithmeticKind(type, KL_FP32_FMA), elements(type)}};
  case llvm::Intrinsic::exp2:
  case llvm::Intrinsic::log2:
  case llvm::Intrinsic::sin:
  case llvm::Intrinsic::cos:
  case llvm::Intrinsic::tanh:
    return {{KL_SPECIAL, elements(type)}, {KL_FP32, elements(type)}};
  case llvm::Intrinsic::sqrt:
    if (type->isDoubleTy()) return {{KL_SPECIAL, 1}, {KL_FP64, 7}};
    return call.hasApproxFunc() ? Parts{{KL_SPECIAL, 1}} : Parts{{KL_SPECIAL, 1}, {KL_FP32_FMA, 4}};
  case llvm::Intrinsic::minnum:
  case llvm::Intrinsic::maxnum:
  case llvm::Intrinsic::minimum:
  case llvm::Intrinsic::maximum:
    return {{arithmeticKind(type, KL_FP32), elements(type)}};
  case llvm::Intrinsic::floor:
  case llvm::Intrinsic::ceil:
  case llvm::Intrinsic::trunc:
  case llvm::Intrinsic::roundeven:
  case llvm::Intrinsic::round:
  case llvm::Intrinsic::fptosi_sat:
  case llvm::Intrinsic::fptoui_sat:
    return {{KL_CONVERT, elements(type)}};
  case llvm::Intrinsic::smin:
  case llvm::Intrinsic::smax:
  case llvm::Intrinsic::umin:
  case llvm::Intrinsic::umax:
  case llvm::Intrinsic::abs:
  case llvm::Intrinsic::ctpop:
  case llvm::Intrinsic::ctlz:
  case llvm::Intrinsic::cttz:
  case llvm::Intrinsic::bitreverse:
  case llvm::Intrinsic::fshl:
  case llvm::Intrinsic::fshr:
  case llvm::Intrinsic::copysign:
    return {{KL_INT, elements(type)}};
  default:
    return {};
  }
}

Parts partsOf(const llvm::Instruction &instruction) {
  using namespace llvm;
  Type *type = instruction.getType();
  unsigned count = elements(type);
  switch (instruction.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
    return {{arithmeticKind(type, hasFusedOperand(instruction) ? KL_FP32_FMA : KL_FP32), count}};
  case Instruction::FMul:
    if (isFusedInto(instruction)) return {};
    return {{arithmeticKind(type, KL_FP32), count}};
  case Instruction::FCmp:
    return {{arithmeticKind(instruction.getOperand(0)->getType(), KL_FP32), elements(instruction.getOperand(0)->getType())}};
  case Instruction::FDiv:
  case Instruction::FRem:
    if (type->getScalarType()->isDoubleTy()) return {{KL_SPECIAL, count}, {KL_FP64, 8 * count}};
    if (instruction.hasApproxFunc() || instruction.hasAllowReciprocal()) return {{KL_SPECIAL, count}, {KL_FP32, count}};
    return {{KL_SPECIAL, count}, {KL_FP32_FMA, 5 * count}, {KL_INT, 2 * count}};
  case Instruction::Mul:
    return {{KL_INT_MUL, (type->getScalarSizeInBits() > 32 ? 3 : 1) * count}};
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem: {
    auto *divisor = dyn_cast<ConstantInt>(instruction.getOperand(1));
    if (divisor && divisor->getValue().isPowerOf2()) return {{KL_INT, count}};
    if (divisor) return {{KL_INT_MUL, count}, {KL_INT, 2 * count}};
    return {{KL_INT, (type->getScalarSizeInBits() > 32 ? 40 : 12) * count}, {KL_INT_MUL, 4 * count}, {KL_SPECIAL, count}};
  }
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
    if (type->isIntegerTy(1)) return {};
    return {{KL_INT, (type->getScalarSizeInBits() > 32 ? 2 : 1) * count}};
  case Instruction::ICmp:
  case Instruction::Select:
    return {{KL_INT, count}};
  case Instruction::FPToSI:
  case Instruction::FPToUI:
  case Instruction::SIToFP:
  case Instruction::UIToFP:
  case Instruction::FPTrunc:
    return {{KL_CONVERT, count}};
  case Instruction::FPExt:
    // bfloat16 is the upper half of a float: a shift.
    return {{instruction.getOperand(0)->getType()->getScalarType()->isBFloatTy() ? KL_INT : KL_CONVERT, count}};
  case Instruction::GetElementPtr:
    for (const Use &index : drop_begin(instruction.operands()))
      if (!isa<Constant>(index)) return {{KL_INT, 1}};
    return {};
  case Instruction::Load:
    return isPrivate(cast<LoadInst>(instruction).getPointerOperand()) ? Parts{} : Parts{{KL_LOAD, 1}};
  case Instruction::Store:
    return isPrivate(cast<StoreInst>(instruction).getPointerOperand()) ? Parts{} : Parts{{KL_STORE, 1}};
  case Instruction::AtomicRMW:
  case Instruction::AtomicCmpXchg:
    return {{KL_ATOMIC, 1}};
  case Instruction::Fence:
    return {{KL_OTHER, 1}};
  case Instruction::Br:
    return cast<BranchInst>(instruction).isConditional() ? Parts{{KL_BRANCH, 1}} : Parts{};
  case Instruction::Switch:
    return {{KL_BRANCH, 1}, {KL_INT, cast<SwitchInst>(instruction).getNumCases()}};
  case Instruction::Call:
    return callParts(cast<CallInst>(instruction));
  default:
    return {};
  }
}

unsigned latencyOf(kl_instruction kind) {
  switch (kind) {
  case KL_LOAD: case KL_MATRIX_LOAD: return loadLatency;
  case KL_SPECIAL: return 18;
  case KL_SHUFFLE: case KL_VOTE: return 23;
  case KL_FP64: return 8;
  case KL_CONVERT: return 8;
  case KL_TENSOR: return 32;
  case KL_STORE: case KL_BRANCH: case KL_COPY_ASYNC: case KL_BARRIER: return 1;
  default: return 4;
  }
}

} // namespace

kl_block costOf(const llvm::BasicBlock &block) {
  kl_block cost{};
  llvm::DenseMap<const llvm::Instruction *, unsigned> ready;
  unsigned longest = 0;
  for (const llvm::Instruction &instruction : block) {
    unsigned start = 0;
    if (!llvm::isa<llvm::PHINode>(instruction))
      for (const llvm::Value *operand : instruction.operands())
        if (auto *producer = llvm::dyn_cast<llvm::Instruction>(operand)) start = std::max(start, ready.lookup(producer));
    for (Part part : partsOf(instruction)) {
      unsigned sum = cost.mix[part.kind] + part.count;
      cost.mix[part.kind] = uint16_t(std::min(sum, 65535u));
      start += latencyOf(part.kind) + (part.count > 1 ? part.count - 1 : 0);
    }
    ready[&instruction] = start;
    longest = std::max(longest, start);
    if (!cost.line && instruction.getDebugLoc()) cost.line = instruction.getDebugLoc().getLine();
  }
  cost.depth = uint16_t(std::min(longest, 65535u));
  return cost;
}

} // namespace klineage::emulated
