#include "device/emulated/hooks.h"
#include "llvm/IR/IRBuilder.h"

namespace klineage::emulated {
namespace {

using enum HookShape;
const HookInfo table[] = {
    {"load", WideLoad, KL_SITE_LOAD, KL_LOAD, HookInfo::ReadsArgument},
    {"store", WideStore, KL_SITE_STORE, KL_STORE, HookInfo::WritesArgument},
    {"memcpy", Plain, KL_SITE_LOAD, KL_LOAD, HookInfo::Memory},
    {"memmove", Plain, KL_SITE_LOAD, KL_LOAD, HookInfo::Memory},
    {"memset", Plain, KL_SITE_STORE, KL_STORE, HookInfo::Memory},
    {"atomic_rmw", Plain, KL_SITE_ATOMIC, KL_ATOMIC, HookInfo::Memory},
    {"atomic_cas", Plain, KL_SITE_ATOMIC, KL_ATOMIC, HookInfo::Memory},
    {"atomic_load", Plain, KL_SITE_ATOMIC, KL_LOAD, HookInfo::Memory},
    {"atomic_store", Plain, KL_SITE_ATOMIC, KL_STORE, HookInfo::Memory},
    {"fence", Plain, KL_SITE_FENCE, KL_OTHER, HookInfo::Memory},
    {"barrier", Plain, KL_SITE_BARRIER, KL_BARRIER, HookInfo::Convergent},
    {"barrier_arrive", Plain, KL_SITE_BARRIER, KL_BARRIER, HookInfo::Convergent},
    {"barrier_reduce", Plain, KL_SITE_BARRIER, KL_BARRIER, HookInfo::Convergent},
    {"syncwarp", Plain, KL_SITE_SYNCWARP, KL_OTHER, HookInfo::Convergent},
    {"shuffle", Plain, KL_SITE_EXCHANGE, KL_SHUFFLE, HookInfo::Convergent},
    {"vote", Plain, KL_SITE_EXCHANGE, KL_VOTE, HookInfo::Convergent},
    {"match", Plain, KL_SITE_EXCHANGE, KL_VOTE, HookInfo::Convergent},
    {"redux", Plain, KL_SITE_EXCHANGE, KL_SHUFFLE, HookInfo::Convergent},
    {"activemask", Plain, KL_SITE_EXCHANGE, KL_VOTE, HookInfo::Convergent},
    {"elect", Plain, KL_SITE_EXCHANGE, KL_VOTE, HookInfo::Convergent},
    {"cp_async", Plain, KL_SITE_COPY_ASYNC, KL_COPY_ASYNC, HookInfo::Memory},
    {"cp_async_commit", Plain, KL_SITE_COPY_ASYNC, KL_OTHER, HookInfo::Memory},
    {"cp_async_wait", Plain, KL_SITE_COPY_ASYNC, KL_OTHER, HookInfo::Memory},
    {"cp_async_wait_all", Plain, KL_SITE_COPY_ASYNC, KL_OTHER, HookInfo::Memory},
    {"mma", OutAfter2, KL_SITE_MMA, KL_TENSOR, HookInfo::Convergent},
    {"ldmatrix", OutFirst, KL_SITE_MATRIX, KL_MATRIX_LOAD, HookInfo::Convergent},
    {"stmatrix", Plain, KL_SITE_MATRIX, KL_MATRIX_LOAD, HookInfo::Convergent},
    {"wmma_load", OutAfter4, KL_SITE_MATRIX, KL_MATRIX_LOAD, HookInfo::Convergent},
    {"wmma_store", Plain, KL_SITE_MATRIX, KL_MATRIX_LOAD, HookInfo::Convergent},
    {"wmma_mma", OutAfter3, KL_SITE_MMA, KL_TENSOR, HookInfo::Convergent},
    {"yield", Plain, KL_SITE_LOOP, KL_OTHER, HookInfo::Memory},
    {"clock", NoSite, KL_SITE_CALL, KL_OTHER, HookInfo::Memory},
    {"trap", NoKey, KL_SITE_CALL, KL_OTHER, HookInfo::Memory},
    {"leaves_local", NoKey, KL_SITE_CALL, KL_OTHER, HookInfo::Memory},
    {"assert_failed", NoKey, KL_SITE_CALL, KL_OTHER, HookInfo::Memory},
    {"vprintf", NoSite, KL_SITE_CALL, KL_OTHER, HookInfo::Memory},
    {"malloc", NoKey, KL_SITE_CALL, KL_OTHER, HookInfo::Memory},
    {"free", NoKey, KL_SITE_CALL, KL_OTHER, HookInfo::Memory},
    {"is_space", NoSite, KL_SITE_CALL, KL_INT, HookInfo::Memory},
};

} // namespace

const HookInfo *hookNamed(std::string_view name) {
  for (const HookInfo &hook : table)
    if (hook.name == name) return &hook;
  return nullptr;
}

const HookInfo *hookOf(const llvm::Function &pseudo) {
  llvm::StringRef name = pseudo.getName();
  if (!name.consume_front("klp.")) return nullptr;
  return hookNamed(std::string_view(name.split('.').first));
}

llvm::CallInst *callHook(llvm::IRBuilderBase &builder, std::string_view name, llvm::Type *result,
                         llvm::ArrayRef<llvm::Value *> arguments) {
  const HookInfo *hook = hookNamed(name);
  assert(hook && "no such hook");
  llvm::Module &module = *builder.GetInsertBlock()->getModule();
  std::string symbol = "klp." + std::string(name);
  llvm::SmallVector<llvm::Type *> types;
  llvm::raw_string_ostream text(symbol);
  text << '.' << *result;
  for (llvm::Value *argument : arguments) {
    types.push_back(argument->getType());
    text << '.' << *argument->getType();
  }
  for (char &c : symbol)
    if (c == ' ') c = '_';
  llvm::Function *function = module.getFunction(symbol);
  if (!function) {
    function = llvm::Function::Create(llvm::FunctionType::get(result, types, false), llvm::Function::ExternalLinkage, symbol, module);
    function->setDoesNotThrow();
    if (hook->effect == HookInfo::ReadsArgument) function->setMemoryEffects(llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref));
    if (hook->effect == HookInfo::WritesArgument) function->setMemoryEffects(llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Mod));
    if (hook->effect == HookInfo::ReadsArgument || hook->effect == HookInfo::WritesArgument) {
      function->setWillReturn();
      function->setNoSync();
      function->addFnAttr(llvm::Attribute::NoFree);
      function->addFnAttr(llvm::Attribute::NoCallback);
      function->addParamAttr(0, llvm::Attribute::getWithCaptureInfo(module.getContext(), llvm::CaptureInfo::none()));
    }
    if (hook->effect == HookInfo::Convergent) function->setConvergent();
    if (name == "trap" || name == "assert_failed") function->setDoesNotReturn();
  }
  llvm::CallInst *call = builder.CreateCall(function, arguments);
  if (hook->effect == HookInfo::Convergent) call->setConvergent();
  return call;
}

void setFlags(llvm::Instruction &instruction, unsigned flags) {
  if (!flags) return;
  llvm::LLVMContext &context = instruction.getContext();
  auto *value = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), flags));
  instruction.setMetadata("kl.flags", llvm::MDNode::get(context, value));
}

unsigned flagsOf(const llvm::Instruction &instruction) {
  llvm::MDNode *node = instruction.getMetadata("kl.flags");
  return node ? unsigned(llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0))->getZExtValue()) : 0;
}

} // namespace klineage::emulated
