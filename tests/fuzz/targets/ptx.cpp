// Inline PTX: every text is translated into a well-formed function or refused by name.
#include "tests/fuzz/fuzz.h"
#include "device/emulated/ptx_translator.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Verifier.h"

namespace klineage::fuzz {
namespace {

/// One assembly statement with results and arguments of the kinds that kernels use: "=r,=f,r,l,f".
struct Statement {
  llvm::LLVMContext context;
  llvm::Module module{"fuzz", context};
  llvm::Function *function = nullptr;
  llvm::CallInst *call = nullptr;

  explicit Statement(std::string_view text) {
    module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
    llvm::IRBuilder<> builder(context);
    llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty(), *real = builder.getFloatTy();
    llvm::Type *pair = llvm::StructType::get(context, {word, real});
    function = llvm::Function::Create(llvm::FunctionType::get(pair, {word, wide, real}, false), llvm::Function::ExternalLinkage, "k", module);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(pair, {word, wide, real}, false), text, "=r,=f,r,l,f", true);
    call = builder.CreateCall(assembly, {function->getArg(0), function->getArg(1), function->getArg(2)});
    builder.CreateRet(call);
  }
};

} // namespace

void ptx(std::string_view bytes) {
  Statement statement(bytes);
  Status status = emulated::PtxTranslator(*statement.call, *llvm::cast<llvm::InlineAsm>(statement.call->getCalledOperand())).run();
  if (!status) {
    promise(status.error().fault == Fault::Refusal, "PTX that is not known is told as ours: " + status.error().message());
    promise(!status.error().what.empty(), "a refusal without words");
    return;
  }
  std::string why;
  llvm::raw_string_ostream out(why);
  promise(!llvm::verifyModule(statement.module, &out), "the translation is not well-formed: " + why);
}

} // namespace klineage::fuzz
