// Calls of functions without a body: printf and assert go to the runtime; those functions of libdevice that are one machine instruction
// become it; the rest of libdevice stays a call of `__nv_*`, which the worker resolves, marked as free of side effects.
#include "device/emulated/hooks.h"
#include "device/emulated/translate.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

namespace klineage::emulated {
namespace {

using llvm::Intrinsic::ID;
using llvm::StringRef;
using llvm::Value;

ID directIntrinsic(StringRef name) {
  using namespace llvm;
  return StringSwitch<ID>(name)
      .Cases({"fabsf", "fabs"}, Intrinsic::fabs).Cases({"sqrtf", "sqrt", "fsqrt_rn", "dsqrt_rn"}, Intrinsic::sqrt)
      .Cases({"floorf", "floor"}, Intrinsic::floor).Cases({"ceilf", "ceil"}, Intrinsic::ceil)
      .Cases({"truncf", "trunc"}, Intrinsic::trunc).Cases({"rintf", "rint", "nearbyintf", "nearbyint"}, Intrinsic::roundeven)
      .Cases({"roundf", "round"}, Intrinsic::round)
      .Cases({"fminf", "fmin"}, Intrinsic::minnum).Cases({"fmaxf", "fmax"}, Intrinsic::maxnum)
      .Cases({"copysignf", "copysign"}, Intrinsic::copysign)
      .Cases({"fmaf", "fma", "fmaf_rn", "fma_rn", "fmaf_ieee_rn"}, Intrinsic::fma)
      .Cases({"min", "llmin"}, Intrinsic::smin).Cases({"max", "llmax"}, Intrinsic::smax)
      .Cases({"umin", "ullmin"}, Intrinsic::umin).Cases({"umax", "ullmax"}, Intrinsic::umax)
      .Cases({"fast_exp2f", "exp2f"}, Intrinsic::exp2)
      .Cases({"brev", "brevll"}, Intrinsic::bitreverse)
      .Default(Intrinsic::not_intrinsic);
}

Value *device(llvm::IRBuilder<> &builder, llvm::CallInst &call, StringRef name) {
  llvm::SmallVector<Value *> arguments(call.args());
  llvm::Type *type = call.getType();
  if (ID id = directIntrinsic(name)) return builder.CreateIntrinsic(id, {type}, arguments);
  auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  if (name == "fadd_rn" || name == "dadd_rn") return builder.CreateFAdd(arguments[0], arguments[1]);
  if (name == "fsub_rn" || name == "dsub_rn") return builder.CreateFSub(arguments[0], arguments[1]);
  if (name == "fmul_rn" || name == "dmul_rn") return builder.CreateFMul(arguments[0], arguments[1]);
  if (name == "fdiv_rn" || name == "ddiv_rn" || name == "fast_fdividef" || name == "fdividef") return builder.CreateFDiv(arguments[0], arguments[1]);
  if (name == "frcp_rn" || name == "drcp_rn") return builder.CreateFDiv(number(1), arguments[0]);
  if (name == "frsqrt_rn" || name == "rsqrtf" || name == "rsqrt")
    return builder.CreateFDiv(number(1), builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, arguments[0]));
  if (name == "saturatef" || name == "__saturatef")
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, builder.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, arguments[0], number(0)), number(1));
  if (name == "fast_logf" || name == "fast_log2f" || name == "fast_log10f") {
    double scale = name == "fast_logf" ? 0.693147180559945309 : name == "fast_log10f" ? 0.301029995663981195 : 1;
    Value *log = builder.CreateUnaryIntrinsic(llvm::Intrinsic::log2, arguments[0]);
    return scale == 1 ? log : builder.CreateFMul(log, number(scale));
  }
  if (name == "fast_expf") return builder.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, builder.CreateFMul(arguments[0], number(1.44269504088896341)));
  if (name == "fast_exp10f") return builder.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, builder.CreateFMul(arguments[0], number(3.32192809488736235)));
  if (name == "fast_sinf") return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sin, arguments[0]);
  if (name == "fast_cosf") return builder.CreateUnaryIntrinsic(llvm::Intrinsic::cos, arguments[0]);
  if (name == "fast_powf") {
    Value *log = builder.CreateUnaryIntrinsic(llvm::Intrinsic::log2, arguments[0]);
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, builder.CreateFMul(arguments[1], log));
  }
  if (name == "popc" || name == "popcll")
    return builder.CreateZExtOrTrunc(builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, arguments[0]), type);
  if (name == "clz" || name == "clzll")
    return builder.CreateZExtOrTrunc(builder.CreateIntrinsic(llvm::Intrinsic::ctlz, {arguments[0]->getType()}, {arguments[0], builder.getFalse()}), type);
  if (name == "ffs" || name == "ffsll") {
    llvm::Type *source = arguments[0]->getType();
    Value *zeros = builder.CreateIntrinsic(llvm::Intrinsic::cttz, {source}, {arguments[0], builder.getFalse()});
    Value *position = builder.CreateZExtOrTrunc(builder.CreateAdd(zeros, llvm::ConstantInt::get(source, 1)), type);
    Value *isZero = builder.CreateICmpEQ(arguments[0], llvm::Constant::getNullValue(source));
    return builder.CreateSelect(isZero, llvm::Constant::getNullValue(type), position);
  }
  if (name == "abs" || name == "llabs") return builder.CreateIntrinsic(llvm::Intrinsic::abs, {type}, {arguments[0], builder.getFalse()});
  if (name == "byte_perm") return permuteBytes(builder, arguments[0], arguments[1], arguments[2]);
  if (name == "mulhi" || name == "umulhi" || name == "mul64hi" || name == "umul64hi") {
    unsigned bits = type->getIntegerBitWidth();
    llvm::Type *wide = builder.getIntNTy(bits * 2);
    bool isUnsigned = name.starts_with("u");
    auto extend = [&](Value *v) { return isUnsigned ? builder.CreateZExt(v, wide) : builder.CreateSExt(v, wide); };
    return builder.CreateTrunc(builder.CreateLShr(builder.CreateMul(extend(arguments[0]), extend(arguments[1])), bits), type);
  }
  if (name == "float_as_int" || name == "float_as_uint" || name == "int_as_float" || name == "uint_as_float" ||
      name == "double_as_longlong" || name == "longlong_as_double")
    return builder.CreateBitCast(arguments[0], type);
  if (name == "isnanf" || name == "isnand" || name == "nanf_test")
    return builder.CreateZExt(builder.CreateFCmpUNO(arguments[0], arguments[0]), type);
  if (name == "isinff" || name == "isinfd" || name == "finitef" || name == "isfinited") {
    Value *magnitude = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, arguments[0]);
    Value *infinity = llvm::ConstantFP::getInfinity(arguments[0]->getType());
    Value *bit = name.starts_with("isinf") ? builder.CreateFCmpOEQ(magnitude, infinity) : builder.CreateFCmpOLT(magnitude, infinity);
    return builder.CreateZExt(bit, type);
  }
  if (name == "signbitf" || name == "signbitd") {
    Value *bits = builder.CreateBitCast(arguments[0], builder.getIntNTy(unsigned(arguments[0]->getType()->getPrimitiveSizeInBits())));
    return builder.CreateZExt(builder.CreateICmpSLT(bits, llvm::Constant::getNullValue(bits->getType())), type);
  }
  return nullptr;
}

} // namespace

