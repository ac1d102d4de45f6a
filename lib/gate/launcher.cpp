#include "gate/launcher.h"
#include "gate/launcher_names.h"
#include "source/unit.h"
#include <deque>

namespace klineage {
namespace {

using namespace clang;
using namespace launcher;

bool below(llvm::StringRef file, llvm::StringRef folder) {
  return !folder.empty() && file.starts_with(folder) && (folder.ends_with("/") || (file.size() > folder.size() && file[folder.size()] == '/'));
}

class LauncherReader : public RecursiveASTVisitor<LauncherReader> {
public:
  LauncherReader(const Unit &unit, const Workload &workload)
      : unit(unit), workload(workload), context(unit.ast(Side::Host)), manager(unit.manager(Side::Host)) {}

  std::optional<LauncherFinding> read() {
    readLoadTime();
    if (finding) return finding;
    if (!entry) {
      find(Reason::LaunchError, SourceLocation(),
           unit.sources().mainFile + ": no launcher named " + workload.entry + " (define it as extern \"C\" and name it in workload.json's entry)");
      return finding;
    }
    checkParameters();
    reach(entry);
    while (!finding && !toRead.empty()) {
      const FunctionDecl *function = toRead.front();
      toRead.pop_front();
      TraverseStmt(function->getBody());
      if (auto *constructor = llvm::dyn_cast<CXXConstructorDecl>(function))
        for (const auto *init : constructor->inits()) TraverseStmt(init->getInit());
    }
    if (!finding && !launches) find(Reason::NoDeviceKernel, entry->getLocation(), "the launcher launches no kernel");
    return finding;
  }

  // ------------------------------------------------------------------ the grammar; each Visit answers false to stop at the first finding

  bool VisitCallExpr(CallExpr *call) {
    const FunctionDecl *callee = call->getDirectCallee();
    if (auto *launch = llvm::dyn_cast<CUDAKernelCallExpr>(call)) return readLaunch(launch, callee);
    if (!callee) return forbid(call->getBeginLoc(), "calls through a pointer");
    return readCall(callee, call);
  }
  bool VisitCXXConstructExpr(CXXConstructExpr *construct) {
    const CXXConstructorDecl *constructor = construct->getConstructor();
    if (constructor->isTrivial() || constructor->isConstexpr() || constructor->isDefaulted()) return true;
    if (isOwn(constructor->getLocation())) return reach(constructor);
    const CXXRecordDecl *record = constructor->getParent();
    if (record->getName() == "dim3" || startsWith(record->getName(), "__half") || startsWith(record->getName(), "__nv_bfloat16")) return true;
    if (isLibrary(record->getName(), outermost(record)))
      return find(Reason::Delegated, construct->getBeginLoc(), "makes a " + record->getQualifiedNameAsString());
    return forbid(construct->getBeginLoc(), "makes a " + record->getQualifiedNameAsString());
  }
  bool VisitCXXNewExpr(CXXNewExpr *expr) { return forbid(expr->getBeginLoc(), "takes memory from the heap"); }
  bool VisitCXXDeleteExpr(CXXDeleteExpr *expr) { return forbid(expr->getBeginLoc(), "gives memory back to the heap"); }
  bool VisitCXXThrowExpr(CXXThrowExpr *expr) { return forbid(expr->getBeginLoc(), "throws an exception"); }
  bool VisitCXXTryStmt(CXXTryStmt *stmt) { return forbid(stmt->getBeginLoc(), "catches exceptions"); }
  bool VisitAsmStmt(AsmStmt *stmt) { return find(Reason::Tampered, stmt->getBeginLoc(), "holds inline assembly in host code"); }
  bool VisitCXXReinterpretCastExpr(CXXReinterpretCastExpr *cast) { return integerIntoPointer(cast); }
  bool VisitCStyleCastExpr(CStyleCastExpr *cast) { return integerIntoPointer(cast); }

