// The part of PtxTranslator for memory: loads, stores, atomics and asynchronous copies, with their cache hints.
#include "device/emulated/ptx_translator.h"
#include "llvm/ADT/StringSwitch.h"

namespace klineage::emulated {

using llvm::Type;
using llvm::Value;

namespace {

unsigned spaceOf(const PtxInstruction &instruction) {
  for (const std::string &part : instruction.opcode) {
    if (part == "global") return KL_GLOBAL;
    if (part == "const") return KL_CONSTANT;
    if (part == "local") return KL_LOCAL;
    if (part == "shared" || part == "shared::cta") return KL_SHARED;
  }
  return KL_GENERIC;
}

unsigned orderScope(const PtxInstruction &instruction) {
  unsigned order = instruction.has("acquire")   ? KL_ACQUIRE
                   : instruction.has("release") ? KL_RELEASE
                   : instruction.has("acq_rel") ? KL_ACQ_REL
                   : instruction.has("sc")      ? KL_SEQ_CST
                                                : KL_RELAXED;
  unsigned scope = instruction.has("cta") || instruction.has("cluster") ? KL_SCOPE_BLOCK : instruction.has("sys") ? KL_SCOPE_SYSTEM : KL_SCOPE_DEVICE;
  return order | scope << 8;
}

unsigned flagsOf(const PtxInstruction &instruction) {
  unsigned flags = 0;
  if (instruction.has("nc")) flags |= KL_READ_ONLY;
  for (const char *hint : {"cs", "cg", "ca", "lu", "cv", "wb", "wt", "L1::no_allocate", "L1::evict_first", "L1::evict_last", "L2::evict_first", "L2::evict_last"})
    if (instruction.has(hint)) flags |= KL_WEAK_HINT;
  if (instruction.has("cg") || instruction.has("L1::no_allocate")) flags |= KL_BYPASS_L1;
  return flags;
}

unsigned bitsOf(Type *type) { return unsigned(type->getPrimitiveSizeInBits().getFixedValue()); }

} // namespace

bool PtxTranslator::memory(const PtxInstruction &instruction) {
  bool isLoad = instruction.operation() == "ld" || instruction.operation() == "ldu", isStore = instruction.operation() == "st";
  if ((!isLoad && !isStore) || instruction.operands.size() < 2 || instruction.has("async") || instruction.has("bulk")) return false;
  if (instruction.has("shared::cluster") || instruction.has("param")) return false;
  Type *element = typeNamed(instruction.opcode.back());
  const PtxOperand &where = instruction.operands[isLoad ? 0 : 1], &pointer = instruction.operands[isLoad ? 1 : 0];
  Value *target = element ? address(pointer, spaceOf(instruction)) : nullptr;
  if (!target) return false;
  target = builder.CreateAddrSpaceCast(target, builder.getPtrTy(spaceOf(instruction)));
  unsigned count = instruction.has("v2") ? 2 : instruction.has("v4") ? 4 : instruction.has("v8") ? 8 : 1;
  unsigned bytes = bitsOf(element) / 8 * count;
  if (bytes > 16) return false;
  bool ordered = instruction.has("relaxed") || instruction.has("acquire") || instruction.has("release") || instruction.has("mmio");
  Type *whole = builder.getIntNTy(bytes * 8);
  if (ordered) {
    if (bytes > 8) return false;
    if (isLoad) {
      Value *loaded = hook("atomic_load", i64(), {builder.CreateAddrSpaceCast(target, builder.getPtrTy()), word(bytes), word(orderScope(instruction))});
      return write(where, builder.CreateTrunc(loaded, whole));
    }
    Value *value = read(where, whole);
    return value && hook("atomic_store", builder.getVoidTy(),
                         {builder.CreateAddrSpaceCast(target, builder.getPtrTy()), word(bytes), cast(value, i64()), word(orderScope(instruction))});
  }
  bool isVolatile = instruction.has("volatile") || instruction.has("cv");
  unsigned flags = flagsOf(instruction);
  if (isLoad) {
    llvm::Instruction *load;
    if (bytes >= 8 && !isVolatile && count > 1)
      load = hook("load", llvm::FixedVectorType::get(i32(), bytes / 4), {target});
    else
      load = builder.CreateAlignedLoad(whole, target, llvm::Align(bytes), isVolatile);
    setFlags(*load, flags);
    Value *value = load;
    // Results narrower than their register are extended as their type says.
    if (bytes < 4 && count == 1 && isSigned(instruction.opcode.back()) && where.kind == PtxOperand::Name)
      if (Register *slot = registerOf(where.text); slot && slot->type->isIntegerTy()) value = builder.CreateSExtOrTrunc(value, slot->type);
    return write(where, value);
  }
  Value *value;
  if (where.kind == PtxOperand::Vector) {
    // Elements may be wider registers than what is stored (8 and 16 bits).
    Value *packed = llvm::ConstantInt::get(whole, 0);
    for (unsigned i = 0; i < where.elements.size(); ++i) {
      Value *part = read(where.elements[i], element);
      if (!part) return false;
      packed = builder.CreateOr(packed, builder.CreateShl(builder.CreateZExt(cast(part, builder.getIntNTy(bitsOf(element))), whole), i * bitsOf(element)));
    }
    value = packed;
  } else {
    value = read(where, whole);
  }
  if (!value) return false;
  llvm::Instruction *store;
  if (bytes >= 8 && !isVolatile && count > 1)
    store = hook("store", builder.getVoidTy(), {target, builder.CreateBitCast(value, llvm::FixedVectorType::get(i32(), bytes / 4))});
  else
    store = builder.CreateAlignedStore(value, target, llvm::Align(bytes), isVolatile);
  setFlags(*store, flags);
  return true;
}

bool PtxTranslator::atomic(const PtxInstruction &instruction) {
  bool isReduction = instruction.operation() == "red";
  if (!isReduction && instruction.operation() != "atom") return false;
  if (instruction.has("async") || instruction.has("v2") || instruction.has("v4") || instruction.has("v8") || instruction.has("shared::cluster")) return false;
  const std::string &typeName = instruction.opcode.back();
  Type *type = typeNamed(typeName);
  const PtxOperand &pointer = instruction.operands[isReduction ? 0 : 1];
  Value *target = type && instruction.operands.size() >= (isReduction ? 2u : 3u) ? address(pointer, spaceOf(instruction)) : nullptr;
  if (!target || bitsOf(type) > 64) return false;
  unsigned first = isReduction ? 1 : 2;
  Value *value = read(instruction.operands[first], type);
  if (!value) return false;
  if (instruction.has("cas")) {
    Value *replacement = instruction.operands.size() > first + 1 ? read(instruction.operands[first + 1], type) : nullptr;
    if (!replacement) return false;
    Value *old = hook("atomic_cas", i64(), {target, word(bitsOf(type) / 8), cast(value, i64()), cast(replacement, i64()), word(orderScope(instruction))});
    return write(instruction.operands[0], cast(old, builder.getIntNTy(bitsOf(type))));
  }
  unsigned op = ~0u;
  bool floating = isFloat(type), isSignedType = isSigned(typeName);
  for (const std::string &part : instruction.opcode) {
    unsigned found = llvm::StringSwitch<unsigned>(part)
                         .Case("add", floating ? KL_FADD : KL_ADD).Case("and", KL_AND).Case("or", KL_OR).Case("xor", KL_XOR).Case("exch", KL_EXCHANGE)
                         .Case("min", floating ? KL_FMIN : isSignedType ? KL_MIN_S : KL_MIN_U)
                         .Case("max", floating ? KL_FMAX : isSignedType ? KL_MAX_S : KL_MAX_U)
                         .Case("inc", KL_INC_WRAP).Case("dec", KL_DEC_WRAP).Default(~0u);
    if (found != ~0u) op = found;
  }
  if (op == ~0u) return false;
  unsigned kind = typeName == "f16"     ? KL_F16
                  : typeName == "bf16"  ? KL_BF16
                  : typeName == "f16x2" ? KL_F16X2
                  : typeName == "bf16x2" ? KL_BF16X2
                  : typeName == "f32"   ? KL_F32
                  : typeName == "f64"   ? KL_F64
                  : bitsOf(type) == 16  ? KL_I16
                  : bitsOf(type) == 32  ? KL_I32
                                        : KL_I64;
  Value *old = hook("atomic_rmw", i64(), {target, word(op), word(kind), cast(value, i64()), word(orderScope(instruction))});
  return isReduction || write(instruction.operands[0], cast(old, builder.getIntNTy(bitsOf(type))));
}

bool PtxTranslator::copyAsync(const PtxInstruction &instruction) {
  if (instruction.operation() != "cp" || !instruction.has("async")) return false;
  const auto &operands = instruction.operands;
  Type *none = builder.getVoidTy();
  if (instruction.has("bulk") || instruction.has("mbarrier")) return false;
  if (instruction.has("commit_group")) return hook("cp_async_commit", none, {});
  if (instruction.has("wait_all")) return hook("cp_async_wait_all", none, {});
  if (instruction.has("wait_group")) {
    Value *pending = operands.size() == 1 ? read(operands[0], i32()) : nullptr;
    return pending && hook("cp_async_wait", none, {pending});
  }
  if (operands.size() < 3 || operands[2].kind == PtxOperand::Address) return false;
  Value *to = address(operands[0], KL_SHARED), *from = address(operands[1], KL_GLOBAL), *bytes = read(operands[2], i32());
  if (!to || !from || !bytes || !llvm::isa<llvm::ConstantInt>(bytes)) return false;
  // Two more operands at most: the bytes to take from the source (or a predicate to ignore it), and a cache policy.
  Value *source = bytes;
  if (operands.size() > 3 && !instruction.has("L2::cache_hint")) {
    Register *slot = operands[3].kind == PtxOperand::Name ? registerOf(operands[3].text) : nullptr;
    if (slot && slot->type->isIntegerTy(1))
      source = builder.CreateSelect(read(operands[3], builder.getInt1Ty()), word(0), bytes);
    else
      source = read(operands[3], i32());
  }
  if (!source) return false;
  llvm::CallInst *copy = hook("cp_async", none, {to, from, bytes, source});
  if (instruction.has("cg")) setFlags(*copy, KL_BYPASS_L1);
  return true;
}

} // namespace klineage::emulated
