// KernelInstrumenter: turns one optimized kernel into its entry `void (kl_thread *, void **)` with all hooks in place.
#pragma once
#include "device/emulated/hooks.h"
#include "device/emulated/loop_keys.h"
#include "device/emulated/module_tables.h"
#include "support/result.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/UniformityAnalysis.h"

namespace klineage::emulated {

class KernelInstrumenter {
public:
  KernelInstrumenter(llvm::Function &kernel, llvm::FunctionAnalysisManager &analyses, ModuleTables &tables)
      : kernel(kernel), analyses(analyses), tables(tables), module(*kernel.getParent()), context(kernel.getContext()) {}

  Status run();

private:
  enum class BackEdge { Counted, Spins, Unknown };
  struct Loop {
    llvm::BasicBlock *latch;
    BackEdge kind;
  };

  // Analyses first: they read the kernel as the optimizer left it.
  void classifyLoops();
  void collectDivergence();
  // Then the rewriting.
  void makeEntry();
  Status layOutShared();
  Status replaceRegisters();
  void instrumentAccesses();
  Status replaceAtomics();
  void replaceHooks();
  void replaceHook(llvm::CallInst &call, const HookInfo &hook);
  void instrumentBranches();
  void countBlocks();
  void guardBackEdges();

  llvm::Value *registerValue(llvm::CallInst &call, llvm::StringRef name);
  llvm::Value *field(size_t offset, llvm::Type *type);
  llvm::Value *keyAt(const llvm::Instruction &instruction) const { return keys->at(instruction.getParent()); }
  unsigned site(const llvm::Instruction &at, kl_site_kind kind, unsigned bytes, const llvm::Value *pointer, unsigned flags);
  void keepInsideVariable(unsigned site, const llvm::Value *pointer);
  llvm::CallInst *callRuntime(llvm::IRBuilder<> &builder, const std::string &name, llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments);
  llvm::Value *generic(llvm::IRBuilder<> &builder, llvm::Value *pointer);

  llvm::Function &kernel;
  llvm::FunctionAnalysisManager &analyses;
  ModuleTables &tables;
  llvm::Module &module;
  llvm::LLVMContext &context;
  std::unique_ptr<LoopKeys> keys;
  std::vector<Loop> loops;
  std::vector<llvm::Instruction *> divergentBranches;
  llvm::DenseSet<const llvm::Value *> uniformPointers;
  std::vector<llvm::Instruction *> accesses; ///< Ordinary loads and stores that are not provably private.
  llvm::SmallPtrSet<const llvm::Instruction *, 4> parameterCopies; ///< Of structs passed by value, out of the launch's own arguments: no access of the kernel.
  llvm::Function *entry = nullptr;
  llvm::Value *self = nullptr;
  llvm::Instruction *entryPoint = nullptr; ///< Registers are read before it.
  std::map<size_t, llvm::Value *> fields;
  std::map<const llvm::Value *, std::pair<unsigned, unsigned>> sharedVariables; ///< Static ones, by their address: first byte and end in the block's shared memory.
  ModuleTables::Kernel info;
};

} // namespace klineage::emulated