  /// State that outlives a call could hold a result, or count calls.
  bool VisitDeclRefExpr(DeclRefExpr *reference) {
    auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    if (!variable || !variable->hasGlobalStorage() || isDeviceVariable(variable)) return true;
    if (variable->getType().isConstQualified() || variable->isConstexpr()) return true;
    return forbid(reference->getLocation(), "keeps state between calls in '" + variable->getNameAsString() + "'");
  }
  bool VisitVarDecl(VarDecl *variable) {
    if (!variable->isStaticLocal() || variable->getType().isConstQualified()) return true;
    return forbid(variable->getLocation(), "keeps state between calls in '" + variable->getNameAsString() + "'");
  }

  /// `&p[i]` computes an address; `p[i]` alone reads memory.
  bool TraverseUnaryOperator(UnaryOperator *op) {
    if (finding) return false;
    const Expr *inside = op->getSubExpr()->IgnoreParens();
    if (op->getOpcode() == UO_AddrOf)
      if (auto *element = llvm::dyn_cast<ArraySubscriptExpr>(inside))
        return TraverseStmt(const_cast<Expr *>(element->getBase())) && TraverseStmt(const_cast<Expr *>(element->getIdx()));
    if (op->getOpcode() == UO_Deref && !isLocalMemory(inside)) return forbid(op->getBeginLoc(), "reads or writes memory through a pointer");
    return RecursiveASTVisitor::TraverseUnaryOperator(op);
  }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *element) {
    return isLocalMemory(element->getBase()) || forbid(element->getBeginLoc(), "reads or writes memory through a pointer");
  }
  bool VisitMemberExpr(MemberExpr *member) {
    if (!member->isArrow() || member->isImplicitAccess() || llvm::isa<CXXThisExpr>(member->getBase()->IgnoreParenImpCasts())) return true;
    return isLocalMemory(member->getBase()) || forbid(member->getBeginLoc(), "reads or writes memory through a pointer");
  }

private:
  bool find(Reason reason, SourceLocation where, const std::string &what) {
    if (!finding) finding = LauncherFinding{reason, where.isValid() ? unit.where(where, Side::Host) + ": " + what : what};
    return false;
  }
  bool forbid(SourceLocation where, const std::string &what) { return find(Reason::ForbiddenSideEffect, where, "the launcher " + what); }

  bool isOwn(SourceLocation where) const {
    llvm::StringRef file = manager.getFilename(manager.getExpansionLoc(where));
    const SourceSet &sources = unit.sources();
    if (file.empty()) return false;
    if (sources.files.count(file.str())) return true;
    auto folder = llvm::StringRef(sources.mainFile).rsplit('/').first;
    if (below(file, folder)) return true;
    for (const auto *folders : {&sources.includeFolders, &sources.rewriteRoots})
      for (const auto &one : *folders)
        if (below(file, one)) return true;
    return false;
  }
  static bool isDeviceVariable(const VarDecl *variable) {
    return variable->hasAttr<CUDADeviceAttr>() || variable->hasAttr<CUDAConstantAttr>() || variable->hasAttr<CUDASharedAttr>();
  }
  static std::string outermost(const Decl *decl) {
    std::string name;
    for (const DeclContext *at = decl->getDeclContext(); at; at = at->getParent())
      if (auto *space = llvm::dyn_cast<NamespaceDecl>(at)) name = space->getNameAsString();
    return name;
  }
  /// An array that is the launcher's own: a local one, or the address of a local.
  static bool isLocalMemory(const Expr *expr) {
    expr = expr->IgnoreParenCasts();
    if (auto *op = llvm::dyn_cast<UnaryOperator>(expr)) return op->getOpcode() == UO_AddrOf;
    if (auto *element = llvm::dyn_cast<ArraySubscriptExpr>(expr)) return element->getType()->isArrayType() && isLocalMemory(element->getBase());
    if (auto *member = llvm::dyn_cast<MemberExpr>(expr)) return member->getType()->isArrayType();
    auto *reference = llvm::dyn_cast<DeclRefExpr>(expr);
    return reference && reference->getDecl()->getType().getNonReferenceType()->isArrayType();
  }
  bool integerIntoPointer(CastExpr *cast) {
    const Expr *from = cast->getSubExpr();
    if (!cast->getType()->isPointerType() || !from->getType()->isIntegralOrEnumerationType()) return true;
    if (from->isNullPointerConstant(context, Expr::NPC_ValueDependentIsNotNull)) return true;
    return forbid(cast->getBeginLoc(), "makes a pointer from an integer");
  }

