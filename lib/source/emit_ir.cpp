#include "source/front_end.h"
#include "clang/CodeGen/CodeGenAction.h"

namespace klineage {

Result<std::unique_ptr<llvm::Module>> emitIR(const SourceSet &sources, Side side, llvm::LLVMContext &context, const FrontEndOptions &options) {
  auto prepared = prepareCompiler(sources, side, options);
  if (!prepared) return prepared.error();
  clang::EmitLLVMOnlyAction action(&context);
  bool good = prepared->compiler->ExecuteAction(action);
  if (prepared->forgetUnusablePreamble()) return emitIR(sources, side, context, options);
  if (auto error = prepared->diagnostics->firstError()) return *error;
  auto module = action.takeModule();
  if (!good || !module) return ourFault("Clang emitted no code and gave no reason");
  return module;
}

} // namespace klineage
