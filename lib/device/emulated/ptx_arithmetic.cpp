// The part of PtxTranslator for arithmetic, bits, comparisons and conversions. Flushing of denormals (.ftz) is not modelled.
#include "device/emulated/ptx_translator.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

namespace klineage::emulated {

using llvm::Type;
using llvm::Value;

namespace {

bool hasDirectedRounding(const PtxInstruction &instruction) {
  return instruction.has("rz") || instruction.has("rm") || instruction.has("rp");
}

} // namespace

Value *PtxTranslator::saturate(const PtxInstruction &instruction, Value *value) {
  Type *type = value->getType();
  if (instruction.has("sat")) {
    value = builder.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, value, llvm::ConstantFP::get(type, 0));
    value = builder.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, value, llvm::ConstantFP::get(type, 1));
  }
  if (instruction.has("relu")) value = builder.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, value, llvm::ConstantFP::get(type, 0));
  return value;
}

bool PtxTranslator::arithmetic(const PtxInstruction &instruction) {
  const std::string &op = instruction.operation();
  const auto &operands = instruction.operands;
  Type *type = typeNamed(instruction.opcode.back());
  if (!type || operands.size() < 2 || operands.size() > 4) return false;
  std::vector<Value *> in;
  bool wide = instruction.has("wide");
  for (size_t i = 1; i < operands.size(); ++i) {
    Type *operandType = wide && i == 3 ? builder.getIntNTy(type->getIntegerBitWidth() * 2) : type;
    in.push_back(read(operands[i], operandType));
    if (!in.back()) return false;
  }
  auto put = [&](Value *value) { return write(operands[0], value); };
  bool isSignedType = isSigned(instruction.opcode.back());

  if (isFloat(type)) {
    if (hasDirectedRounding(instruction)) return false;
    auto two = [&](llvm::Intrinsic::ID id) { return put(saturate(instruction, builder.CreateBinaryIntrinsic(id, in[0], in[1]))); };
    auto one = [&](llvm::Intrinsic::ID id) { return put(builder.CreateUnaryIntrinsic(id, in[0])); };
    Value *unit = llvm::ConstantFP::get(type, 1);
    bool nan = instruction.has("NaN");
    if (in.size() == 2) {
      if (op == "add") return put(saturate(instruction, builder.CreateFAdd(in[0], in[1])));
      if (op == "sub") return put(saturate(instruction, builder.CreateFSub(in[0], in[1])));
      if (op == "mul") return put(saturate(instruction, builder.CreateFMul(in[0], in[1])));
      if (op == "div") return put(builder.CreateFDiv(in[0], in[1]));
      if (op == "min") return two(nan ? llvm::Intrinsic::minimum : llvm::Intrinsic::minnum);
      if (op == "max") return two(nan ? llvm::Intrinsic::maximum : llvm::Intrinsic::maxnum);
      if (op == "copysign") return put(builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, in[1], in[0]));
      return false;
    }
    if (in.size() == 3)
      return (op == "fma" || op == "mad") && put(saturate(instruction, builder.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {in[0], in[1], in[2]})));
    if (op == "neg") return put(builder.CreateFNeg(in[0]));
    if (op == "abs") return one(llvm::Intrinsic::fabs);
    if (op == "rcp") return put(builder.CreateFDiv(unit, in[0]));
    if (op == "sqrt") return one(llvm::Intrinsic::sqrt);
    if (op == "rsqrt") return put(builder.CreateFDiv(unit, builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, in[0])));
    if (op == "ex2") return one(llvm::Intrinsic::exp2);
    if (op == "lg2") return one(llvm::Intrinsic::log2);
    if (op == "sin") return one(llvm::Intrinsic::sin);
    if (op == "cos") return one(llvm::Intrinsic::cos);
    if (op == "tanh") return one(llvm::Intrinsic::tanh);
    return false;
  }

  if (!type->isIntegerTy() || type->isIntegerTy(1)) return false;
  unsigned width = type->getIntegerBitWidth();
  auto doubled = [&](Value *value) {
    Type *twice = builder.getIntNTy(width * 2);
    return isSignedType ? builder.CreateSExt(value, twice) : builder.CreateZExt(value, twice);
  };
  auto product = [&]() -> Value * {
    if (wide) return builder.CreateMul(doubled(in[0]), doubled(in[1]));
    if (instruction.has("hi")) return builder.CreateTrunc(builder.CreateLShr(builder.CreateMul(doubled(in[0]), doubled(in[1])), width), type);
    return builder.CreateMul(in[0], in[1]);
  };
  if (instruction.has("sat") || instruction.has("cc")) return false;
  if (in.size() == 2) {
    if (op == "add") return put(builder.CreateAdd(in[0], in[1]));
    if (op == "sub") return put(builder.CreateSub(in[0], in[1]));
    if (op == "mul") return put(product());
    if (op == "div") return put(isSignedType ? builder.CreateSDiv(in[0], in[1]) : builder.CreateUDiv(in[0], in[1]));
    if (op == "rem") return put(isSignedType ? builder.CreateSRem(in[0], in[1]) : builder.CreateURem(in[0], in[1]));
    if (op == "min") return put(builder.CreateBinaryIntrinsic(isSignedType ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, in[0], in[1]));
    if (op == "max") return put(builder.CreateBinaryIntrinsic(isSignedType ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, in[0], in[1]));
    return false;
  }
  if (in.size() == 3 && op == "mad") return put(builder.CreateAdd(product(), in[2]));
  if (in.size() == 3 && op == "sad") {
    Value *less = isSignedType ? builder.CreateICmpSLT(in[0], in[1]) : builder.CreateICmpULT(in[0], in[1]);
    return put(builder.CreateAdd(builder.CreateSelect(less, builder.CreateSub(in[1], in[0]), builder.CreateSub(in[0], in[1])), in[2]));
  }
  if (in.size() == 1 && op == "neg") return put(builder.CreateNeg(in[0]));
  if (in.size() == 1 && op == "abs") return put(builder.CreateIntrinsic(llvm::Intrinsic::abs, {type}, {in[0], builder.getFalse()}));
  return false;
}

