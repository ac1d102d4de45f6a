// Prepare: the device module becomes a set of kernels with everything inlined, and what only NVIDIA's back end knows becomes
// plain IR or a hook.
#include "device/emulated/analyses.h"
#include "device/emulated/lowering.h"
#include "device/emulated/hooks.h"
#include "device/emulated/host_calls.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

namespace klineage::emulated {

namespace {

bool isVendorHeader(llvm::StringRef file) {
  llvm::StringRef name = file.rsplit('/').second;
  if (name.empty()) name = file;
  return name.starts_with("__clang_cuda") || name.starts_with("cuda_") || (name.starts_with("sm_") && name.ends_with(".hpp")) ||
         name.starts_with("device_atomic_functions") || name == "mma.hpp" || file.contains("/cooperative_groups") || file.contains("/cccl/");
}

} // namespace

llvm::DebugLoc readersPlace(const llvm::DebugLoc &location) {
  llvm::DebugLoc place = location;
  while (place && isVendorHeader(llvm::cast<llvm::DIScope>(place.getScope())->getFilename()) && place.getInlinedAt())
    place = llvm::DebugLoc(place.getInlinedAt());
  return place;
}

std::string whereIs(const llvm::Instruction &instruction) {
  llvm::DebugLoc location = readersPlace(instruction.getDebugLoc());
  if (!location) return {};
  auto *scope = llvm::cast<llvm::DIScope>(location.getScope());
  std::string file = scope->getFilename().str();
  return file + ":" + std::to_string(location.getLine());
}

namespace {

bool isKernel(const llvm::Function &function) { return function.getCallingConv() == llvm::CallingConv::PTX_Kernel; }

std::string plainName(const llvm::Function &function) {
  if (llvm::DISubprogram *subprogram = function.getSubprogram()) return subprogram->getName().str();
  return function.getName().str();
}

std::string whereIs(const llvm::Function &function) {
  llvm::DISubprogram *subprogram = function.getSubprogram();
  return subprogram ? subprogram->getFilename().str() + ":" + std::to_string(subprogram->getLine()) : std::string();
}

/// A loop that never ends must stay one: it is a hang to be found, not undefined behaviour to be used.
void forgetProgress(llvm::Function &function) {
  function.removeFnAttr(llvm::Attribute::MustProgress);
  function.removeFnAttr(llvm::Attribute::WillReturn);
  for (llvm::BasicBlock &block : function) {
    llvm::MDNode *loop = block.getTerminator() ? block.getTerminator()->getMetadata(llvm::LLVMContext::MD_loop) : nullptr;
    if (!loop) continue;
    llvm::SmallVector<llvm::Metadata *> kept{nullptr};
    for (const llvm::MDOperand &operand : llvm::drop_begin(loop->operands())) {
      auto *node = llvm::dyn_cast<llvm::MDNode>(operand);
      auto *name = node && node->getNumOperands() ? llvm::dyn_cast<llvm::MDString>(node->getOperand(0)) : nullptr;
      if (!name || name->getString() != "llvm.loop.mustprogress") kept.push_back(operand);
    }
    llvm::MDNode *fresh = llvm::MDNode::getDistinct(function.getContext(), kept);
    fresh->replaceOperandWith(0, fresh);
    block.getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, fresh);
  }
}

Status refuseRecursion(llvm::Module &module) {
  llvm::CallGraph graph(module);
  for (auto scc = llvm::scc_begin(&graph); !scc.isAtEnd(); ++scc) {
    if (!scc.hasCycle()) continue;
    for (llvm::CallGraphNode *node : *scc)
      if (llvm::Function *function = node->getFunction(); function && !function->isDeclaration())
        return refusal("unsupported_recursion: " + plainName(*function), whereIs(*function));
  }
  return Done{};
}

Status refuseIndirectCalls(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call && !call->isInlineAsm() && !call->getCalledFunction())
      return refusal("unsupported_indirect_call: in " + plainName(function), emulated::whereIs(instruction));
  }
  return Done{};
}

bool isCallable(const llvm::Function &callee) {
  return callee.isIntrinsic() ? !callee.getName().starts_with("llvm.nvvm.") || callee.getName().starts_with("llvm.nvvm.read.ptx.sreg.")
                              : hookOf(callee) || (callee.getName().starts_with("__nv_") && isDeviceFunction(std::string_view(callee.getName())));
}

/// After translation and inlining a call that is none of the known ones has nobody to run it.
Status refuseUnknownCalls(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call || !call->getCalledFunction() || isCallable(*call->getCalledFunction())) continue;
    const llvm::Function &callee = *call->getCalledFunction();
    if (callee.isIntrinsic()) return refusal("unsupported_intrinsic: " + callee.getName().str(), emulated::whereIs(instruction));
    if (isKernel(callee)) return refusal("unsupported_launch_from_device: " + plainName(callee), emulated::whereIs(instruction));
    return refusal("unsupported_function: " + plainName(callee), emulated::whereIs(instruction));
  }
  return Done{};
}

void run(llvm::Module &module, llvm::function_ref<void(llvm::ModulePassManager &)> fill) {
  emulated::Analyses analyses;
  llvm::ModulePassManager passes;
  fill(passes);
  passes.run(module, analyses.modules);
}

} // namespace

Status prepareDevice(llvm::Module &module, unsigned sm) {
  for (const char *list : {"llvm.used", "llvm.compiler.used"})
    if (llvm::GlobalVariable *used = module.getGlobalVariable(list)) used->eraseFromParent();
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    function.setComdat(nullptr);
    forgetProgress(function);
    if (isKernel(function)) {
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
      continue;
    }
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  for (llvm::GlobalVariable &variable : module.globals()) variable.setComdat(nullptr);
  // Unused first: a header's functions must neither cost nor refuse.
  run(module, [](llvm::ModulePassManager &passes) { passes.addPass(llvm::GlobalDCEPass()); });
  if (Status status = refuseRecursion(module); !status) return status;
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) continue;
    if (Status status = translateInlinePtx(function); !status) return status;
    if (Status status = translateIntrinsics(function); !status) return status;
  }
  run(module, [](llvm::ModulePassManager &passes) {
    passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
    passes.addPass(llvm::GlobalDCEPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::PromotePass()));
  });
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) continue;
    if (!isKernel(function)) return refusal("unsupported_indirect_call: the address of " + plainName(function) + " is taken", whereIs(function));
    if (Status status = refuseIndirectCalls(function); !status) return status;
    if (Status status = refuseUnknownCalls(function); !status) return status;
    makeWideAccesses(function);
  }
  return Done{};
}

} // namespace klineage::emulated
