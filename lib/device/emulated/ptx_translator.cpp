#include "device/emulated/ptx_translator.h"
#include "device/emulated/lowering.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace klineage::emulated {

using llvm::Type;
using llvm::Value;

Status translateInlinePtx(llvm::Function &function) {
  std::vector<llvm::CallInst *> calls;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) calls.push_back(call);
  for (llvm::CallInst *call : calls)
    if (Status status = PtxTranslator(*call, *llvm::cast<llvm::InlineAsm>(call->getCalledOperand())).run(); !status) return status;
  return Done{};
}

Status PtxTranslator::run() {
  std::string where = whereIs(call);
  // LLVM writes a literal dollar twice.
  std::string text(assembly.getAsmString());
  for (size_t at = 0; (at = text.find("$$", at)) != text.npos; ++at)
    text.erase(at, 1);
  auto body = parsePtx(text);
  if (!body) return refusal(body.error().what, where);
  if (Status status = bindArguments(); !status) return status;
  for (const PtxDeclaration &declaration : body->declarations)
    for (const std::string &name : declaration.names)
      if (Type *type = typeNamed(declaration.type))
        registers[name] = {type, nullptr};
      else
        return refusal("unsupported_ptx: .reg ." + declaration.type, where);
  for (const PtxInstruction &instruction : body->instructions) {
    if (instruction.predicate.empty()) {
      if (!translate(instruction)) return refusal("unsupported_ptx: " + instruction.text, where);
      continue;
    }
    PtxOperand predicate;
    predicate.text = instruction.predicate;
    predicate.negated = instruction.predicateNegated;
    Value *condition = read(predicate, builder.getInt1Ty());
    if (!condition) return refusal("unsupported_ptx: " + instruction.text, where);
    auto before = registers;
    llvm::BasicBlock *head = call.getParent();
    llvm::Instruction *then = llvm::SplitBlockAndInsertIfThen(condition, call.getIterator(), false);
    builder.SetInsertPoint(then);
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    if (!translate(instruction)) return refusal("unsupported_ptx: " + instruction.text, where);
    llvm::BasicBlock *inside = then->getParent();
    builder.SetInsertPoint(&call);
    for (auto &[name, now] : registers) {
      Value *old = before[name].value;
      if (now.value == old) continue;
      if (!old) old = llvm::PoisonValue::get(now.value->getType());
      llvm::IRBuilder<> top(call.getParent(), call.getParent()->begin());
      llvm::PHINode *merged = top.CreatePHI(now.value->getType(), 2);
      Value *oldCast = old;
      if (old->getType() != now.value->getType()) {
        llvm::IRBuilder<> end(head->getTerminator());
        oldCast = end.CreateBitCast(old, now.value->getType());
      }
      merged->addIncoming(now.value, inside);
      merged->addIncoming(oldCast, head);
      now.value = merged;
    }
  }
  finish();
  return Done{};
}

Status PtxTranslator::bindArguments() {
  unsigned index = 0, input = 0;
  auto *structure = llvm::dyn_cast<llvm::StructType>(call.getType());
  for (const llvm::InlineAsm::ConstraintInfo &constraint : assembly.ParseConstraints()) {
    if (constraint.Type == llvm::InlineAsm::isClobber) continue;
    std::string name = "$" + std::to_string(index++);
    if (constraint.Type == llvm::InlineAsm::isOutput && !constraint.isIndirect) {
      Type *type = structure ? structure->getElementType(unsigned(outputs.size())) : call.getType();
      registers[name] = {type, nullptr};
      outputs.push_back(name);
      continue;
    }
    if (constraint.Type != llvm::InlineAsm::isInput) return refusal("unsupported_ptx: operand kind of " + assembly.getAsmString().str(), whereIs(call));
    Value *value = call.getArgOperand(input++);
    registers[name] = {value->getType(), value};
    if (constraint.hasMatchingInput() || constraint.Codes.empty()) continue;
    // "0": the same register as output 0.
    unsigned tied = 0;
    if (!llvm::StringRef(constraint.Codes.front()).getAsInteger(10, tied) && tied < outputs.size()) registers[outputs[tied]].value = value;
  }
  return Done{};
}

void PtxTranslator::finish() {
  auto valueOf = [&](const std::string &name) {
    Register &slot = registers[name];
    return slot.value ? cast(slot.value, slot.type) : llvm::PoisonValue::get(slot.type);
  };
  if (!call.getType()->isVoidTy()) {
    Value *result = nullptr;
    if (call.getType()->isStructTy()) {
      result = llvm::PoisonValue::get(call.getType());
      for (unsigned i = 0; i < outputs.size(); ++i)
        result = builder.CreateInsertValue(result, valueOf(outputs[i]), i);
    } else {
      result = valueOf(outputs.front());
    }
    call.replaceAllUsesWith(result);
  }
  call.eraseFromParent();
}

