// NVVM intrinsics by name: arithmetic becomes plain IR, warp and block operations become hooks. Special registers stay, because
// the analysis of uniformity knows them; instrument.cpp turns them into fields of the thread. What is not listed is refused by the
// caller as unsupported_intrinsic.
#include "device/emulated/lowering.h"
#include "device/emulated/hooks.h"
#include "device/emulated/translate.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace klineage::emulated {
namespace {

using llvm::StringRef;
using llvm::Value;

struct Translator {
  llvm::IRBuilder<> builder;
  llvm::CallInst &call;
  StringRef name; ///< After "llvm.nvvm.".

  Translator(llvm::CallInst &call, StringRef name) : builder(&call), call(call), name(name) {}
  Value *arg(unsigned i) { return call.getArgOperand(i); }
  Value *i32(uint64_t value) { return builder.getInt32(uint32_t(value)); }
  Value *hook(StringRef hookName, llvm::Type *result, llvm::ArrayRef<Value *> arguments) {
    return callHook(builder, std::string_view(hookName), result, arguments);
  }
  llvm::Type *word() { return builder.getInt32Ty(); }
  llvm::Type *longWord() { return builder.getInt64Ty(); }

  Value *wordOf(Value *value) { return builder.CreateBitCast(value, builder.getInt32Ty()); }

  /// {value, predicate} from a hook's answer with the predicate in bit 32.
  Value *pair(Value *answer, llvm::StructType *type) {
    Value *low = builder.CreateTrunc(answer, word());
    low = builder.CreateBitCast(low, type->getElementType(0));
    Value *bit = builder.CreateTrunc(builder.CreateLShr(answer, 32), builder.getInt1Ty());
    Value *result = builder.CreateInsertValue(llvm::PoisonValue::get(type), low, 0);
    return builder.CreateInsertValue(result, bit, 1);
  }

  Value *shuffle() {
    unsigned mode = name.contains(".up.")     ? KL_SHUFFLE_UP
                    : name.contains(".down.") ? KL_SHUFFLE_DOWN
                    : name.contains(".bfly.") ? KL_SHUFFLE_BFLY
                                              : KL_SHUFFLE_IDX;
    Value *answer = hook("shuffle", longWord(), {arg(0), i32(mode), wordOf(arg(1)), arg(2), arg(3)});
    if (auto *type = llvm::dyn_cast<llvm::StructType>(call.getType())) return pair(answer, type);
    return builder.CreateBitCast(builder.CreateTrunc(answer, word()), call.getType());
  }

  Value *barrier() {
    StringRef rest = name;
    bool arrive = rest.starts_with("barrier.cta.arrive"), reduce = rest.starts_with("barrier.cta.red");
    bool counted = rest.ends_with("count");
    Value *count = counted ? arg(1) : i32(0);
    if (arrive) return hook("barrier_arrive", builder.getVoidTy(), {arg(0), count});
    if (!reduce) return hook("barrier", builder.getVoidTy(), {arg(0), count});
    unsigned op = rest.contains(".popc.") ? KL_REDUCE_POPC : rest.contains(".and.") ? KL_REDUCE_AND : KL_REDUCE_OR;
    Value *predicate = builder.CreateZExt(arg(counted ? 2 : 1), word());
    Value *answer = hook("barrier_reduce", word(), {arg(0), count, i32(op), predicate});
    return call.getType()->isIntegerTy(1) ? builder.CreateICmpNE(answer, i32(0)) : answer;
  }

  Value *vote() {
    unsigned mode = name.contains(".all.")   ? KL_VOTE_ALL
                    : name.contains(".any.") ? KL_VOTE_ANY
                    : name.contains(".uni.") ? KL_VOTE_UNI
                                             : KL_VOTE_BALLOT;
    Value *answer = hook("vote", word(), {arg(0), i32(mode), builder.CreateZExt(arg(1), word())});
    return call.getType()->isIntegerTy(1) ? builder.CreateICmpNE(answer, i32(0)) : answer;
  }

  Value *match() {
    bool all = name.starts_with("match.all");
    unsigned bytes = unsigned(arg(1)->getType()->getIntegerBitWidth() / 8);
    Value *answer = hook("match", longWord(), {arg(0), i32(all), builder.CreateZExt(arg(1), longWord()), i32(bytes)});
    if (auto *type = llvm::dyn_cast<llvm::StructType>(call.getType())) return pair(answer, type);
    return builder.CreateTrunc(answer, call.getType());
  }

