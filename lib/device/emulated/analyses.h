// Inside the emulated device: LLVM's analysis managers, made and joined once for the passes over a module.
#pragma once
#include "llvm/Passes/PassBuilder.h"

namespace klineage::emulated {

struct Analyses {
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;

  explicit Analyses(llvm::TargetMachine *target = nullptr) : builder(target) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
  }
};

} // namespace klineage::emulated