bool PtxTranslator::translate(const PtxInstruction &instruction) {
  return move(instruction) || arithmetic(instruction) || bits(instruction) || compare(instruction) || convert(instruction) ||
         memory(instruction) || atomic(instruction) || copyAsync(instruction) || exchange(instruction) || matrix(instruction) || control(instruction);
}

// ------------------------------------------------------------- operands

Type *PtxTranslator::typeNamed(std::string_view name) {
  llvm::LLVMContext &context = builder.getContext();
  if (name == "pred") return builder.getInt1Ty();
  if (name == "f16") return builder.getHalfTy();
  if (name == "bf16") return builder.getBFloatTy();
  if (name == "f16x2") return llvm::FixedVectorType::get(Type::getHalfTy(context), 2);
  if (name == "bf16x2") return llvm::FixedVectorType::get(Type::getBFloatTy(context), 2);
  if (name == "f32" || name == "tf32") return builder.getFloatTy();
  if (name == "f64") return builder.getDoubleTy();
  unsigned bits = 0;
  if (name.size() < 2 || std::string_view("busf").find(name[0]) == std::string_view::npos) return nullptr;
  if (llvm::StringRef(name).drop_front().getAsInteger(10, bits)) return nullptr;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? builder.getIntNTy(bits) : nullptr;
}

PtxTranslator::Register *PtxTranslator::registerOf(const std::string &name) {
  auto found = registers.find(name);
  return found == registers.end() ? nullptr : &found->second;
}

Value *PtxTranslator::cast(Value *value, Type *type) {
  Type *from = value->getType();
  if (from == type) return value;
  if (from->isPointerTy()) value = builder.CreatePtrToInt(value, i64()), from = i64();
  if (type->isPointerTy()) return builder.CreateIntToPtr(cast(value, i64()), type);
  unsigned have = unsigned(from->getPrimitiveSizeInBits().getFixedValue()), want = unsigned(type->getPrimitiveSizeInBits().getFixedValue());
  if (have == want) return builder.CreateBitCast(value, type);
  Value *bits = builder.CreateBitCast(value, builder.getIntNTy(have));
  return builder.CreateBitCast(builder.CreateZExtOrTrunc(bits, builder.getIntNTy(want)), type);
}

Value *PtxTranslator::literal(const std::string &text, Type *type) {
  if (text.size() == 10 && (text.starts_with("0f") || text.starts_with("0F")))
    return cast(word(std::strtoul(text.c_str() + 2, nullptr, 16)), type);
  if (text.size() == 18 && (text.starts_with("0d") || text.starts_with("0D")))
    return cast(builder.getInt64(std::strtoull(text.c_str() + 2, nullptr, 16)), type);
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, std::strtod(text.c_str(), nullptr));
  if (type->isIntegerTy()) return llvm::ConstantInt::get(type, std::strtoull(text.c_str(), nullptr, 0), false, true);
  unsigned bits = unsigned(type->getPrimitiveSizeInBits().getFixedValue());
  return builder.CreateBitCast(llvm::ConstantInt::get(builder.getIntNTy(bits), std::strtoull(text.c_str(), nullptr, 0), false, true), type);
}

Value *PtxTranslator::special(llvm::StringRef name) {
  if (name == "WARP_SZ") return word(32);
  if (!name.consume_front("%")) return nullptr;
  if (name == "reserved_smem_offset_1") {
    // What cooperative groups keep at the start of shared memory; here a variable of its own, there only when it is used.
    auto *type = llvm::ArrayType::get(builder.getInt8Ty(), 512);
    llvm::Module &module = *call.getModule();
    llvm::GlobalVariable *area = module.getNamedGlobal("kl.reserved_shared");
    if (!area) {
      area = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type), "kl.reserved_shared", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, KL_SHARED);
      area->setAlignment(llvm::Align(16));
    }
    return builder.CreatePtrToInt(area, i32());
  }
  std::string mapped = name.str();
  for (char &c : mapped)
    if (c == '_') c = '.';
  if (mapped == "lanemask.lt" || mapped == "lanemask.le" || mapped == "lanemask.eq" || mapped == "lanemask.gt" || mapped == "lanemask.ge" ||
      mapped == "laneid" || mapped == "warpid" || mapped == "nwarpid" || mapped == "smid" || mapped == "nsmid" || mapped == "gridid" ||
      mapped == "clock" || mapped == "clock64" || mapped == "globaltimer" || mapped == "dynamic.smem.size" || mapped.starts_with("tid.") ||
      mapped.starts_with("ntid.") || mapped.starts_with("ctaid.") || mapped.starts_with("nctaid.")) {
    llvm::Module &module = *call.getModule();
    bool isLong = mapped == "clock64" || mapped == "globaltimer";
    llvm::FunctionCallee callee =
        module.getOrInsertFunction("llvm.nvvm.read.ptx.sreg." + mapped, llvm::FunctionType::get(isLong ? i64() : i32(), false));
    return builder.CreateCall(callee);
  }
  return nullptr;
}