  bool reach(const FunctionDecl *function) {
    const FunctionDecl *definition = nullptr;
    if (!function->hasBody(definition) || !seen.insert(definition->getCanonicalDecl()).second) return true;
    toRead.push_back(definition);
    return true;
  }

  bool readKernel(const Expr *argument, SourceLocation where) {
    argument = argument->IgnoreParenCasts();
    if (auto *op = llvm::dyn_cast<UnaryOperator>(argument); op && op->getOpcode() == UO_AddrOf) argument = op->getSubExpr()->IgnoreParenCasts();
    auto *reference = llvm::dyn_cast<DeclRefExpr>(argument);
    auto *kernel = reference ? llvm::dyn_cast<FunctionDecl>(reference->getDecl()) : nullptr;
    if (!kernel || !kernel->hasAttr<CUDAGlobalAttr>()) return forbid(where, "launches what cannot be told before it runs");
    return ownKernel(kernel, where);
  }
  bool ownKernel(const FunctionDecl *kernel, SourceLocation where) {
    const FunctionDecl *definition = nullptr;
    if (kernel->hasBody(definition) && isOwn(definition->getLocation())) {
      ++launches;
      return true;
    }
    return find(Reason::Delegated, where, "the launcher launches '" + kernel->getNameAsString() + "', which this version does not define");
  }
  bool readLaunch(CUDAKernelCallExpr *launch, const FunctionDecl *kernel) {
    if (!kernel) return forbid(launch->getBeginLoc(), "launches through a pointer what cannot be told before it runs");
    return ownKernel(kernel, launch->getBeginLoc());
  }

  bool readCall(const FunctionDecl *callee, CallExpr *call) {
    std::string called = callee->getNameAsString();
    SourceLocation where = call->getBeginLoc();
    const FunctionDecl *definition = nullptr;
    if (callee->hasBody(definition) && isOwn(definition->getLocation())) return reach(definition);
    if (isOneOf(called, runtimeCalls)) {
      if (startsWith(called, "cudaLaunch")) return readKernel(call->getArg(called == "cudaLaunchKernelExC" || called == "cudaLaunchKernelEx" ? 1 : 0), where);
      if (startsWith(called, "cudaMemcpy")) return readCopy(call, called);
      return true;
    }
    std::string scope = outermost(callee);
    if (isOneOf(called, tampering) || scope == "chrono" || (scope == "std" && callee->getQualifiedNameAsString().find("chrono") != std::string::npos))
      return find(Reason::Tampered, where, "the launcher calls " + callee->getQualifiedNameAsString());
    if (isOneOf(called, arithmetic) || callee->isConstexpr() || callee->isTrivial() || callee->isDefaulted() || startsWith(called, "__builtin_")) return true;
    if (isLibrary(called, scope)) return find(Reason::Delegated, where, "the launcher calls " + callee->getQualifiedNameAsString());
    if (startsWith(called, "cudaStream") || startsWith(called, "cudaEvent") || startsWith(called, "cudaGraph"))
      return forbid(where, "calls " + called + ": it works on the stream that it is given");
    return forbid(where, "calls " + callee->getQualifiedNameAsString());
  }
  /// Results never travel to the host, where they could be looked at and kept.
  bool readCopy(CallExpr *call, const std::string &called) {
    for (const Expr *argument : call->arguments()) {
      if (!argument->getType()->isEnumeralType() || argument->getType().getAsString().find("cudaMemcpyKind") == std::string::npos) continue;
      Expr::EvalResult kind;
      if (!argument->EvaluateAsInt(kind, context)) return forbid(call->getBeginLoc(), "copies in a direction that cannot be told before it runs");
      int64_t direction = kind.Val.getInt().getExtValue(); // 1: to the device, 3: on the device
      if (direction != 1 && direction != 3) return forbid(call->getBeginLoc(), "copies device memory to the host with " + called);
    }
    return true;
  }