Value *packWords(llvm::IRBuilderBase &builder, llvm::ArrayRef<Value *> values) {
  Value *vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder.getInt32Ty(), unsigned(values.size())));
  for (unsigned i = 0; i < values.size(); ++i)
    vector = builder.CreateInsertElement(vector, builder.CreateBitCast(values[i], builder.getInt32Ty()), uint64_t(i));
  return vector;
}

Value *translateLibraryCall(llvm::CallInst &call) {
  llvm::Function &callee = *call.getCalledFunction();
  StringRef name = callee.getName();
  if (!callee.isDeclaration()) return nullptr;
  llvm::IRBuilder<> builder(&call);
  auto plain = [&](unsigned i) { return builder.CreateAddrSpaceCast(call.getArgOperand(i), builder.getPtrTy()); };
  if (name == "vprintf") return callHook(builder, "vprintf", call.getType(), {plain(0), plain(1)});
  if (name == "malloc") return callHook(builder, "malloc", call.getType(), {call.getArgOperand(0)});
  if (name == "free") return callHook(builder, "free", call.getType(), {call.getArgOperand(0)});
  if (name == "__assertfail" || name == "__assert_fail")
    return callHook(builder, "assert_failed", builder.getVoidTy(), {plain(0), plain(1), call.getArgOperand(2), plain(3)});
  if (name == "llvm.trap" || name == "llvm.debugtrap") return callHook(builder, "trap", builder.getVoidTy(), {});
  if (!name.consume_front("__nv_")) return nullptr;
  // Rounding and saturation aside they are pure; those that also write through a pointer (sincosf, modf) say so by having one.
  bool writes = llvm::any_of(callee.args(), [](llvm::Argument &a) { return a.getType()->isPointerTy(); });
  callee.setMemoryEffects(writes ? llvm::MemoryEffects::argMemOnly() : llvm::MemoryEffects::none());
  callee.setDoesNotThrow();
  callee.setWillReturn();
  callee.setNoSync();
  return device(builder, call, name);
}

} // namespace klineage::emulated
