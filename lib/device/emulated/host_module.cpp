// The launcher's module: kept to what the entry reaches, checked against the list of host functions that exist, and given a
// caller with a fixed signature and a table from host symbols to device names.
#include "device/emulated/analyses.h"
#include "device/emulated/host_calls.h"
#include "device/emulated/lowering.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include <set>

namespace klineage::emulated {
namespace {

constexpr llvm::StringRef stubMark = "__device_stub__";

/// Clang names a kernel's host stub by putting a mark before its identifier; in a mangled name the identifier's length grows too.
/// Digits before that length may belong to the name around it, so every split is offered: the one that is a kernel is right.
std::vector<std::string> kernelNames(llvm::StringRef stub) {
  size_t at = stub.find(stubMark);
  llvm::StringRef before = stub.take_front(at), after = stub.drop_front(at + stubMark.size());
  std::vector<std::string> names;
  if (!stub.starts_with("_Z")) return {(before + after).str()};
  size_t digits = 0;
  while (digits < before.size() && llvm::isDigit(before[before.size() - 1 - digits]))
    ++digits;
  for (size_t used = digits; used > 0; --used) {
    unsigned length = 0;
    llvm::StringRef number = before.take_back(used);
    if (number.front() == '0' || number.getAsInteger(10, length) || length <= stubMark.size()) continue;
    names.push_back((before.drop_back(used) + llvm::Twine(length - stubMark.size()) + after).str());
  }
  return names;
}

/// Functions and variables that code or data under these values names, themselves included.
std::set<const llvm::GlobalValue *> reachedFrom(std::vector<const llvm::Value *> open) {
  std::set<const llvm::GlobalValue *> reached;
  std::set<const llvm::Value *> seen;
  while (!open.empty()) {
    const llvm::Value *value = open.back();
    open.pop_back();
    if (!value || !seen.insert(value).second) continue;
    if (const auto *global = llvm::dyn_cast<llvm::GlobalValue>(value)) reached.insert(global);
    if (const auto *function = llvm::dyn_cast<llvm::Function>(value))
      for (const llvm::BasicBlock &block : *function)
        for (const llvm::Instruction &instruction : block)
          for (const llvm::Value *operand : instruction.operand_values())
            if (llvm::isa<llvm::Constant>(operand)) open.push_back(operand);
    if (const auto *constant = llvm::dyn_cast<llvm::Constant>(value); constant && !llvm::isa<llvm::Function>(constant))
      for (const llvm::Value *operand : constant->operand_values()) open.push_back(operand);
  }
  return reached;
}

/// What a header does at load time for its own sake (<iostream> opens its streams) is left out, unless it touches a variable that the launcher reads.
void removeForeignInitializers(llvm::Module &host, const llvm::Function &entry) {
  llvm::GlobalVariable *list = host.getGlobalVariable("llvm.global_ctors");
  if (!list || !list->hasInitializer()) return;
  auto read = reachedFrom({&entry});
  for (const llvm::GlobalValue *global : reachedFrom({list->getInitializer()}))
    if (const auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(global); variable && !variable->isConstant() && read.count(variable)) return;
  list->eraseFromParent();
}

void removeUnreached(llvm::Module &module) {
  emulated::Analyses analyses;
  llvm::ModulePassManager passes;
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, analyses.modules);
}

/// int kl_host_call(void **arguments): the entry with each argument read from its own address. A trailing parameter that the workload
/// does not name (the stream) is given by the caller as one more pointer.
void makeCaller(llvm::Module &module, llvm::Function &entry) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *word = llvm::Type::getInt32Ty(context);
  auto *caller = llvm::Function::Create(llvm::FunctionType::get(word, {pointer}, false), llvm::Function::ExternalLinkage, "kl_host_call", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", caller));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : entry.args()) {
    llvm::Value *address = builder.CreateLoad(pointer, builder.CreateConstInBoundsGEP1_64(pointer, caller->getArg(0), argument.getArgNo()));
    arguments.push_back(argument.hasByValAttr() ? address : builder.CreateAlignedLoad(argument.getType(), address, llvm::Align(1)));
  }
  llvm::CallInst *call = builder.CreateCall(&entry, arguments);
  call->setAttributes(entry.getAttributes());
  bool returnsStatus = call->getType()->isIntegerTy();
  builder.CreateRet(returnsStatus ? builder.CreateZExtOrTrunc(call, word) : builder.getInt32(0));
  auto *count = new llvm::GlobalVariable(module, word, true, llvm::GlobalValue::ExternalLinkage, builder.getInt32(unsigned(entry.arg_size())),
                                         "kl_host_parameters");
  count->setAlignment(llvm::Align(4));
}

void makeSymbolTable(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *word = llvm::Type::getInt32Ty(context);
  auto *rowType = llvm::StructType::get(context, {pointer, pointer, word});
  std::vector<llvm::Constant *> rows;
  auto add = [&](const std::string &name, llvm::Constant *address, bool isKernel) {
    llvm::Constant *bytes = llvm::ConstantDataArray::getString(context, name);
    auto *text = new llvm::GlobalVariable(module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes, "kl.name");
    rows.push_back(llvm::ConstantStruct::get(rowType, {text, address, llvm::ConstantInt::get(word, isKernel)}));
  };
  for (llvm::Function &function : module)
    if (function.getName().contains(stubMark))
      for (const std::string &name : kernelNames(function.getName()))
        add(name, &function, true);
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(module.globals()))
    if (!variable.getName().empty() && !variable.getName().starts_with("kl") && !variable.getName().starts_with("llvm.") && !variable.isThreadLocal())
      add(variable.getName().str(), &variable, false);
  rows.push_back(llvm::Constant::getNullValue(rowType));
  auto *type = llvm::ArrayType::get(rowType, rows.size());
  new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage, llvm::ConstantArray::get(type, rows), "kl_host_symbols");
}

} // namespace

Status lowerHost(llvm::Module &host, const std::string &entryName) {
  llvm::Function *entry = host.getFunction(entryName);
  if (!entry || entry->isDeclaration())
    return userError("no launcher named " + entryName, host.getSourceFileName(), "define it as extern \"C\" and name it in workload.json's entry");
  for (llvm::Function &function : host) {
    if (function.isDeclaration()) continue;
    function.setComdat(nullptr);
    function.setLinkage(&function == entry ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
  }
  for (llvm::GlobalVariable &variable : host.globals()) {
    if (variable.isDeclaration() || variable.getName().starts_with("llvm.")) continue;
    variable.setComdat(nullptr);
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (const char *list : {"llvm.used", "llvm.compiler.used"})
    if (llvm::GlobalVariable *used = host.getGlobalVariable(list)) used->eraseFromParent();
  removeForeignInitializers(host, *entry);
  removeUnreached(host);
  for (llvm::Function &function : host) {
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty() || isHostFunction(function.getName())) continue;
    std::string where;
    for (llvm::User *user : function.users())
      if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(user); instruction && where.empty()) where = whereIs(*instruction);
    return refusal("unsupported_host_function: " + function.getName().str(), where);
  }
  for (llvm::GlobalVariable &variable : host.globals())
    if (variable.isDeclaration() && !variable.use_empty()) return refusal("unsupported_host_variable: " + variable.getName().str());
  makeSymbolTable(host);
  makeCaller(host, *entry);
  llvm::StripDebugInfo(host);
  std::string text;
  llvm::raw_string_ostream out(text);
  if (llvm::verifyModule(host, &out)) return ourFault("the launcher's module is not well-formed: " + text.substr(0, 400));
  return Done{};
}

} // namespace klineage::emulated
