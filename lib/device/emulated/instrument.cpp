// Instrument and retarget: the module's kernels get their hooks, then triple, data layout and tables become the host's.
#include "device/emulated/analyses.h"
#include "device/emulated/kernel_instrumenter.h"
#include "device/emulated/lowering.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

namespace klineage::emulated {
namespace {

bool isPlainData(const llvm::GlobalVariable &variable) {
  return !variable.getName().starts_with("llvm.") && !variable.getName().starts_with("kl.");
}

/// Shared variables are named per block at run time, so no constant expression may hold them.
void expandSharedConstants(llvm::Module &module) {
  llvm::SmallVector<llvm::Constant *> shared;
  for (llvm::GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == KL_SHARED) shared.push_back(&variable);
  llvm::convertUsersOfConstantsToInstructions(shared);
}

} // namespace

Status instrumentDevice(llvm::Module &device, llvm::TargetMachine &target) {
  expandSharedConstants(device);
  Analyses analyses(&target);

  ModuleTables tables(device);
  std::vector<llvm::Function *> kernels;
  for (llvm::Function &function : device)
    if (!function.isDeclaration()) kernels.push_back(&function);
  for (llvm::Function *kernel : kernels) {
    if (Status status = KernelInstrumenter(*kernel, analyses.functions, tables).run(); !status) return status;
    analyses.functions.clear(*kernel, kernel->getName());
    kernel->eraseFromParent();
  }
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(device.globals())) {
    variable.removeDeadConstantUsers();
    if (variable.use_empty() && !variable.hasInitializer()) variable.eraseFromParent();
  }
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(device.globals())) {
    if (variable.getAddressSpace() == KL_SHARED) {
      if (!variable.use_empty()) return refusal("unsupported_shared_variable: " + variable.getName().str() + " is used by an initializer");
      variable.eraseFromParent();
      continue;
    }
    if (!isPlainData(variable)) continue;
    if (!variable.hasInitializer()) return refusal("unsupported_external_variable: " + variable.getName().str());
    if (variable.isExternallyInitialized()) {
      variable.setConstant(false);
      variable.setExternallyInitialized(false);
    }
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    variable.setAlignment(std::max(variable.getAlign().valueOrOne(), llvm::Align(256)));
  }
  llvm::StripDebugInfo(device);
  for (const char *name : {"nvvm.annotations", "nvvmir.version", "llvm.ident", "nvvm.maxregs"})
    if (llvm::NamedMDNode *node = device.getNamedMetadata(name)) device.eraseNamedMetadata(node);
  for (llvm::Function &function : llvm::make_early_inc_range(device))
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
  return tables.write(), Done{};
}

} // namespace klineage::emulated
