// PtxTranslator: one inline assembly statement of the device code as IR. Registers are IR values; a predicated instruction is a
// branch around it, which the optimizer folds where it can.
#pragma once
#include "device/emulated/hooks.h"
#include "device/emulated/ptx_parser.h"
#include "device/emulated/translate.h"
#include <map>

namespace klineage::emulated {

class PtxTranslator {
public:
  PtxTranslator(llvm::CallInst &call, llvm::InlineAsm &assembly) : builder(&call), call(call), assembly(assembly) {}

  /// Replaces the call. A refusal leaves the function in an unfinished state; the module is then thrown away.
  Status run();

private:
  using Value = llvm::Value;
  using Type = llvm::Type;

  struct Register {
    Type *type = nullptr;   ///< As declared or as the constraint says.
    Value *value = nullptr; ///< Null until written.
  };

  Status bindArguments();
  void finish();
  bool translate(const PtxInstruction &instruction); ///< False: not known.
  bool arithmetic(const PtxInstruction &instruction);
  bool bits(const PtxInstruction &instruction);
  bool compare(const PtxInstruction &instruction);
  bool convert(const PtxInstruction &instruction);
  bool move(const PtxInstruction &instruction);
  bool memory(const PtxInstruction &instruction);
  bool atomic(const PtxInstruction &instruction);
  bool copyAsync(const PtxInstruction &instruction);
  bool exchange(const PtxInstruction &instruction);
  bool matrix(const PtxInstruction &instruction);
  bool control(const PtxInstruction &instruction);

  // Operands.
  Type *typeNamed(std::string_view name);
  Register *registerOf(const std::string &name);
  Value *read(const PtxOperand &operand, Type *type);
  Value *readBits(const PtxOperand &operand); ///< In its own width.
  bool write(const PtxOperand &operand, Value *value);
  bool writeName(const std::string &name, Value *value);
  Value *cast(Value *value, Type *type);
  Value *address(const PtxOperand &operand, unsigned space);
  Value *literal(const std::string &text, Type *type);
  Value *special(llvm::StringRef name);

  Value *word(uint64_t value) { return builder.getInt32(uint32_t(value)); }
  Type *i32() { return builder.getInt32Ty(); }
  Type *i64() { return builder.getInt64Ty(); }
  llvm::CallInst *hook(std::string_view name, Type *result, llvm::ArrayRef<Value *> arguments) { return callHook(builder, name, result, arguments); }
  static bool isSigned(std::string_view type) { return type.size() > 1 && type[0] == 's'; }
  static bool isFloat(Type *type) { return type->isFPOrFPVectorTy(); }
  Value *saturate(const PtxInstruction &instruction, Value *value);

  llvm::IRBuilder<> builder;
  llvm::CallInst &call;
  llvm::InlineAsm &assembly;
  std::map<std::string, Register> registers;
  std::vector<std::string> outputs; ///< Names of arguments that are results, in order.
};

} // namespace klineage::emulated