bool PtxTranslator::bits(const PtxInstruction &instruction) {
  const std::string &op = instruction.operation();
  const auto &operands = instruction.operands;
  Type *type = typeNamed(instruction.opcode.back());
  if (!type || operands.size() < 2) return false;
  if (!type->isIntegerTy()) {
    if (op != "selp" || operands.size() != 4) return false;
  }
  auto put = [&](Value *value) { return write(operands[0], value); };
  auto get = [&](unsigned i, Type *as) { return i < operands.size() ? read(operands[i], as) : nullptr; };
  if (op == "selp") {
    Value *a = get(1, type), *b = get(2, type), *p = get(3, builder.getInt1Ty());
    return a && b && p && put(builder.CreateSelect(p, a, b));
  }
  unsigned width = type->getIntegerBitWidth();
  Value *a = get(1, type);
  if (!a) return false;
  if (op == "not") return put(builder.CreateNot(a));
  if (op == "cnot") return put(builder.CreateZExt(builder.CreateICmpEQ(a, llvm::ConstantInt::get(type, 0)), type));
  if (op == "popc") return put(builder.CreateZExtOrTrunc(builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a), i32()));
  if (op == "clz") return put(builder.CreateZExtOrTrunc(builder.CreateIntrinsic(llvm::Intrinsic::ctlz, {type}, {a, builder.getFalse()}), i32()));
  if (op == "brev") return put(builder.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, a));
  if (op == "shl" || op == "shr") {
    // PTX clamps shifts at the width; LLVM leaves them undefined.
    Value *count = get(2, i32());
    if (!count) return false;
    Value *inside = builder.CreateICmpULT(count, word(width));
    Value *amount = builder.CreateZExtOrTrunc(builder.CreateSelect(inside, count, word(0)), type);
    if (op == "shl") return put(builder.CreateSelect(inside, builder.CreateShl(a, amount), llvm::ConstantInt::get(type, 0)));
    if (!isSigned(instruction.opcode.back())) return put(builder.CreateSelect(inside, builder.CreateLShr(a, amount), llvm::ConstantInt::get(type, 0)));
    Value *most = builder.CreateZExtOrTrunc(builder.CreateSelect(inside, count, word(width - 1)), type);
    return put(builder.CreateAShr(a, most));
  }
  if (op == "lop3") {
    Value *b = get(2, type), *c = get(3, type);
    if (!b || !c || operands.size() != 5) return false;
    unsigned table = unsigned(std::strtoul(operands[4].text.c_str(), nullptr, 0));
    Value *result = llvm::ConstantInt::get(type, 0);
    for (unsigned row = 0; row < 8; ++row) {
      if (!(table >> row & 1)) continue;
      Value *x = row & 4 ? a : builder.CreateNot(a), *y = row & 2 ? b : builder.CreateNot(b), *z = row & 1 ? c : builder.CreateNot(c);
      result = builder.CreateOr(result, builder.CreateAnd(builder.CreateAnd(x, y), z));
    }
    return put(result);
  }
  if (op == "prmt") {
    Value *b = get(2, i32()), *c = get(3, i32());
    return instruction.opcode.size() == 2 && b && c && put(permuteBytes(builder, a, b, c));
  }
  if (op == "shf") {
    Value *b = get(2, i32()), *c = get(3, i32());
    if (!b || !c) return false;
    Value *count = instruction.has("wrap") ? builder.CreateAnd(c, 31) : builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, c, word(32));
    Value *both = builder.CreateOr(builder.CreateZExt(a, i64()), builder.CreateShl(builder.CreateZExt(b, i64()), 32));
    Value *by = builder.CreateZExt(count, i64());
    Value *shifted = instruction.has("l") ? builder.CreateLShr(builder.CreateShl(both, by), 32) : builder.CreateLShr(both, by);
    return put(builder.CreateTrunc(shifted, i32()));
  }
  if (op == "bfe") {
    Value *b = get(2, i32()), *c = get(3, i32());
    if (!b || !c) return false;
    Type *twice = builder.getIntNTy(width * 2);
    auto low = [&](Value *v) { return builder.CreateZExt(builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder.CreateAnd(v, 255), word(width)), twice); };
    Value *up = builder.CreateSub(llvm::ConstantInt::get(twice, width * 2), low(c)); // Field to the top, then down.
    up = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, up, llvm::ConstantInt::get(twice, width * 2 - 1));
    bool isSignedType = isSigned(instruction.opcode.back());
    Value *field = builder.CreateLShr(isSignedType ? builder.CreateSExt(a, twice) : builder.CreateZExt(a, twice), low(b));
    field = builder.CreateShl(field, up);
    field = isSignedType ? builder.CreateAShr(field, up) : builder.CreateLShr(field, up);
    Value *empty = builder.CreateICmpEQ(builder.CreateAnd(c, 255), word(0));
    return put(builder.CreateSelect(empty, llvm::ConstantInt::get(type, 0), builder.CreateTrunc(field, type)));
  }
  if (op == "bfi") {
    Value *into = get(2, type), *position = get(3, i32()), *length = get(4, i32());
    if (!into || !position || !length) return false;
    Type *twice = builder.getIntNTy(width * 2);
    auto low = [&](Value *v) { return builder.CreateZExt(builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder.CreateAnd(v, 255), word(width)), twice); };
    Value *mask = builder.CreateSub(builder.CreateShl(llvm::ConstantInt::get(twice, 1), low(length)), llvm::ConstantInt::get(twice, 1));
    Value *placed = builder.CreateTrunc(builder.CreateShl(builder.CreateAnd(builder.CreateZExt(a, twice), mask), low(position)), type);
    Value *hole = builder.CreateTrunc(builder.CreateShl(mask, low(position)), type);
    return put(builder.CreateOr(builder.CreateAnd(into, builder.CreateNot(hole)), placed));
  }
  Value *b = get(2, type);
  if (!b || operands.size() != 3) return false;
  if (op == "and") return put(builder.CreateAnd(a, b));
  if (op == "or") return put(builder.CreateOr(a, b));
  if (op == "xor") return put(builder.CreateXor(a, b));
  return false;
}