  Value *redux() {
    StringRef op = name.drop_front(strlen("redux.sync."));
    unsigned code = llvm::StringSwitch<unsigned>(op)
                        .Case("add", KL_ADD).Case("and", KL_AND).Case("or", KL_OR).Case("xor", KL_XOR)
                        .Case("min", KL_MIN_S).Case("max", KL_MAX_S).Case("umin", KL_MIN_U).Case("umax", KL_MAX_U).Default(~0u);
    return code == ~0u ? nullptr : hook("redux", word(), {arg(1), i32(code), arg(0)});
  }

  Value *copyAsync() {
    StringRef rest = name.drop_front(strlen("cp.async."));
    if (rest == "commit.group") return hook("cp_async_commit", builder.getVoidTy(), {});
    if (rest == "wait.all") return hook("cp_async_wait_all", builder.getVoidTy(), {});
    if (rest == "wait.group") return hook("cp_async_wait", builder.getVoidTy(), {builder.CreateZExtOrTrunc(arg(0), word())});
    bool aroundL1 = rest.consume_front("cg.shared.global.");
    if (!aroundL1 && !rest.consume_front("ca.shared.global.")) return nullptr;
    unsigned bytes = 0;
    if (rest.consumeInteger(10, bytes)) return nullptr;
    Value *size = rest == ".s" ? builder.CreateZExtOrTrunc(arg(2), word()) : i32(bytes);
    Value *to = builder.CreateAddrSpaceCast(arg(0), builder.getPtrTy()), *from = builder.CreateAddrSpaceCast(arg(1), builder.getPtrTy());
    Value *copy = hook("cp_async", builder.getVoidTy(), {to, from, i32(bytes), size});
    if (aroundL1) setFlags(*llvm::cast<llvm::Instruction>(copy), KL_BYPASS_L1);
    return copy;
  }

  /// Scoped atomics: atomic.<op>.gen.<i|f>.<scope>
  Value *scopedAtomic() {
    llvm::SmallVector<StringRef> parts;
    name.split(parts, '.');
    if (parts.size() < 5 || parts[2] != "gen") return nullptr;
    unsigned scope = parts[4] == "cta" ? KL_SCOPE_BLOCK : KL_SCOPE_SYSTEM;
    llvm::Type *type = call.getType();
    bool isFloat = type->isFloatingPointTy();
    unsigned op = llvm::StringSwitch<unsigned>(parts[1])
                      .Case("add", isFloat ? KL_FADD : KL_ADD).Case("and", KL_AND).Case("or", KL_OR).Case("xor", KL_XOR)
                      .Case("exch", KL_EXCHANGE).Case("min", KL_MIN_S).Case("max", KL_MAX_S).Case("inc", KL_INC_WRAP)
                      .Case("dec", KL_DEC_WRAP).Default(~0u);
    Value *address = builder.CreateAddrSpaceCast(arg(0), builder.getPtrTy());
    unsigned bits = type->getPrimitiveSizeInBits();
    if (parts[1] == "cas") {
      Value *answer = hook("atomic_cas", longWord(), {address, i32(bits / 8), toBits(builder, arg(1)), toBits(builder, arg(2)), i32(KL_RELAXED | scope << 8)});
      return fromBits(builder, answer, type);
    }
    if (op == ~0u) return nullptr;
    unsigned element = isFloat ? (bits == 64 ? KL_F64 : KL_F32) : bits == 64 ? KL_I64 : KL_I32;
    Value *answer = hook("atomic_rmw", longWord(), {address, i32(op), i32(element), toBits(builder, arg(1)), i32(KL_RELAXED | scope << 8)});
    return fromBits(builder, answer, type);
  }

  Value *unary(llvm::Intrinsic::ID id) { return builder.CreateUnaryIntrinsic(id, arg(0)); }

  /// d2f.rn, f2i.rz, i2f.rn ... : conversions between scalar types.
  Value *convert() {
    auto [source, rest] = name.split('2');
    auto [target, rounding] = rest.split('.');
    bool fromSigned = source == "i" || source == "ll", toSigned = target == "i" || target == "ll";
    llvm::Type *from = arg(0)->getType(), *to = call.getType();
    StringRef mode = rounding.take_front(2);
    if (from->isFloatingPointTy() && to->isFloatingPointTy()) return mode == "rn" ? builder.CreateFPCast(arg(0), to) : nullptr;
    if (from->isFloatingPointTy()) {
      Value *rounded = arg(0);
      if (mode == "rn") rounded = unary(llvm::Intrinsic::roundeven);
      if (mode == "rm") rounded = unary(llvm::Intrinsic::floor);
      if (mode == "rp") rounded = unary(llvm::Intrinsic::ceil);
      return builder.CreateIntrinsic(toSigned ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat, {to, from}, {rounded});
    }
    if (mode != "rn") return nullptr;
    return fromSigned ? builder.CreateSIToFP(arg(0), to) : builder.CreateUIToFP(arg(0), to);
  }

