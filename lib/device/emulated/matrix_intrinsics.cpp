// Intrinsics of the matrix units: wmma as mma.h uses it, ldmatrix and stmatrix. mma.sync comes as inline PTX in practice.
#include "device/emulated/hooks.h"
#include "device/emulated/translate.h"
#include "llvm/ADT/StringSwitch.h"

namespace klineage::emulated {
namespace {

using llvm::StringRef;
using llvm::Value;

unsigned elementNamed(StringRef name) {
  return llvm::StringSwitch<unsigned>(name)
      .Case("f16", KL_E_F16).Case("bf16", KL_E_BF16).Case("tf32", KL_E_TF32).Case("f32", KL_E_F32).Case("s8", KL_E_S8).Case("u8", KL_E_U8)
      .Case("s32", KL_E_S32).Default(~0u);
}

/// "m16n16k16" as the hooks take it, or 0.
unsigned shapeNamed(StringRef text) {
  unsigned m = 0, n = 0, k = 0;
  if (!text.consume_front("m") || text.consumeInteger(10, m) || !text.consume_front("n") || text.consumeInteger(10, n) || !text.consume_front("k") ||
      text.getAsInteger(10, k))
    return 0;
  return m << 16 | n << 8 | k;
}

/// The hook's words as the structure of registers that the intrinsic gives.
Value *structureOf(llvm::IRBuilder<> &builder, Value *words, llvm::Type *type) {
  auto *structure = llvm::dyn_cast<llvm::StructType>(type);
  if (!structure) return builder.CreateBitCast(builder.CreateExtractElement(words, uint64_t(0)), type);
  Value *result = llvm::PoisonValue::get(structure);
  for (unsigned i = 0; i < structure->getNumElements(); ++i)
    result = builder.CreateInsertValue(result, builder.CreateBitCast(builder.CreateExtractElement(words, uint64_t(i)), structure->getElementType(i)), i);
  return result;
}

unsigned registersIn(llvm::Type *type) {
  auto *structure = llvm::dyn_cast<llvm::StructType>(type);
  return structure ? structure->getNumElements() : 1;
}

llvm::Type *wordVector(llvm::IRBuilder<> &builder, unsigned count) { return llvm::FixedVectorType::get(builder.getInt32Ty(), count); }

Value *wmma(llvm::IRBuilder<> &builder, llvm::CallInst &call, llvm::ArrayRef<StringRef> parts) {
  // wmma.<shape>.load.<a|b|c>.<row|col>.stride.<type>.p0 · wmma.<shape>.store.d.<row|col>.stride.<type>.p0 · wmma.<shape>.mma.<row|col>.<row|col>.<types>
  if (parts.size() < 5) return nullptr;
  unsigned shape = shapeNamed(parts[1]);
  if (!shape) return nullptr;
  auto word = [&](unsigned value) { return builder.getInt32(value); };
  auto plain = [&](Value *pointer) { return builder.CreateAddrSpaceCast(pointer, builder.getPtrTy()); };
  if (parts[2] == "mma") {
    std::vector<Value *> registers(call.arg_begin(), call.arg_end());
    llvm::ArrayRef<Value *> all(registers);
    unsigned a, c, d;
    size_t left, sums;
    StringRef kind = parts[5];
    if (kind == "f32" || kind == "f16") { // <type of d>.<type of c>, halves in between
      if (parts.size() != 7) return nullptr;
      a = KL_E_F16, d = elementNamed(parts[5]), c = elementNamed(parts[6]);
      sums = c == KL_E_F32 ? 8 : 4;
    } else if (kind == "bf16" || kind == "tf32") {
      if (parts.size() != 6) return nullptr;
      a = elementNamed(kind), c = d = KL_E_F32;
      sums = 8;
    } else {
      return nullptr;
    }
    if (all.size() <= sums || (d | c) == ~0u) return nullptr;
    // Register counts of a and b differ for the flat shapes; the element count over 32 lanes says how many.
    size_t both = all.size() - sums, m = shape >> 16, n = shape >> 8 & 0xff;
    left = m == n ? both / 2 : a == KL_E_F16 ? 8 : m > n ? both - 2 : 2;
    if (left >= both) return nullptr;
    unsigned layouts = unsigned(parts[3] == "col") | unsigned(parts[4] == "col") << 1;
    Value *answer = callHook(builder, "wmma_mma", wordVector(builder, registersIn(call.getType())),
                             {word(shape), word(a | a << 8 | c << 16 | d << 24), word(layouts), packWords(builder, all.take_front(left)),
                              packWords(builder, all.slice(left, both - left)), packWords(builder, all.drop_front(both))});
    return structureOf(builder, answer, call.getType());
  }
  if (parts.size() < 7 || parts[5] != "stride") return nullptr;
  unsigned element = elementNamed(parts[6]);
  if (element == ~0u) return nullptr;
  bool columns = parts[4] == "col";
  if (parts[2] == "load") {
    unsigned which = parts[3] == "a" ? 0 : parts[3] == "b" ? 1 : 2;
    Value *answer = callHook(builder, "wmma_load", wordVector(builder, registersIn(call.getType())),
                             {word(which), word(shape), word(element), word(columns), plain(call.getArgOperand(0)), call.getArgOperand(1)});
    return structureOf(builder, answer, call.getType());
  }
  if (parts[2] != "store") return nullptr;
  std::vector<Value *> registers(call.arg_begin() + 1, call.arg_end() - 1);
  return callHook(builder, "wmma_store", builder.getVoidTy(),
                  {word(shape), word(element), word(columns), plain(call.getArgOperand(0)), packWords(builder, registers), call.getArgOperand(call.arg_size() - 1)});
}

} // namespace

Value *translateMatrixIntrinsic(llvm::IRBuilder<> &builder, llvm::CallInst &call, StringRef name) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.');
  if (parts[0] == "wmma") return wmma(builder, call, parts);
  if ((parts[0] == "ldmatrix" || parts[0] == "stmatrix") && parts.size() > 4 && parts[3] == "m8n8" && llvm::is_contained(parts, StringRef("b16"))) {
    unsigned count = parts[4] == "x4" ? 4 : parts[4] == "x2" ? 2 : 1;
    bool transposed = llvm::is_contained(parts, StringRef("trans"));
    Value *row = builder.CreateAddrSpaceCast(call.getArgOperand(0), builder.getPtrTy());
    if (parts[0] == "ldmatrix") {
      Value *answer = callHook(builder, "ldmatrix", wordVector(builder, count), {row, builder.getInt32(count), builder.getInt32(transposed)});
      return structureOf(builder, answer, call.getType());
    }
    std::vector<Value *> registers(call.arg_begin() + 1, call.arg_end());
    return callHook(builder, "stmatrix", builder.getVoidTy(), {row, packWords(builder, registers), builder.getInt32(count), builder.getInt32(transposed)});
  }
  return nullptr;
}

} // namespace klineage::emulated