  // ------------------------------------------------------------------ what the version's own files do beside the launcher

  void readLoadTime() { readScope(context.getTranslationUnitDecl()); }
  void readScope(const DeclContext *scope) {
    for (const Decl *decl : scope->noload_decls()) {
      if (finding) return;
      if (decl->isFromASTFile() && !llvm::isa<LinkageSpecDecl, NamespaceDecl>(decl)) continue;
      if (!isOwn(decl->getLocation())) continue;
      if (llvm::isa<FileScopeAsmDecl>(decl)) find(Reason::Tampered, decl->getLocation(), "assembly at file scope");
      else if (auto *inner = llvm::dyn_cast<LinkageSpecDecl>(decl)) readScope(inner);
      else if (auto *space = llvm::dyn_cast<NamespaceDecl>(decl)) readScope(space);
      else if (auto *function = llvm::dyn_cast<FunctionDecl>(decl)) readFunction(function);
      else if (auto *variable = llvm::dyn_cast<VarDecl>(decl)) readVariable(variable);
    }
  }
  void readFunction(const FunctionDecl *function) {
    SourceLocation where = function->getLocation();
    std::string called = function->getNameAsString();
    if (function->hasAttr<ConstructorAttr>() || function->hasAttr<DestructorAttr>()) find(Reason::Tampered, where, "'" + called + "' runs at load time");
    if (function->hasAttr<AliasAttr>() || function->hasAttr<IFuncAttr>() || (function->hasAttr<AsmLabelAttr>() && function->doesThisDeclarationHaveABody()))
      find(Reason::Tampered, where, "'" + called + "' takes another symbol's name");
    if (!function->doesThisDeclarationHaveABody()) return;
    if (called == workload.entry && function->isExternC()) entry = function;
    else if (function->isExternC() && isReservedSymbol(called)) find(Reason::Tampered, where, "defines '" + called + "', which is not the version's to define");
  }
  void readVariable(const VarDecl *variable) {
    if (isDeviceVariable(variable) || !variable->getInit() || variable->getType()->isDependentType()) return;
    if (!variable->getInit()->isConstantInitializer(const_cast<ASTContext &>(context), variable->getType()->isReferenceType()))
      find(Reason::ForbiddenSideEffect, variable->getLocation(), "'" + variable->getNameAsString() + "' is initialized by code that runs at load time");
  }

  void checkParameters() {
    size_t given = workload.arguments.size(), taken = entry->getNumParams();
    if (taken != given && taken != given + 1) {
      find(Reason::LaunchError, entry->getLocation(),
           workload.entry + " takes " + std::to_string(taken) + " parameters, but the workload has " + std::to_string(given) + " arguments and a stream");
      return;
    }
    for (size_t i = 0; i < given && !finding; ++i) {
      const Argument &argument = workload.arguments[i];
      QualType type = entry->getParamDecl(i)->getType();
      bool pointer = type->isPointerType(), scalar = argument.kind == ArgumentKind::Scalar;
      QualType element = pointer ? type->getPointeeType() : type;
      bool sized = !element->isVoidType() && !element->isIncompleteType();
      bool fits = pointer != scalar && (!sized || scalar == false || context.getTypeSizeInChars(element).getQuantity() == int64_t(sizeOf(argument.type)));
      if (!fits)
        find(Reason::LaunchError, entry->getParamDecl(i)->getLocation(),
             "parameter " + std::to_string(i + 1) + " is '" + type.getAsString() + "', but the workload's " + argument.name + " is " +
                 (scalar ? "a scalar " : "a buffer of ") + name(argument.type));
    }
  }

  const Unit &unit;
  const Workload &workload;
  ASTContext &context;
  const SourceManager &manager;
  const FunctionDecl *entry = nullptr;
  std::set<const FunctionDecl *> seen;
  std::deque<const FunctionDecl *> toRead;
  unsigned launches = 0;
  std::optional<LauncherFinding> finding;
};

} // namespace

std::optional<LauncherFinding> checkLauncher(const Unit &unit, const Workload &workload) { return LauncherReader(unit, workload).read(); }

} // namespace klineage
