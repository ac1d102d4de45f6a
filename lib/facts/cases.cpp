// Cases: what an expression of the kernel comes to in each launch with each instance of the workload.
#include "facts/facts.h"
#include <algorithm>

namespace klineage {

namespace {

std::string extentKey(const clang::ValueDecl *buffer) {
  return "extent " + buffer->getNameAsString() + "@" + std::to_string(buffer->getLocation().getRawEncoding());
}

size_t instanceCount(const Environment &environment) {
  size_t count = 0;
  for (const auto &argument : environment.arguments) count = std::max(count, argument.values.size());
  return count;
}

/// An expression over the launcher's parameters, with one instance put in.
IndexExpr atInstance(const IndexExpr &expr, const Environment &environment, size_t instance) {
  std::map<std::string, IndexExpr> known;
  for (const AtomRef &atom : expr.atoms()) {
    if (atom->kind != Atom::Parameter || !atom->decl || atom->key.find('.') != std::string::npos) continue;
    const ArgumentFacts *argument = environment.find(atom->decl->getNameAsString());
    if (argument && !argument->isPointer && instance < argument->values.size()) known.emplace(atom->key, argument->values[instance]);
  }
  return expr.substitute(known);
}

Truth holdsAt(const Comparison &comparison, const IndexExpr &difference) {
  auto c = difference.constant();
  if (!c) return Truth::Unknown;
  bool yes = comparison.relation == Comparison::Equal ? *c == 0 : comparison.relation == Comparison::NotEqual ? *c != 0
             : comparison.relation == Comparison::Less ? *c < 0 : *c <= 0;
  return yes ? Truth::Holds : Truth::Violated;
}

/// Thread and block indices and loop variables with the ranges that they have in this case.
IndexExpr withRanges(const IndexExpr &expr, const std::map<std::string, IndexExpr> &known) {
  std::map<std::string, IndexExpr> ranged = known;
  auto lookUp = [&](const AtomRef &atom) -> std::optional<int64_t> {
    auto it = known.find(atom->key);
    return it == known.end() ? std::nullopt : it->second.constant();
  };
  for (const AtomRef &atom : expr.atoms()) {
    std::optional<int64_t> end;
    if (atom->kind == Atom::ThreadIdx) end = lookUp(blockDim(atom->axis));
    if (atom->kind == Atom::BlockIdx) end = lookUp(gridDim(atom->axis));
    if (end && *end > 0) {
      auto made = std::make_shared<Atom>(*atom);
      made->right = *end;
      made->hasRange = true;
      ranged[atom->key] = IndexExpr::of(made);
    }
    if (atom->kind == Atom::LoopVariable && atom->hasRange) {
      auto made = std::make_shared<Atom>(*atom);
      made->left = withRanges(atom->left, known);
      made->right = withRanges(atom->right, known);
      ranged[atom->key] = IndexExpr::of(made);
    }
  }
  return expr.substitute(ranged);
}

} // namespace

IndexExpr elementsOf(const clang::ValueDecl *buffer) { return IndexExpr::of(opaque(nullptr, extentKey(buffer), {})); }

std::string spelledOr(const FactScope &scope, const IndexExpr &expr) {
  auto text = spell(expr, [&](const Atom &atom) -> std::optional<std::string> {
    if (atom.kind != Atom::Opaque) return std::nullopt;
    if (!atom.expr) return atom.key.substr(1, atom.key.find('@') == std::string::npos ? std::string::npos : atom.key.find('@') - 1);
    auto own = scope.kernel.spelled(IndexExpr::of(std::make_shared<Atom>(atom)));
    return own ? *own : std::string("a value that is not known");
  });
  return text ? *text : expr.key();
}

std::vector<Origin> originsOf(const FactScope &scope, const clang::ValueDecl *buffer) {
  std::vector<Origin> origins;
  const auto *function = scope.kernel.function;
  unsigned position = ~0u;
  for (unsigned i = 0; i < function->getNumParams(); ++i)
    if (function->getParamDecl(i) == buffer) position = i;
  for (const Launch &launch : scope.kernel.launches) {
    Origin origin{&launch, "", {}};
    if (position < launch.buffers.size() && launch.buffers[position]) {
      origin.argument = launch.buffers[position]->getNameAsString();
      origin.bytes = launch.values[position];
    }
    origins.push_back(origin);
  }
  return origins;
}

Cases casesOf(const FactScope &scope, const IndexExpr &expr) {
  Cases result;
  const Environment &environment = scope.environment;
  size_t count = instanceCount(environment);
  const auto *function = scope.kernel.function;
  if (scope.kernel.launches.empty() || count == 0) {
    result.why = count == 0 ? "no workload is given" : "no launch of the kernel is known";
    result.cases.push_back({scope.kernel.bound(expr)});
    return result;
  }
  result.symbolic = false;
  for (const Launch &launch : scope.kernel.launches)
    for (size_t instance = 0; instance < count; ++instance) {
      bool happens = true;
      for (const Comparison &comparison : launch.known)
        happens &= holdsAt(comparison, atInstance(comparison.difference, environment, instance)) != Truth::Violated;
      if (!happens) continue;
      std::map<std::string, IndexExpr> known;
      for (unsigned i = 0; i < function->getNumParams() && i < launch.values.size(); ++i) {
        const auto *parm = function->getParamDecl(i);
        if (parm->getType()->isIntegralOrEnumerationType()) {
          IndexExpr value = atInstance(launch.values[i], environment, instance);
          if (value.constant()) known[parameter(parm)->key] = value;
        } else if (parm->getType()->isPointerType() && i < launch.buffers.size() && launch.buffers[i]) {
          const ArgumentFacts *argument = environment.find(launch.buffers[i]->getNameAsString());
          auto skipped = atInstance(launch.values[i], environment, instance).constant();
          auto pointee = parm->getType()->getPointeeType();
          if (!argument || instance >= argument->values.size() || !skipped || pointee->isVoidType() || pointee->isIncompleteType()) continue;
          auto &context = function->getASTContext();
          // The workload counts the launcher's elements, the kernel its own (a float4 is four floats).
          auto launcherType = launch.buffers[i]->getType()->getPointeeType();
          int64_t size = launcherType.isNull() || launcherType->isVoidType() || launcherType->isIncompleteType()
                             ? int64_t(context.getTypeSizeInChars(pointee).getQuantity())
                             : launch.launcher->getASTContext().getTypeSizeInChars(launcherType).getQuantity();
          int64_t own = context.getTypeSizeInChars(pointee).getQuantity();
          known["{" + extentKey(parm) + "}"] = (argument->values[instance] * size - *skipped) / std::max<int64_t>(1, own);
        }
      }
      for (unsigned axis = 0; axis < 3; ++axis) {
        IndexExpr block = atInstance(launch.blockShape[axis], environment, instance), grid = atInstance(launch.gridShape[axis], environment, instance);
        if (block.constant()) known[blockDim(axis)->key] = block;
        if (grid.constant()) known[gridDim(axis)->key] = grid;
      }
      // Not merged when equal: callers compare two expressions case by case.
      result.cases.push_back({withRanges(expr, known)});
    }
  if (result.cases.empty()) {
    result.symbolic = true;
    result.why = "no instance of the workload launches this kernel";
    result.cases.push_back({scope.kernel.bound(expr)});
  }
  return result;
}

std::optional<IndexExpr> numberOf(const FactScope &scope, const Operand &operand) {
  if (operand.kind == Operand::Number) return operand.number;
  if (operand.kind == Operand::Expression && operand.expr->getType()->isIntegralOrEnumerationType()) return scope.kernel.lift(operand.expr);
  if (operand.kind == Operand::Declaration)
    if (auto *parm = llvm::dyn_cast<clang::ParmVarDecl>(operand.decl); parm && parm->getType()->isIntegralOrEnumerationType()) return IndexExpr::of(parameter(parm));
  if (operand.kind == Operand::Verdict && operand.verdict.truth != Truth::Unknown) return IndexExpr(operand.verdict.truth == Truth::Holds ? 1 : 0);
  return std::nullopt;
}

Answer overCases(const FactScope &scope, const Operand &operand, const IndexExpr &expr, const std::function<Truth(const IndexExpr &)> &ask,
                 const std::string &property, const std::string &negation) {
  Cases cases = casesOf(scope, expr);
  std::string label = operand.label.empty() ? spelledOr(scope, expr) : operand.label, values;
  std::set<std::string> seen;
  bool allHold = true;
  std::string undecided;
  for (const Case &one : cases.cases) {
    std::string text = spelledOr(scope, one.value);
    if (seen.insert(text).second && values.size() < 100) values += (values.empty() ? "" : ", ") + text;
    Truth truth = ask(one.value);
    if (truth == Truth::Violated) return violated((values == text || label == text ? label : label + " takes " + values) + ": " + text + " " + negation);
    if (truth == Truth::Unknown) {
      allHold = false;
      if (undecided.empty()) undecided = text;
    }
  }
  if (allHold) return holds(label + (label == values ? "" : (cases.cases.size() > 1 ? " takes " : " is ") + values) + ", which " + property + (seen.size() > 1 ? " each time" : ""));
  return unknown("whether " + undecided + " " + property + " is not decided" + (cases.symbolic ? " (" + cases.why + ")" : ""));
}

} // namespace klineage
