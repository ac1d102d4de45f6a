// Optimize: what -O2 does to scalars and loops, without the passes that would change how many memory accesses there are or how
// wide they are (vectorizers, loop idioms, memcpy forming). Short loops of a known length are unrolled whole, as nvcc does; others only where a
// pragma asks for it. The order follows LLVM's function simplification pipeline.
#include "device/emulated/analyses.h"
#include "device/emulated/lowering.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/BDCE.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InferAddressSpaces.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopSimplifyCFG.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

namespace klineage::emulated {
namespace {

struct RevealPrivatePass : llvm::PassInfoMixin<RevealPrivatePass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
    return revealPrivate(function) ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

struct LocalBoundsPass : llvm::PassInfoMixin<LocalBoundsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
    return reportLeavingLocals(function) ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

llvm::FunctionPassManager pipeline() {
  using namespace llvm;
  FunctionPassManager passes;
  auto clean = [&] {
    passes.addPass(RevealPrivatePass());
    passes.addPass(SROAPass(SROAOptions::ModifyCFG));
    passes.addPass(EarlyCSEPass(true));
    passes.addPass(SimplifyCFGPass(SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
    passes.addPass(InstCombinePass());
  };
  auto loops = [&](LoopPassManager manager, bool memorySSA) {
    passes.addPass(createFunctionToLoopPassAdaptor(std::move(manager), memorySSA));
  };
  passes.addPass(LocalBoundsPass());
  clean();
  passes.addPass(InferAddressSpacesPass());
  passes.addPass(CorrelatedValuePropagationPass());
  passes.addPass(ReassociatePass());
  {
    LoopPassManager manager;
    manager.addPass(LoopSimplifyCFGPass());
    manager.addPass(LICMPass(LICMOptions(100, 250, false)));
    manager.addPass(LoopRotatePass(true, false));
    manager.addPass(LICMPass(LICMOptions(100, 250, true)));
    loops(std::move(manager), true);
  }
  clean();
  {
    LoopPassManager manager;
    manager.addPass(IndVarSimplifyPass(false));
    manager.addPass(LoopFullUnrollPass(3, /*OnlyWhenForced=*/false));
    loops(std::move(manager), false);
  }
  passes.addPass(LocalBoundsPass()); // the unroller has just made places known
  clean();
  passes.addPass(GVNPass());
  passes.addPass(SCCPPass());
  passes.addPass(BDCEPass());
  clean();
  passes.addPass(DSEPass());
  {
    LoopPassManager manager;
    manager.addPass(LICMPass(LICMOptions(100, 250, true)));
    loops(std::move(manager), true);
  }
  passes.addPass(LoopUnrollPass(LoopUnrollOptions(2, /*OnlyWhenForced=*/true)));
  clean();
  passes.addPass(ADCEPass());
  passes.addPass(SimplifyCFGPass(SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
  passes.addPass(LoopSimplifyPass());
  passes.addPass(LCSSAPass());
  return passes;
}

/// What is left of local variables that nobody set gets a value that shows: NaN, or a large number. The optimizer is done, so nothing else is decided by it.
void showUnset(llvm::Function &function) {
  for (llvm::BasicBlock &block : function)
    for (llvm::PHINode &phi : block.phis())
      for (llvm::Use &incoming : phi.incoming_values()) {
        llvm::Type *type = phi.getType();
        if (!llvm::isa<llvm::UndefValue>(incoming.get()) || !(type->isIntOrIntVectorTy() || type->isFPOrFPVectorTy())) continue;
        unsigned bits = type->getScalarSizeInBits();
        if (type->isIntOrIntVectorTy()) incoming.set(llvm::ConstantInt::get(type, bits % 8 ? llvm::APInt::getAllOnes(bits) : llvm::APInt::getSplat(bits, llvm::APInt(8, 0x5A))));
        else incoming.set(llvm::ConstantFP::getNaN(type));
      }
}

} // namespace

void optimizeDevice(llvm::Module &device, llvm::TargetMachine &target) {
  Analyses analyses(&target);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(pipeline()));
  passes.run(device, analyses.modules);
  for (llvm::Function &function : device) showUnset(function);
}

} // namespace klineage::emulated