bool PtxTranslator::compare(const PtxInstruction &instruction) {
  const std::string &op = instruction.operation();
  if ((op != "set" && op != "setp") || instruction.opcode.size() < 3 || instruction.operands.size() != 3) return false;
  Type *type = typeNamed(instruction.opcode.back());
  if (!type) return false;
  Value *a = read(instruction.operands[1], type), *b = read(instruction.operands[2], type);
  if (!a || !b) return false;
  using P = llvm::CmpInst;
  bool isSignedType = isSigned(instruction.opcode.back());
  llvm::StringRef how = instruction.opcode[1];
  P::Predicate predicate;
  if (isFloat(type))
    predicate = llvm::StringSwitch<P::Predicate>(how)
                    .Case("eq", P::FCMP_OEQ).Case("ne", P::FCMP_ONE).Case("lt", P::FCMP_OLT).Case("le", P::FCMP_OLE).Case("gt", P::FCMP_OGT)
                    .Case("ge", P::FCMP_OGE).Case("equ", P::FCMP_UEQ).Case("neu", P::FCMP_UNE).Case("ltu", P::FCMP_ULT).Case("leu", P::FCMP_ULE)
                    .Case("gtu", P::FCMP_UGT).Case("geu", P::FCMP_UGE).Case("num", P::FCMP_ORD).Case("nan", P::FCMP_UNO)
                    .Default(P::BAD_FCMP_PREDICATE);
  else
    predicate = llvm::StringSwitch<P::Predicate>(how)
                    .Case("eq", P::ICMP_EQ).Case("ne", P::ICMP_NE).Case("lt", isSignedType ? P::ICMP_SLT : P::ICMP_ULT)
                    .Case("le", isSignedType ? P::ICMP_SLE : P::ICMP_ULE).Case("gt", isSignedType ? P::ICMP_SGT : P::ICMP_UGT)
                    .Case("ge", isSignedType ? P::ICMP_SGE : P::ICMP_UGE).Case("lo", P::ICMP_ULT).Case("ls", P::ICMP_ULE)
                    .Case("hi", P::ICMP_UGT).Case("hs", P::ICMP_UGE).Default(P::BAD_ICMP_PREDICATE);
  if (predicate == P::BAD_FCMP_PREDICATE || predicate == P::BAD_ICMP_PREDICATE) return false;
  Value *bit = builder.CreateCmp(predicate, a, b);
  const PtxOperand &to = instruction.operands[0];
  if (op == "setp") {
    if (instruction.opcode.size() > 3 && instruction.opcode[2] != "ftz") return false; // Combined with another predicate.
    if (bit->getType()->isVectorTy()) { // p|q: one a half.
      return writeName(to.text, builder.CreateExtractElement(bit, uint64_t(0))) && (to.second.empty() || writeName(to.second, builder.CreateExtractElement(bit, uint64_t(1))));
    }
    return writeName(to.text, bit) && (to.second.empty() || writeName(to.second, builder.CreateNot(bit)));
  }
  Type *result = typeNamed(instruction.opcode[instruction.opcode.size() - 2]);
  if (!result) return false;
  if (isFloat(result)) return write(to, builder.CreateSelect(bit, llvm::ConstantFP::get(result, 1), llvm::ConstantFP::get(result, 0)));
  // Integer results are all ones; of packed halves, all ones in each half.
  Type *mask = bit->getType()->isVectorTy() ? static_cast<Type *>(llvm::FixedVectorType::get(builder.getInt16Ty(), 2)) : result;
  return write(to, builder.CreateSExt(bit, mask));
}

