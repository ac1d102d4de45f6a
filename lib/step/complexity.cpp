// The complexity measure: how much of the machine a reader must know to read a version (docs/decisions/complexity.md).
#include "step/engine.h"

namespace klineage {
namespace {

// What one occurrence weighs. A simplification may write more plain statements than it removes; it may not leave more machine in the code.
enum Weight { Statement = 1, LoopWeight = 2, LocalArray = 4, Hint = 4, SharedArray = 8, BarrierWeight = 8, MachineCall = 8, VectorAccess = 16, WarpCall = 32 };

/// Sums the weights over everything the version itself defines, on the device side.
class Weigher : public clang::RecursiveASTVisitor<Weigher> {
public:
  explicit Weigher(const Unit &unit) : unit(unit), sources(unit.manager(Side::Device)) {}
  int total = 0;

  bool shouldVisitTemplateInstantiations() const { return false; }

  bool VisitStmt(clang::Stmt *stmt) {
    if (!llvm::isa<clang::Expr>(stmt) && !llvm::isa<clang::CompoundStmt>(stmt)) total += Statement;
    if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(stmt)) total += LoopWeight;
    if (auto *expression = llvm::dyn_cast<clang::Expr>(stmt))
      if (auto *parent = expression; llvm::isa<clang::CallExpr, clang::BinaryOperator, clang::CompoundAssignOperator>(parent)) countAssignment(parent);
    if (auto *attributed = llvm::dyn_cast<clang::AttributedStmt>(stmt)) total += Hint * static_cast<int>(attributed->getAttrs().size());
    return true;
  }
  bool VisitExplicitCastExpr(clang::ExplicitCastExpr *cast) {
    if (auto pointee = cast->getType()->getPointeeType(); !pointee.isNull() && pointee->isRecordType()) total += VectorAccess;
    return true;
  }
  bool VisitCallExpr(clang::CallExpr *call) {
    auto *callee = call->getDirectCallee();
    if (!callee || !callee->getIdentifier() || isOwn(callee->getLocation())) return true;
    llvm::StringRef name = callee->getIdentifier() ? callee->getName() : llvm::StringRef();
    if (name.starts_with("__sync") || name.contains("barrier")) total += BarrierWeight;
    else if (name.starts_with("__shfl") || name.starts_with("__reduce_") || name.starts_with("__match") || name.contains("ballot") || name.contains("pipeline")) total += WarpCall;
    else if (name.starts_with("__fetch_builtin")) total += Statement; // threadIdx.x and its like, which every kernel reads
    else if (name.starts_with("__")) total += MachineCall;
    else total += Statement; // a mathematical function
    return true;
  }
  bool VisitConditionalOperator(clang::ConditionalOperator *) {
    total += Statement;
    return true;
  }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt *) {
    total += WarpCall;
    return true;
  }
  bool VisitVarDecl(clang::VarDecl *variable) {
    if (variable->hasAttr<clang::CUDASharedAttr>()) total += SharedArray + (hasOddRows(variable->getType()) ? Hint : 0);
    else if (variable->isLocalVarDecl() && variable->getType()->isArrayType()) total += LocalArray;
    if (variable->getType().isRestrictQualified()) total += 1;
    return true;
  }
  bool VisitFunctionDecl(clang::FunctionDecl *function) {
    if (function->hasAttr<clang::CUDALaunchBoundsAttr>()) total += Hint;
    return true;
  }
  bool isOwn(clang::SourceLocation location) const {
    auto id = sources.getFileID(sources.getExpansionLoc(location));
    auto entry = sources.getFileEntryRefForID(id);
    return entry && unit.sources().files.count(entry->getName().str());
  }

private:
  /// Rows of a length that is no power of two, or is a sum, ask the reader to think of banks.
  static bool hasOddRows(clang::QualType type) {
    const clang::ArrayType *inner = nullptr;
    unsigned dimensions = 0;
    for (; type->isArrayType(); type = inner->getElementType()) inner = type->getAsArrayTypeUnsafe(), ++dimensions;
    if (dimensions < 2) return false;
    if (auto *known = llvm::dyn_cast<clang::ConstantArrayType>(inner)) return !known->getSize().isPowerOf2();
    auto *dependent = llvm::dyn_cast<clang::DependentSizedArrayType>(inner);
    return dependent && dependent->getSizeExpr() && llvm::isa<clang::BinaryOperator>(dependent->getSizeExpr()->IgnoreParenImpCasts());
  }
  void countAssignment(const clang::Expr *expression) {
    if (auto *binary = llvm::dyn_cast<clang::BinaryOperator>(expression))
      if (binary->isAssignmentOp()) total += Statement;
  }
  const Unit &unit;
  const clang::SourceManager &sources;
};

} // namespace

int complexity(const LoadedVersion &version) {
  const Unit &unit = version.view().unit;
  Weigher weigher(unit);
  for (auto *decl : unit.ast(Side::Device).getTranslationUnitDecl()->noload_decls())
    if (!decl->isFromASTFile() && weigher.isOwn(decl->getLocation())) weigher.TraverseDecl(decl);
  return weigher.total;
}

} // namespace klineage