  Value *arithmetic();
  Value *translate();
};

Value *Translator::arithmetic() {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.');
  StringRef op = parts[0];
  bool directed = llvm::is_contained(parts, StringRef("rm")) || llvm::is_contained(parts, StringRef("rp")) || llvm::is_contained(parts, StringRef("rz"));
  if (directed || llvm::is_contained(parts, StringRef("sat")) || llvm::is_contained(parts, StringRef("relu"))) return nullptr;
  if (llvm::is_contained(parts, StringRef("xorsign"))) return nullptr;
  if (llvm::is_contained(parts, StringRef("bf16x2")) && call.getType()->isIntegerTy()) return nullptr;
  if (op == "add" ) return builder.CreateFAdd(arg(0), arg(1));
  if (op == "mul") return builder.CreateFMul(arg(0), arg(1));
  if (op == "div") return builder.CreateFDiv(arg(0), arg(1));
  if (op == "fma") return builder.CreateIntrinsic(llvm::Intrinsic::fma, {call.getType()}, {arg(0), arg(1), arg(2)});
  bool nan = llvm::is_contained(parts, StringRef("nan"));
  if (op == "fmin") return builder.CreateBinaryIntrinsic(nan ? llvm::Intrinsic::minimum : llvm::Intrinsic::minnum, arg(0), arg(1));
  if (op == "fmax") return builder.CreateBinaryIntrinsic(nan ? llvm::Intrinsic::maximum : llvm::Intrinsic::maxnum, arg(0), arg(1));
  if (op == "rcp") return builder.CreateFDiv(llvm::ConstantFP::get(call.getType(), 1), arg(0));
  if (op == "rsqrt") return builder.CreateFDiv(llvm::ConstantFP::get(call.getType(), 1), unary(llvm::Intrinsic::sqrt));
  if (op == "sqrt") return unary(llvm::Intrinsic::sqrt);
  if (op == "ex2") return unary(llvm::Intrinsic::exp2);
  if (op == "lg2") return unary(llvm::Intrinsic::log2);
  if (op == "sin") return unary(llvm::Intrinsic::sin);
  if (op == "cos") return unary(llvm::Intrinsic::cos);
  if (op == "tanh") return unary(llvm::Intrinsic::tanh);
  if (op == "fabs") return unary(llvm::Intrinsic::fabs);
  if (op == "floor") return unary(llvm::Intrinsic::floor);
  if (op == "ceil") return unary(llvm::Intrinsic::ceil);
  if (op == "trunc") return unary(llvm::Intrinsic::trunc);
  if (op == "round") return unary(llvm::Intrinsic::roundeven);
  if (op == "neg") return builder.CreateFNeg(arg(0));
  if (op == "saturate") {
    llvm::Type *type = call.getType();
    Value *low = builder.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, arg(0), llvm::ConstantFP::get(type, 0));
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, low, llvm::ConstantFP::get(type, 1));
  }
  if (op == "mulhi") {
    bool isSigned = parts.size() > 1 && (parts[1] == "i" || parts[1] == "ll" || parts[1] == "s");
    unsigned bits = call.getType()->getIntegerBitWidth();
    llvm::Type *wide = builder.getIntNTy(bits * 2);
    auto extend = [&](Value *v) { return isSigned ? builder.CreateSExt(v, wide) : builder.CreateZExt(v, wide); };
    return builder.CreateTrunc(builder.CreateLShr(builder.CreateMul(extend(arg(0)), extend(arg(1))), bits), call.getType());
  }
  if (op == "mul24") {
    auto low = [&](Value *v) {
      Value *up = builder.CreateShl(v, 8);
      return name.ends_with(".i") ? builder.CreateAShr(up, 8) : builder.CreateLShr(up, 8);
    };
    return builder.CreateMul(low(arg(0)), low(arg(1)));
  }
  if (op == "prmt") return parts.size() == 1 ? permuteBytes(builder, arg(0), arg(1), arg(2)) : nullptr;
  return nullptr;
}