bool PtxTranslator::convert(const PtxInstruction &instruction) {
  if (instruction.operation() != "cvt" || instruction.opcode.size() < 3) return false;
  const auto &operands = instruction.operands;
  const std::string &toName = instruction.opcode[instruction.opcode.size() - 2], &fromName = instruction.opcode.back();
  Type *to = typeNamed(toName), *from = typeNamed(fromName);
  if (!to || !from || operands.size() < 2) return false;
  if (operands.size() == 3) { // Two floats packed; the first goes to the upper half.
    if (!to->isVectorTy() || !from->isFloatTy() || hasDirectedRounding(instruction)) return false;
    Value *high = read(operands[1], from), *low = read(operands[2], from);
    if (!high || !low) return false;
    Value *pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(from, 2));
    pair = builder.CreateInsertElement(builder.CreateInsertElement(pair, low, uint64_t(0)), high, uint64_t(1));
    return write(operands[0], saturate(instruction, builder.CreateFPTrunc(pair, to)));
  }
  Value *value = read(operands[1], from);
  if (!value) return false;
  if (toName == "tf32") { // 10 bits of mantissa, ties away from zero.
    Value *bits = cast(value, i32());
    return write(operands[0], builder.CreateAnd(builder.CreateAdd(bits, word(0x1000)), word(0xffffe000)));
  }
  auto integral = [&](Value *v) -> Value * {
    if (instruction.has("rni")) return builder.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, v);
    if (instruction.has("rzi")) return builder.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v);
    if (instruction.has("rmi")) return builder.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v);
    if (instruction.has("rpi")) return builder.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, v);
    return nullptr;
  };
  bool toSigned = isSigned(toName), fromSigned = isSigned(fromName);
  if (isFloat(from) && isFloat(to)) {
    if (Value *rounded = integral(value)) value = rounded;
    if (from == to) return write(operands[0], saturate(instruction, value));
    bool narrows = to->getScalarSizeInBits() < from->getScalarSizeInBits() || to->getScalarSizeInBits() == from->getScalarSizeInBits();
    if (narrows && hasDirectedRounding(instruction)) return false;
    if (to->getScalarSizeInBits() == from->getScalarSizeInBits()) value = builder.CreateFPExt(value, builder.getFloatTy());
    return write(operands[0], saturate(instruction, builder.CreateFPCast(value, to)));
  }
  if (isFloat(from)) {
    Value *rounded = integral(value);
    if (!rounded) return false;
    // 8-bit results sit in wider registers, sign-extended.
    Value *number = builder.CreateIntrinsic(toSigned ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat, {to, from}, {rounded});
    if (to->isIntegerTy(8)) number = toSigned ? builder.CreateSExt(number, i32()) : builder.CreateZExt(number, i32());
    return write(operands[0], number);
  }
  if (isFloat(to)) {
    if (hasDirectedRounding(instruction)) return false;
    return write(operands[0], fromSigned ? builder.CreateSIToFP(value, to) : builder.CreateUIToFP(value, to));
  }
  if (instruction.has("sat")) return false;
  Value *number = fromSigned ? builder.CreateSExtOrTrunc(value, to) : builder.CreateZExtOrTrunc(value, to);
  if (Register *slot = operands[0].kind == PtxOperand::Name ? registerOf(operands[0].text) : nullptr; slot && slot->type->isIntegerTy() && toSigned)
    number = builder.CreateSExtOrTrunc(number, slot->type);
  return write(operands[0], number);
}

} // namespace klineage::emulated