Value *PtxTranslator::readBits(const PtxOperand &operand) {
  if (operand.kind == PtxOperand::Vector) {
    // Elements from low to high.
    Value *whole = nullptr;
    unsigned at = 0;
    std::vector<Value *> parts;
    unsigned total = 0, width = 0;
    for (const PtxOperand &element : operand.elements)
      if (Register *slot = registerOf(element.text)) width = std::max(width, unsigned(slot->type->getPrimitiveSizeInBits().getFixedValue()));
    if (!width) return nullptr;
    for (const PtxOperand &element : operand.elements) {
      Value *part = read(element, builder.getIntNTy(width));
      if (!part) return nullptr;
      parts.push_back(part);
      total += width;
    }
    Type *type = builder.getIntNTy(total);
    for (Value *part : parts) {
      Value *placed = builder.CreateShl(builder.CreateZExt(part, type), at);
      whole = whole ? builder.CreateOr(whole, placed) : placed;
      at += width;
    }
    return whole;
  }
  if (operand.kind != PtxOperand::Name) return nullptr;
  if (Register *slot = registerOf(operand.text)) {
    Value *value = slot->value ? slot->value : llvm::PoisonValue::get(slot->type);
    return operand.negated ? builder.CreateNot(value) : value;
  }
  return special(operand.text);
}

Value *PtxTranslator::read(const PtxOperand &operand, Type *type) {
  if (operand.kind == PtxOperand::Number) return literal(operand.text, type);
  Value *value = readBits(operand);
  return value ? cast(value, type) : nullptr;
}

bool PtxTranslator::writeName(const std::string &name, Value *value) {
  if (name == "_") return true;
  Register *slot = registerOf(name);
  if (!slot || !value) return false;
  slot->value = cast(value, slot->type);
  return true;
}

bool PtxTranslator::write(const PtxOperand &operand, Value *value) {
  if (!value) return false;
  if (operand.kind == PtxOperand::Name) return writeName(operand.text, value);
  unsigned parts = unsigned(operand.elements.size());
  if (operand.kind != PtxOperand::Vector || parts == 0) return false;
  unsigned total = unsigned(value->getType()->getPrimitiveSizeInBits().getFixedValue()), width = total / parts;
  if (width == 0) return false;
  Value *bits = cast(value, builder.getIntNTy(total));
  for (unsigned i = 0; i < operand.elements.size(); ++i)
    if (!write(operand.elements[i], builder.CreateTrunc(builder.CreateLShr(bits, i * width), builder.getIntNTy(width)))) return false;
  return true;
}

Value *PtxTranslator::address(const PtxOperand &operand, unsigned) {
  if (operand.kind != PtxOperand::Address) return nullptr;
  Value *base = read(operand.elements.front(), i64());
  if (!base) return nullptr;
  if (operand.offset) base = builder.CreateAdd(base, builder.getInt64(uint64_t(operand.offset)));
  return builder.CreateIntToPtr(base, builder.getPtrTy());
}

// ------------------------------------------------------------- moves

bool PtxTranslator::move(const PtxInstruction &instruction) {
  const auto &operands = instruction.operands;
  if (instruction.operation() == "mov" && operands.size() == 2) {
    Type *type = typeNamed(instruction.opcode.back());
    if (!type) return false;
    if (operands[1].kind == PtxOperand::Number) return write(operands[0], literal(operands[1].text, type));
    Value *value = readBits(operands[1]);
    if (!value) return false;
    if (operands[0].kind == PtxOperand::Vector) value = cast(value, type);
    return write(operands[0], value);
  }
  if (instruction.operation() == "cvta" && operands.size() == 2) return write(operands[0], read(operands[1], i64()));
  if (instruction.operation() == "createpolicy") return write(operands[0], builder.getInt64(0));
  return false;
}

} // namespace klineage::emulated