Value *Translator::translate() {
  if (name.starts_with("shfl.sync.")) return shuffle();
  if (name.starts_with("barrier.cta.")) return barrier();
  if (name.starts_with("vote.") && name.contains(".sync")) return vote();
  if (name.starts_with("match.")) return match();
  if (name.starts_with("redux.sync.")) return redux();
  if (name.starts_with("cp.async.")) return copyAsync();
  if (name.starts_with("atomic.")) return scopedAtomic();
  if (name == "bar.warp.sync") return hook("syncwarp", builder.getVoidTy(), {arg(0)});
  if (name == "activemask") return hook("activemask", word(), {});
  if (name == "nanosleep") return hook("yield", builder.getVoidTy(), {});
  if (name == "membar.cta") return hook("fence", builder.getVoidTy(), {i32(KL_SEQ_CST | KL_SCOPE_BLOCK << 8)});
  if (name == "membar.gl") return hook("fence", builder.getVoidTy(), {i32(KL_SEQ_CST | KL_SCOPE_DEVICE << 8)});
  if (name == "membar.sys") return hook("fence", builder.getVoidTy(), {i32(KL_SEQ_CST | KL_SCOPE_SYSTEM << 8)});
  if (name == "elect.sync") {
    Value *won = hook("elect", word(), {arg(0)});
    return pair(builder.CreateShl(builder.CreateZExt(won, longWord()), 32), llvm::cast<llvm::StructType>(call.getType()));
  }
  if (name.starts_with("isspacep.")) {
    StringRef space = name.drop_front(strlen("isspacep."));
    unsigned code = llvm::StringSwitch<unsigned>(space).Case("shared", KL_SHARED).Case("global", KL_GLOBAL).Case("local", KL_LOCAL).Case("const", KL_CONSTANT).Default(0);
    return code ? builder.CreateICmpNE(hook("is_space", word(), {arg(0), i32(code)}), i32(0)) : nullptr;
  }
  if (name.starts_with("ldu.global.")) return builder.CreateLoad(call.getType(), arg(0));
  if (name.starts_with("prefetch")) return i32(0);
  if (Value *matrix = translateMatrixIntrinsic(builder, call, name)) return matrix;
  static const llvm::StringSet<> scalars{"d", "f", "i", "ui", "ll", "ull"};
  auto [source, rest] = name.split('2');
  if (!rest.empty() && scalars.contains(source) && scalars.contains(rest.split('.').first)) return convert();
  return arithmetic();
}

} // namespace

Value *toBits(llvm::IRBuilderBase &builder, Value *value) {
  llvm::Type *type = value->getType();
  if (type->isPointerTy()) return builder.CreatePtrToInt(value, builder.getInt64Ty());
  unsigned bits = unsigned(type->getPrimitiveSizeInBits().getFixedValue());
  return builder.CreateZExtOrTrunc(builder.CreateBitCast(value, builder.getIntNTy(bits)), builder.getInt64Ty());
}

Value *fromBits(llvm::IRBuilderBase &builder, Value *bits, llvm::Type *type) {
  if (type->isPointerTy()) return builder.CreateIntToPtr(bits, type);
  unsigned width = unsigned(type->getPrimitiveSizeInBits().getFixedValue());
  return builder.CreateBitCast(builder.CreateZExtOrTrunc(bits, builder.getIntNTy(width)), type);
}

Value *permuteBytes(llvm::IRBuilderBase &builder, Value *a, Value *b, Value *selector) {
  llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty();
  Value *source = builder.CreateOr(builder.CreateZExt(a, wide), builder.CreateShl(builder.CreateZExt(b, wide), 32));
  Value *result = builder.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value *nibble = builder.CreateLShr(selector, i * 4);
    Value *shift = builder.CreateZExt(builder.CreateShl(builder.CreateAnd(nibble, 7), 3), wide);
    Value *byte = builder.CreateAnd(builder.CreateTrunc(builder.CreateLShr(source, shift), word), 0xff);
    // Bit 3 of a selector replicates the byte's sign.
    Value *sign = builder.CreateAnd(builder.CreateAShr(builder.CreateShl(byte, 24), 31), 0xff);
    byte = builder.CreateSelect(builder.CreateICmpNE(builder.CreateAnd(nibble, 8), builder.getInt32(0)), sign, byte);
    result = builder.CreateOr(result, builder.CreateShl(byte, i * 8));
  }
  return result;
}

Status translateIntrinsics(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction()) continue;
    StringRef name = call->getCalledFunction()->getName();
    Value *result = nullptr;
    if (name.consume_front("llvm.nvvm.")) {
      if (name.starts_with("read.ptx.sreg.")) continue;
      result = Translator(*call, name).translate();
      if (!result) return refusal("unsupported_intrinsic: llvm.nvvm." + name.str(), whereIs(instruction));
    } else {
      result = translateLibraryCall(*call);
      if (!result) continue;
    }
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(result);
    if (auto *made = llvm::dyn_cast<llvm::Instruction>(result); made && !call->getType()->isVoidTy() && made->getType() == call->getType()) made->takeName(call);
    call->eraseFromParent();
  }
  return Done{};
}

} // namespace klineage::emulated
