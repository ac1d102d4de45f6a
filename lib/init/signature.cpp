#include "init/signature.h"
#include "workload/located_json.h"
#include <algorithm>

namespace klineage {
namespace {

using namespace clang;

/// Everything callable that the sources themselves define, in file order, and which kernels each function launches.
class Callables : public RecursiveASTVisitor<Callables> {
public:
  explicit Callables(const Unit &unit) : manager(unit.manager(Side::Host)) { TraverseDecl(unit.ast(Side::Host).getTranslationUnitDecl()); }

  bool shouldVisitTemplateInstantiations() const { return true; }
  bool VisitFunctionDecl(FunctionDecl *function) {
    if (!function->isThisDeclarationADefinition() || manager.isInSystemHeader(function->getLocation())) return true;
    if (function->hasAttr<CUDAGlobalAttr>()) {
      if (!function->isTemplateInstantiation()) kernels.push_back(function);
    } else if (function->isExternC() && !function->hasAttr<CUDADeviceAttr>()) {
      launchers.push_back(function);
    }
    return true;
  }

  std::vector<FunctionDecl *> kernels, launchers;

private:
  const SourceManager &manager;
};

class Launches : public RecursiveASTVisitor<Launches> {
public:
  explicit Launches(const FunctionDecl *launcher) { TraverseStmt(launcher->getBody()); }
  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr *call) {
    if (const FunctionDecl *callee = call->getDirectCallee()) kernels.push_back(callee);
    return true;
  }
  std::vector<const FunctionDecl *> kernels;
};

/// The function that a reader sees: a template's pattern for an instantiation, else the definition.
const FunctionDecl *asWritten(const FunctionDecl *function) {
  if (const FunctionDecl *pattern = function->getTemplateInstantiationPattern()) function = pattern;
  const FunctionDecl *definition = function->getDefinition();
  return (definition ? definition : function)->getCanonicalDecl();
}

bool launches(const FunctionDecl *launcher, const FunctionDecl *kernel) {
  for (const FunctionDecl *called : Launches(launcher).kernels)
    if (asWritten(called) == asWritten(kernel)) return true;
  return false;
}

bool isStream(QualType type) {
  const auto *pointer = type.getCanonicalType()->getAs<PointerType>();
  const auto *record = pointer ? pointer->getPointeeType()->getAsRecordDecl() : nullptr;
  return record && record->getName() == "CUstream_st";
}

std::optional<ElementType> builtinType(QualType type) {
  const auto *builtin = type.getCanonicalType()->getAs<BuiltinType>();
  if (!builtin) return std::nullopt;
  switch (builtin->getKind()) {
  case BuiltinType::Float: return ElementType::F32;
  case BuiltinType::Double: return ElementType::F64;
  case BuiltinType::Char_S: case BuiltinType::SChar: return ElementType::I8;
  case BuiltinType::Bool: case BuiltinType::Char_U: case BuiltinType::UChar: return ElementType::U8;
  case BuiltinType::Int: return ElementType::I32;
  case BuiltinType::UInt: return ElementType::U32;
  case BuiltinType::Long: case BuiltinType::LongLong: return ElementType::I64;
  case BuiltinType::ULong: case BuiltinType::ULongLong: return ElementType::U64;
  default: return std::nullopt;
  }
}

/// The element and how many of it one object holds: float4 is four f32. CUDA's vector types and 16-bit floats are records.
std::optional<std::pair<ElementType, unsigned>> elementOf(QualType type) {
  if (auto builtin = builtinType(type)) return std::pair(*builtin, 1u);
  const auto *record = type.getCanonicalType()->getAsCXXRecordDecl();
  if (!record) return std::nullopt;
  llvm::StringRef name = record->getName();
  if (name == "__half") return std::pair(ElementType::F16, 1u);
  if (name == "__half2") return std::pair(ElementType::F16, 2u);
  if (name == "__nv_bfloat16") return std::pair(ElementType::BF16, 1u);
  if (name == "__nv_bfloat162") return std::pair(ElementType::BF16, 2u);
  // x, y, z, w of one built-in type and nothing else.
  std::optional<ElementType> common;
  unsigned fields = 0;
  if (!record->hasDefinition()) return std::nullopt;
  for (const FieldDecl *field : record->fields()) {
    auto element = builtinType(field->getType());
    static const char *const names[] = {"x", "y", "z", "w"};
    if (!element || fields == 4 || field->getName() != names[fields] || (common && *common != *element)) return std::nullopt;
    common = element;
    ++fields;
  }
  if (!common) return std::nullopt;
  return std::pair(*common, fields);
}

Result<SignatureParameter> readParameter(const Unit &unit, const ParmVarDecl *decl) {
  SignatureParameter made;
  made.decl = decl;
  made.name = decl->getNameAsString();
  std::string where = unit.where(decl->getLocation(), Side::Host);
  if (made.name.empty()) return userError("a parameter has no name", where, "name it: a workload refers to its arguments by name");
  QualType type = decl->getType();
  made.spelling = type.getUnqualifiedType().getAsString(unit.ast(Side::Host).getPrintingPolicy());
  std::string cannot = "a workload cannot describe the parameter \"" + made.name + "\" of type " + made.spelling;
  if (const auto *pointer = type.getCanonicalType()->getAs<PointerType>()) {
    made.pointer = true;
    QualType pointee = pointer->getPointeeType();
    made.constant = pointee.isConstQualified();
    auto element = elementOf(pointee.getUnqualifiedType());
    if (!element)
      return userError(cannot, where, "write a launcher whose pointers are to float, double, __half, __nv_bfloat16, integers or their vectors");
    made.type = element->first;
    made.vectorWidth = element->second;
    return made;
  }
  auto element = elementOf(type.getUnqualifiedType());
  if (!element || element->second != 1)
    return userError(cannot, where, "write a launcher that takes plain numbers and pointers, and builds it");
  if (element->first == ElementType::F16 || element->first == ElementType::BF16)
    return userError(cannot, where, "let the launcher take a float and convert it");
  made.type = element->first;
  return made;
}

std::string names(const std::vector<FunctionDecl *> &functions) {
  std::string text;
  for (const FunctionDecl *function : functions) {
    std::string name = function->getNameAsString();
    if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

Error notFound(const Unit &unit, const std::string &name, const Callables &callables) {
  std::vector<std::string> words;
  for (const auto *list : {&callables.launchers, &callables.kernels})
    for (const FunctionDecl *function : *list) words.push_back(function->getNameAsString());
  if (words.empty())
    return userError("the file defines no __global__ function and no extern \"C\" launcher", unit.sources().mainFile, "name a file that holds a kernel");
  std::string near = name.empty() ? "" : nearestWord(name, words);
  std::string mend = near.empty() ? "" : "did you mean " + near + "? ";
  mend += "kernels: " + (callables.kernels.empty() ? "none" : names(callables.kernels));
  mend += "; launchers: " + (callables.launchers.empty() ? "none" : names(callables.launchers));
  if (name.empty()) return userError("the file holds several kernels or launchers and none is named", unit.sources().mainFile, "add --kernel NAME; " + mend);
  return userError("there is no kernel or launcher \"" + name + "\"", unit.sources().mainFile, mend);
}

/// The entry of a kernel without a launcher: its name without "_kernel", or with "_launch", whichever is free.
std::string entryFor(const Unit &unit, const FunctionDecl *kernel) {
  std::string name = kernel->getNameAsString();
  const std::string suffix = "_kernel";
  if (name.size() > suffix.size() && name.ends_with(suffix)) {
    std::string shorter = name.substr(0, name.size() - suffix.size());
    ASTContext &context = unit.ast(Side::Host);
    if (context.getTranslationUnitDecl()->lookup(&context.Idents.get(shorter)).empty()) return shorter;
  }
  return name + "_launch";
}

} // namespace

Result<Signature> readSignature(const Unit &unit, const std::string &asked) {
  Callables callables(unit);
  Signature made;
  // Nothing asked: the only launcher, else the only kernel.
  std::string name = asked;
  if (name.empty() && callables.launchers.size() == 1) name = callables.launchers[0]->getNameAsString();
  else if (name.empty() && callables.launchers.empty() && callables.kernels.size() == 1) name = callables.kernels[0]->getNameAsString();
  for (FunctionDecl *launcher : callables.launchers)
    if (launcher->getNameAsString() == name) made.launcher = launcher;
  if (!made.launcher) {
    std::vector<FunctionDecl *> kernels;
    for (FunctionDecl *kernel : callables.kernels)
      if (kernel->getNameAsString() == name || kernel->getQualifiedNameAsString() == name) kernels.push_back(kernel);
    if (kernels.empty()) return notFound(unit, name, callables);
    std::string where = unit.where(kernels[0]->getLocation(), Side::Host);
    if (kernels.size() > 1)
      return userError("there are " + std::to_string(kernels.size()) + " kernels called \"" + name + "\"", where, "name the extern \"C\" launcher of the one you mean");
    std::vector<FunctionDecl *> callers;
    for (FunctionDecl *launcher : callables.launchers)
      if (launches(launcher, kernels[0])) callers.push_back(launcher);
    if (callers.size() > 1) return userError("several launchers launch \"" + name + "\"", where, "name one of them: " + names(callers));
    if (callers.size() == 1) made.launcher = callers[0];
    else if (kernels[0]->isTemplated())
      return userError("\"" + name + "\" is a template that no extern \"C\" launcher launches", where,
                       "write one: it says which instantiation is meant");
    made.kernel = kernels[0];
  }
  if (made.launcher && !made.kernel) {
    auto launched = Launches(made.launcher).kernels;
    if (!launched.empty()) made.kernel = launched[0];
  }

  const FunctionDecl *called = made.launcher ? made.launcher : made.kernel;
  made.entry = made.launcher ? made.launcher->getNameAsString() : entryFor(unit, made.kernel);
  std::string where = unit.where(called->getLocation(), Side::Host);
  unsigned count = called->getNumParams();
  if (made.launcher) {
    if (count == 0 || !isStream(called->getParamDecl(count - 1)->getType()))
      return userError("the launcher \"" + made.entry + "\" does not end in a cudaStream_t", where, "add one as its last parameter and launch on it");
    --count;
    if (!called->getReturnType()->isVoidType())
      return userError("the launcher \"" + made.entry + "\" returns a value", where, "let it return void; launch errors are seen by the gate");
  }
  for (unsigned i = 0; i < count; ++i) {
    auto parameter = readParameter(unit, called->getParamDecl(i));
    if (!parameter) return parameter.error();
    made.parameters.push_back(std::move(*parameter));
  }
  if (std::none_of(made.parameters.begin(), made.parameters.end(), [](const auto &p) { return p.pointer && !p.constant; }))
    return userError("\"" + called->getNameAsString() + "\" takes no pointer that it could write through", where, "a kernel without an output cannot be checked");
  return made;
}

} // namespace klineage
