#include "source/front_end.h"
#include "source/view_alignment.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/MultiplexConsumer.h"

namespace klineage {
namespace {

class ViewConsumer : public clang::ASTConsumer {
public:
  explicit ViewConsumer(clang::ASTContext &context) : context(context) {}
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl *declaration : group) alignViewsByTheirType(declaration, context);
    return true;
  }

private:
  clang::ASTContext &context;
};

/// Device code is what a GPU runs, so its wide accesses are as wide as nvcc makes them.
class EmitDeviceCode : public clang::EmitLLVMOnlyAction {
public:
  using EmitLLVMOnlyAction::EmitLLVMOnlyAction;

protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler, llvm::StringRef file) override {
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(std::make_unique<ViewConsumer>(compiler.getASTContext())); // before the one that emits
    consumers.push_back(EmitLLVMOnlyAction::CreateASTConsumer(compiler, file));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }
};

} // namespace

Result<std::unique_ptr<llvm::Module>> emitIR(const SourceSet &sources, Side side, llvm::LLVMContext &context, const FrontEndOptions &options) {
  auto prepared = prepareCompiler(sources, side, options);
  if (!prepared) return prepared.error();
  std::unique_ptr<clang::CodeGenAction> action;
  if (side == Side::Device) action = std::make_unique<EmitDeviceCode>(&context);
  else action = std::make_unique<clang::EmitLLVMOnlyAction>(&context);
  bool good = prepared->compiler->ExecuteAction(*action);
  if (prepared->forgetUnusablePreamble()) return emitIR(sources, side, context, options);
  if (auto error = prepared->diagnostics->firstError()) return *error;
  auto module = action->takeModule();
  if (!good || !module) return ourFault("Clang emitted no code and gave no reason");
  return module;
}

} // namespace klineage
