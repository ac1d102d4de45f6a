// The part of PtxTranslator for warps and blocks: exchanges, barriers, fences and matrix units.
#include "device/emulated/ptx_translator.h"
#include "llvm/ADT/StringSwitch.h"

namespace klineage::emulated {

using llvm::Type;
using llvm::Value;

bool PtxTranslator::exchange(const PtxInstruction &instruction) {
  const std::string &op = instruction.operation();
  const auto &operands = instruction.operands;
  auto bit = [&](Value *answer) { return builder.CreateTrunc(builder.CreateLShr(answer, 32), builder.getInt1Ty()); };
  auto low = [&](Value *answer) { return builder.CreateTrunc(answer, i32()); };
  if (op == "shfl" && instruction.has("sync") && operands.size() == 5) {
    unsigned mode = instruction.has("up") ? KL_SHUFFLE_UP : instruction.has("down") ? KL_SHUFFLE_DOWN : instruction.has("bfly") ? KL_SHUFFLE_BFLY : KL_SHUFFLE_IDX;
    Value *value = read(operands[1], i32()), *lane = read(operands[2], i32()), *clamp = read(operands[3], i32()), *mask = read(operands[4], i32());
    if (!value || !lane || !clamp || !mask) return false;
    Value *answer = hook("shuffle", i64(), {mask, word(mode), value, lane, clamp});
    return writeName(operands[0].text, low(answer)) && (operands[0].second.empty() || writeName(operands[0].second, bit(answer)));
  }
  if (op == "vote" && instruction.has("sync") && operands.size() == 3) {
    unsigned mode = instruction.has("all") ? KL_VOTE_ALL : instruction.has("any") ? KL_VOTE_ANY : instruction.has("uni") ? KL_VOTE_UNI : KL_VOTE_BALLOT;
    Value *predicate = read(operands[1], builder.getInt1Ty()), *mask = read(operands[2], i32());
    if (!predicate || !mask) return false;
    Value *answer = hook("vote", i32(), {mask, word(mode), builder.CreateZExt(predicate, i32())});
    return write(operands[0], mode == KL_VOTE_BALLOT ? answer : builder.CreateICmpNE(answer, word(0)));
  }
  if (op == "match" && operands.size() == 3) {
    Type *type = typeNamed(instruction.opcode.back());
    Value *value = type ? read(operands[1], type) : nullptr, *mask = read(operands[2], i32());
    if (!value || !mask) return false;
    Value *answer = hook("match", i64(), {mask, word(instruction.has("all")), cast(value, i64()), word(unsigned(type->getPrimitiveSizeInBits()) / 8)});
    return writeName(operands[0].text, low(answer)) && (operands[0].second.empty() || writeName(operands[0].second, bit(answer)));
  }
  if (op == "redux" && operands.size() == 3) {
    bool isSignedType = isSigned(instruction.opcode.back());
    unsigned code = instruction.has("add")   ? KL_ADD
                    : instruction.has("and") ? KL_AND
                    : instruction.has("or")  ? KL_OR
                    : instruction.has("xor") ? KL_XOR
                    : instruction.has("min") ? (isSignedType ? KL_MIN_S : KL_MIN_U)
                    : instruction.has("max") ? (isSignedType ? KL_MAX_S : KL_MAX_U)
                                             : ~0u;
    Value *value = read(operands[1], i32()), *mask = read(operands[2], i32());
    if (code == ~0u || !value || !mask || instruction.opcode.back()[0] == 'f') return false;
    return write(operands[0], hook("redux", i32(), {mask, word(code), value}));
  }
  if (op == "activemask") return operands.size() == 1 && write(operands[0], hook("activemask", i32(), {}));
  if (op == "elect" && operands.size() == 2) {
    Value *mask = read(operands[1], i32());
    if (!mask) return false;
    Value *won = hook("elect", i32(), {mask});
    return writeName(operands[0].text, word(0)) && (operands[0].second.empty() || writeName(operands[0].second, builder.CreateICmpNE(won, word(0))));
  }
  return false;
}

bool PtxTranslator::matrix(const PtxInstruction &instruction) {
  const std::string &op = instruction.operation();
  const auto &operands = instruction.operands;
  auto words = [&](unsigned count) { return llvm::FixedVectorType::get(i32(), count); };
  auto registersOf = [](const PtxOperand &operand) { return operand.kind == PtxOperand::Vector ? operand.elements : std::vector<PtxOperand>{operand}; };
  auto gather = [&](const PtxOperand &operand) -> Value * {
    std::vector<Value *> values;
    for (const PtxOperand &element : registersOf(operand)) {
      Value *value = read(element, i32());
      if (!value) return nullptr;
      values.push_back(value);
    }
    return packWords(builder, values);
  };
  auto scatter = [&](const PtxOperand &operand, Value *vector) {
    unsigned i = 0;
    for (const PtxOperand &element : registersOf(operand))
      if (!write(element, builder.CreateExtractElement(vector, uint64_t(i++)))) return false;
    return true;
  };
  if (op == "ldmatrix" || op == "stmatrix") {
    if (!instruction.has("m8n8") || instruction.opcode.back() != "b16" || operands.size() != 2) return false;
    unsigned count = instruction.has("x4") ? 4 : instruction.has("x2") ? 2 : 1;
    bool isLoad = op == "ldmatrix";
    Value *row = address(operands[isLoad ? 1 : 0], KL_SHARED);
    if (!row) return false;
    if (isLoad) return scatter(operands[0], hook("ldmatrix", words(count), {row, word(count), word(instruction.has("trans"))}));
    Value *in = gather(operands[1]);
    return in && hook("stmatrix", builder.getVoidTy(), {row, in, word(count), word(instruction.has("trans"))});
  }
  if (op != "mma" || operands.size() != 4 || instruction.has("sp") || instruction.has("satfinite") || !instruction.has("row") || !instruction.has("col")) return false;
  unsigned m = 0, n = 0, k = 0;
  for (const std::string &part : instruction.opcode) {
    llvm::StringRef shape(part);
    if (shape.consume_front("m") && !shape.consumeInteger(10, m) && shape.consume_front("n") && !shape.consumeInteger(10, n) && shape.consume_front("k"))
      if (shape.getAsInteger(10, k)) return false;
  }
  if (!m || !n || !k) return false;
  auto element = [](llvm::StringRef name) {
    return llvm::StringSwitch<unsigned>(name)
        .Case("f16", KL_E_F16).Case("bf16", KL_E_BF16).Case("tf32", KL_E_TF32).Case("f32", KL_E_F32).Case("s8", KL_E_S8).Case("u8", KL_E_U8)
        .Case("s32", KL_E_S32).Default(~0u);
  };
  size_t last = instruction.opcode.size();
  if (last < 5) return false;
  unsigned d = element(instruction.opcode[last - 4]), a = element(instruction.opcode[last - 3]), b = element(instruction.opcode[last - 2]),
           c = element(instruction.opcode[last - 1]);
  if ((d | a | b | c) == ~0u) return false;
  Value *left = gather(operands[1]), *right = gather(operands[2]), *sum = gather(operands[3]);
  if (!left || !right || !sum) return false;
  unsigned results = unsigned(registersOf(operands[0]).size());
  // The hook's order: shape, types, [out], a, b, c.
  return scatter(operands[0], hook("mma", words(results), {word(m << 16 | n << 8 | k), word(a | b << 8 | c << 16 | d << 24), left, right, sum}));
}

bool PtxTranslator::control(const PtxInstruction &instruction) {
  const std::string &op = instruction.operation();
  const auto &operands = instruction.operands;
  Type *none = builder.getVoidTy();
  if (op == "bar" || op == "barrier") {
    if (instruction.has("cluster")) return false;
    if (instruction.has("warp")) {
      Value *mask = operands.size() == 1 ? read(operands[0], i32()) : nullptr;
      return mask && hook("syncwarp", none, {mask});
    }
    bool reduces = instruction.has("red");
    if (reduces || operands.empty() || operands.size() > 2) return false;
    Value *id = read(operands[0], i32()), *count = operands.size() == 2 ? read(operands[1], i32()) : word(0);
    if (!id || !count) return false;
    return hook(instruction.has("arrive") ? "barrier_arrive" : "barrier", none, {id, count});
  }
  if (op == "membar") {
    unsigned scope = instruction.has("cta") ? KL_SCOPE_BLOCK : instruction.has("gl") ? KL_SCOPE_DEVICE : KL_SCOPE_SYSTEM;
    return hook("fence", none, {word(KL_SEQ_CST | scope << 8)});
  }
  if (op == "fence") {
    if (instruction.has("proxy") || instruction.has("mbarrier_init")) return false;
    unsigned scope = instruction.has("cta") || instruction.has("cluster") ? KL_SCOPE_BLOCK : instruction.has("gpu") ? KL_SCOPE_DEVICE : KL_SCOPE_SYSTEM;
    unsigned order = instruction.has("acquire") ? KL_ACQUIRE : instruction.has("release") ? KL_RELEASE : instruction.has("acq_rel") ? KL_ACQ_REL : KL_SEQ_CST;
    return hook("fence", none, {word(order | scope << 8)});
  }
  if (op == "trap") return hook("trap", none, {});
  if (op == "nanosleep") return hook("yield", none, {});
  if (op == "isspacep" && operands.size() == 2) {
    unsigned space = instruction.has("shared") || instruction.has("shared::cta") ? KL_SHARED : instruction.has("global") ? KL_GLOBAL : instruction.has("local") ? KL_LOCAL : instruction.has("const") ? KL_CONSTANT : 0;
    Value *pointer = read(operands[1], builder.getPtrTy());
    return space && pointer && write(operands[0], builder.CreateICmpNE(hook("is_space", i32(), {pointer, word(space)}), word(0)));
  }
  // Hints without an effect on what is computed.
  return op == "prefetch" || op == "prefetchu" || op == "applypriority" || op == "griddepcontrol" || op == "pmevent";
}

} // namespace klineage::emulated
