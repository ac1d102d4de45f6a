#include "step/online.h"
#include "step/block_a_row.h"
#include "step/guarded_row.h"
#include "step/reduction_totals.h"
#include "step/source_text.h"
#include "step/statements.h"
#include <algorithm>
#include <cmath>

namespace klineage {
using namespace clang;

namespace {

const Stmt *bare(const Stmt *stmt) {
  while (const auto *attributed = dyn_cast_or_null<AttributedStmt>(stmt)) stmt = attributed->getSubStmt();
  return stmt;
}

std::vector<const Stmt *> listOf(const Stmt *stmt) {
  if (const auto *body = dyn_cast_or_null<CompoundStmt>(stmt)) return {body->body_begin(), body->body_end()};
  return stmt ? std::vector<const Stmt *>{stmt} : std::vector<const Stmt *>{};
}

/// What a loop changes outside itself: variables, and whether it stores to memory or an outer array.
struct Effects {
  std::set<const VarDecl *> carried;
  bool stores = false;
};
Effects effectsOf(const Stmt *loop) {
  Effects effects;
  std::set<const VarDecl *> inside;
  walk(loop, [&](const Stmt *stmt) {
    if (const auto *decls = dyn_cast<DeclStmt>(stmt))
      for (const Decl *decl : decls->decls())
        if (const auto *variable = dyn_cast<VarDecl>(decl)) inside.insert(variable);
    return true;
  });
  walk(loop, [&](const Stmt *stmt) {
    const Expr *target = assignedBy(stmt);
    if (!target) return true;
    const Expr *base = target->IgnoreParenImpCasts();
    bool element = false;
    for (;;) {
      if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(base)) { base = subscript->getBase()->IgnoreParenImpCasts(); element = true; }
      else if (const auto *member = dyn_cast<MemberExpr>(base)) base = member->getBase()->IgnoreParenImpCasts();
      else break;
    }
    const VarDecl *variable = variableNamedBy(base);
    if (!variable || (element && !inside.count(variable))) effects.stores = true;
    else if (!inside.count(variable)) effects.carried.insert(variable);
    return true;
  });
  return effects;
}

bool isExponential(const std::string &name) { return name == "expf" || name == "__expf" || name == "exp" || name == "exp2f" || name == "exp2"; }
bool baseTwo(const std::string &name) { return name.compare(0, 4, "exp2") == 0; }

/// exp(a - b): the call's name, a and b.
struct Exponential {
  std::string name;
  const Expr *element = nullptr, *relative = nullptr;
};
std::optional<Exponential> exponential(const Stmt *stmt) {
  const auto *call = dyn_cast<CallExpr>(stmt);
  if (!call || call->getNumArgs() != 1 || !isExponential(calleeName(call))) return std::nullopt;
  const auto *difference = dyn_cast<BinaryOperator>(call->getArg(0)->IgnoreParenImpCasts());
  if (!difference || difference->getOpcode() != BO_Sub) return std::nullopt;
  return Exponential{calleeName(call), difference->getLHS(), difference->getRHS()};
}

bool close(double a, double b) {
  return a == b || (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)));
}

/// One key for each element that a load reads, whatever the counter of its loop is called.
Lockstep::MemoryKey keysFor(const KernelModel &kernel, const Loop *loop) {
  return [&kernel, loop](const Expr *load) {
    for (const Access &access : kernel.accesses)
      if (access.expr->IgnoreParens() == load && access.exact && access.buffer) {
        IndexExpr index = loop ? access.index.substitute(loopVariable(loop->variable), IndexExpr::of(threadIdx(2))) : access.index;
        return std::to_string(reinterpret_cast<uintptr_t>(access.buffer)) + ":" + index.key();
      }
    return std::to_string(reinterpret_cast<uintptr_t>(load));
  };
}

const char *larger(QualType type) { return type->isSpecificBuiltinType(BuiltinType::Float) ? "fmaxf" : "fmax"; }

/// One loop that carries the pair; the innermost one of its nest does the work.
class OnlineLoop {
public:
  OnlineLoop(const Unit &unit, const KernelModel &kernel, const Stmt *statement) : unit(unit), kernel(kernel), statement(statement) {}

  bool recognize() {
    const auto *loop = dyn_cast<ForStmt>(bare(statement));
    if (!loop) return false;
    Effects effects = effectsOf(loop->getBody());
    if (effects.carried.size() != 2 || effects.stores) return false;
    for (const VarDecl *one : effects.carried)
      if (!one->getType()->isRealFloatingType()) return false;
    auto first = effects.carried.begin(), second = std::next(first);
    for (inner = loop;;) {
      nest.push_back(inner);
      const ForStmt *deeper = nullptr;
      for (const Stmt *child : listOf(inner->getBody()))
        if (const auto *nested = dyn_cast<ForStmt>(bare(child)); nested && effectsOf(nested->getBody()).carried == effects.carried) deeper = nested;
      if (!deeper) break;
      inner = deeper;
    }
    return explains(*first, *second) || explains(*second, *first);
  }

  const VarDecl *maximum = nullptr, *sum = nullptr;

  /// The loop with only the maximum (or the sum) taken in it; a refusal when the elements cannot be had without the pair.
  Result<std::string> pass(bool takesMaximum) const { return nestText(statement, takesMaximum); }

private:
  const Unit &unit;
  const KernelModel &kernel;
  const Stmt *statement;
  const ForStmt *inner = nullptr;
  std::vector<const ForStmt *> nest;
  std::vector<const Expr *> elements;
  std::set<const VarDecl *> dependent; // on the pair
  std::string function;

  /// What an element is read from: a local that only names it is looked through.
  const Expr *source(const Expr *element) const {
    const VarDecl *variable = variableNamedBy(element);
    if (!variable || !variable->getInit() || variable->getType()->isArrayType()) return element;
    const Stmt *declaration = nullptr;
    bool written = false;
    for (const Stmt *child : listOf(inner->getBody()))
      if (const auto *decls = dyn_cast<DeclStmt>(child); decls && decls->isSingleDecl() && decls->getSingleDecl() == variable) declaration = child;
    walk(inner->getBody(), [&](const Stmt *stmt) {
      if (const Expr *target = assignedBy(stmt)) written = written || variableNamedBy(target) == variable;
      return true;
    });
    return declaration && !written ? variable->getInit() : element;
  }

  bool mentionsPair(const Stmt *stmt) const {
    return std::any_of(dependent.begin(), dependent.end(), [&](const VarDecl *variable) { return !referencesTo(stmt, variable).empty(); });
  }

  bool explains(const VarDecl *m, const VarDecl *s) {
    dependent = {m, s};
    for (bool grown = true; grown;) {
      grown = false;
      walk(inner->getBody(), [&](const Stmt *stmt) {
        if (const auto *decls = dyn_cast<DeclStmt>(stmt))
          for (const Decl *decl : decls->decls())
            if (const auto *variable = dyn_cast<VarDecl>(decl); variable && variable->getInit() && mentionsPair(variable->getInit())) grown |= dependent.insert(variable).second;
        if (const auto *op = dyn_cast<BinaryOperator>(stmt); op && op->isAssignmentOp() && mentionsPair(op->getRHS()))
          if (const VarDecl *variable = variableNamedBy(op->getLHS())) grown |= dependent.insert(variable).second;
        return true;
      });
    }
    elements.clear();
    std::set<std::string> texts;
    walk(inner->getBody(), [&](const Stmt *stmt) {
      if (auto found = exponential(stmt); found && !mentionsPair(found->element)) {
        function = found->name;
        if (texts.insert(unit.text(found->element)).second) elements.push_back(found->element);
      }
      return true;
    });
    if (elements.empty()) return false;
    BlockShape shape;
    shape.extent = {32, 1, 1};
    Trial trial(unit.ast(Side::Device), shape, Trial::few);
    if (!pairIn(trial, m, s)) return false;
    if (trial.seenOneWay()) { // more samples may answer the other way
      trial = Trial(unit.ast(Side::Device), shape, Trial::many);
      if (!pairIn(trial, m, s) || trial.seenOneWay()) return false;
    }
    maximum = m;
    sum = s;
    return true;
  }

  /// Every run of the body leaves the larger maximum, and the sum that belongs to it.
  bool pairIn(Trial &trial, const VarDecl *m, const VarDecl *s) const {
    for (Lockstep &run : trial.sides) {
      run.setMemory(keysFor(kernel, kernel.loopFor(inner)));
      auto before = [&](const VarDecl *variable) { auto values = run.variable(variable); return values ? *values : Samples(); };
      // The pair enters as inputs: it is read once before the body runs.
      Samples m0 = run.taken(m), s0 = run.taken(s);
      for (const Stmt *child : listOf(inner->getBody()))
        if (!run.run(child)) return false;
      Samples m1 = before(m), s1 = before(s);
      if (m1.empty() || s1.empty()) return false;
      std::vector<Samples> values;
      for (const Expr *element : elements) {
        auto value = run.value(element);
        if (!value) return false;
        values.push_back(*value);
      }
      for (size_t t = 0; t < run.threads(); ++t) {
        double top = m0[t].number(), total = 0;
        auto raised = [&](double x) { return baseTwo(function) ? std::exp2(x) : std::exp(x); };
        for (const Samples &value : values) {
          if (value[t].kind != Sample::Real) return false;
          top = std::max(top, value[t].real);
        }
        for (const Samples &value : values) total += raised(value[t].real - top);
        total += s0[t].number() * raised(m0[t].number() - top);
        if (m1[t].kind != Sample::Real || s1[t].kind != Sample::Real || m1[t].real != top || !close(s1[t].real, total)) return false;
      }
    }
    return true;
  }

  Result<std::string> nestText(const Stmt *stmt, bool takesMaximum) const {
    const auto *loop = cast<ForStmt>(bare(stmt));
    auto whole = wholeStatement(unit, stmt);
    auto body = unit.place(loop->getBody());
    if (!whole) return whole.error();
    if (!body) return body.error();
    Unit::Place head = *whole;
    head.length = body->offset - whole->offset;
    std::string text = textAt(unit, head) + "{\n";
    std::set<const VarDecl *> needed;
    auto need = [&](const Stmt *from) {
      walk(from, [&](const Stmt *part) {
        if (const auto *ref = dyn_cast<DeclRefExpr>(part))
          if (const auto *variable = dyn_cast<VarDecl>(ref->getDecl())) needed.insert(variable);
        return true;
      });
    };
    for (const Expr *element : elements) need(source(element));
    std::vector<const Stmt *> statements = listOf(loop->getBody());
    std::set<const Stmt *> kept;
    for (size_t i = statements.size(); i-- > 0;) { // backward slice
      const Stmt *child = statements[i];
      const auto *nested = dyn_cast<ForStmt>(bare(child));
      if (nested && std::find(nest.begin(), nest.end(), nested) != nest.end()) { need(child); continue; }
      bool makes = false;
      walk(child, [&](const Stmt *part) {
        if (const auto *decls = dyn_cast<DeclStmt>(part))
          for (const Decl *decl : decls->decls())
            if (const auto *variable = dyn_cast<VarDecl>(decl)) makes = makes || (needed.count(variable) && !dependent.count(variable));
        if (const Expr *target = assignedBy(part)) walk(target, [&](const Stmt *inner) {
          if (const auto *ref = dyn_cast<DeclRefExpr>(inner))
            if (const auto *variable = dyn_cast<VarDecl>(ref->getDecl())) makes = makes || (needed.count(variable) && !dependent.count(variable) && target->IgnoreParenImpCasts() != nullptr);
          return true;
        });
        return true;
      });
      if (!makes) continue;
      if (mentionsPair(child)) return refusal("an element is computed together with the pair", unit.where(child->getBeginLoc()));
      kept.insert(child);
      need(child);
    }
    for (const Stmt *child : statements) {
      const auto *nested = dyn_cast<ForStmt>(bare(child));
      if (nested && std::find(nest.begin(), nest.end(), nested) != nest.end()) {
        auto deeper = nestText(child, takesMaximum);
        if (!deeper) return deeper;
        text += *deeper;
      } else if (kept.count(child)) {
        auto place = wholeStatement(unit, child);
        if (!place) return place.error();
        text += textAt(unit, *place) + "\n";
      }
    }
    if (loop == inner)
      for (const Expr *element : elements) {
        std::string m = maximum->getNameAsString(), x = unit.text(source(element));
        if (auto *op = dyn_cast<BinaryOperator>(source(element)->IgnoreImpCasts()); op && !op->isMultiplicativeOp() && !takesMaximum) x = "(" + x + ")";
        if (takesMaximum) text += m + " = " + larger(maximum->getType()) + "(" + m + ", " + x + ");\n";
        else text += sum->getNameAsString() + " += " + function + "(" + x + " - " + m + ");\n";
      }
    return text + "}\n";
  }
};

/// The text of a statement that holds online loops, for one of the passes.
Result<std::string> passText(const Unit &unit, const KernelModel &kernel, const Stmt *stmt, bool takesMaximum) {
  const Stmt *inner = bare(stmt);
  if (isa<ForStmt>(inner)) {
    OnlineLoop loop(unit, kernel, stmt);
    if (!loop.recognize()) return ourFault("the loop was recognized a moment ago");
    return loop.pass(takesMaximum);
  }
  if (const auto *branch = dyn_cast<IfStmt>(inner)) {
    std::string text = "if (" + unit.text(branch->getCond()) + ") ";
    for (const Stmt *side : {branch->getThen(), branch->getElse()}) {
      if (!side) continue;
      if (side == branch->getElse()) text += " else ";
      text += "{\n";
      for (const Stmt *child : listOf(side)) {
        auto part = passText(unit, kernel, child, takesMaximum);
        if (!part) return part;
        text += *part;
      }
      text += "}\n";
    }
    return text;
  }
  auto place = wholeStatement(unit, stmt);
  if (!place) return place.error();
  return textAt(unit, *place) + "\n";
}

/// The last thing that happens to the sum before the statement is that it becomes zero.
bool startsAtZero(const ASTContext &ast, const std::vector<const Stmt *> &statements, size_t before, const VarDecl *sum) {
  for (size_t i = before; i-- > 0;) {
    const Expr *start = nullptr;
    if (const auto *decls = dyn_cast<DeclStmt>(statements[i]))
      for (const Decl *decl : decls->decls())
        if (decl == sum) start = sum->getInit();
    if (const auto *op = dyn_cast<BinaryOperator>(statements[i]); op && op->getOpcode() == BO_Assign && variableNamedBy(op->getLHS()) == sum) start = op->getRHS();
    Expr::EvalResult result;
    if (start) return !start->isValueDependent() && start->EvaluateAsRValue(result, ast) &&
                      (result.Val.isFloat() ? result.Val.getFloat().isZero() : result.Val.isInt() && result.Val.getInt() == 0);
    if (!referencesTo(statements[i], sum).empty()) return false;
  }
  return false;
}

class OnlineFinder {
public:
  OnlineFinder(const Unit &unit, const KernelModel &kernel, std::vector<Decline> &declines) : unit(unit), kernel(kernel), declines(declines) {}
  std::vector<OnlinePass> found;

  void visit(const Stmt *stmt) {
    if (!stmt) return;
    if (const auto *body = dyn_cast<CompoundStmt>(stmt)) list(listOf(body));
    for (const Stmt *child : stmt->children()) visit(child);
  }

private:
  const Unit &unit;
  const KernelModel &kernel;
  std::vector<Decline> &declines;
  std::set<const Stmt *> taken;

  /// The pair that the statement carries in one pass, or nothing.
  std::pair<const VarDecl *, const VarDecl *> pairOf(const Stmt *stmt) {
    const Stmt *inner = bare(stmt);
    if (isa<ForStmt>(inner)) {
      OnlineLoop loop(unit, kernel, stmt);
      if (loop.recognize()) return {loop.maximum, loop.sum};
      return {};
    }
    const auto *branch = dyn_cast<IfStmt>(inner);
    if (!branch) return {};
    std::pair<const VarDecl *, const VarDecl *> pair;
    for (const Stmt *side : {branch->getThen(), branch->getElse()})
      for (const Stmt *child : listOf(side)) {
        if (isa<DeclStmt>(child)) continue;
        auto one = pairOf(child);
        if (!one.first || (pair.first && pair != one)) return {};
        pair = one;
      }
    return pair;
  }

  void take(const Stmt *stmt) {
    walk(stmt, [&](const Stmt *inner) { taken.insert(inner); return true; });
  }

  void list(const std::vector<const Stmt *> &statements) {
    for (size_t at = 0; at < statements.size(); ++at) {
      if (taken.count(statements[at])) continue;
      auto pair = pairOf(statements[at]);
      if (!pair.first) continue;
      OnlinePass pass{pair.first, pair.second, {}};
      size_t end = at;
      while (end < statements.size() && pairOf(statements[end]) == pair) pass.statements.push_back(statements[end++]);
      for (const Stmt *stmt : pass.statements) take(stmt);
      if (startsAtZero(unit.ast(Side::Device), statements, at, pair.second)) found.push_back(pass);
      else
        declines.push_back({"unsupported_form", unit.where(statements[at]->getBeginLoc()),
                            "the sum " + pair.second->getNameAsString() + " does not start from zero just before the loop"});
      at = end - 1;
    }
  }
};

} // namespace

std::vector<OnlinePass> findOnline(const Version &version, const KernelModel &kernel, std::vector<Decline> &declines) {
  OnlineFinder finder(version.unit, kernel, declines);
  finder.visit(kernel.function->getBody());
  return finder.found;
}

Result<Edits> toTwoPasses(const Version &version, const KernelModel &kernel, const OnlinePass &pass) {
  auto place = wholeStatements(version.unit, pass.statements.front(), pass.statements.back());
  if (!place) return place.error();
  std::string text;
  for (bool takesMaximum : {true, false})
    for (const Stmt *stmt : pass.statements) {
      auto part = passText(version.unit, kernel, stmt, takesMaximum);
      if (!part) return part.error();
      text += *part;
    }
  return Edits{{place->file, place->offset, place->length, text}};
}

namespace {

/// max(m, e) taken directly in the loop's body: the statement and e.
bool takesMaximum(const ForStmt *loop, const VarDecl *&maximum, const Stmt *&update, const Expr *&element) {
  Effects effects = effectsOf(loop->getBody());
  if (effects.carried.size() != 1 || effects.stores) return false;
  maximum = *effects.carried.begin();
  if (!maximum->getType()->isRealFloatingType() || gathers(loop->getBody(), maximum) != Combine::Maximum) return false;
  for (const Stmt *child : listOf(loop->getBody())) {
    if (referencesTo(child, maximum).empty()) continue;
    if (update) return false;
    update = child;
    if (const auto *op = dyn_cast<BinaryOperator>(child); op && op->getOpcode() == BO_Assign) {
      if (const auto *call = dyn_cast<CallExpr>(op->getRHS()->IgnoreParenImpCasts()); call && call->getNumArgs() == 2)
        element = variableNamedBy(call->getArg(0)) == maximum ? call->getArg(1) : call->getArg(0);
      if (const auto *choice = dyn_cast<ConditionalOperator>(op->getRHS()->IgnoreParenImpCasts()))
        element = variableNamedBy(choice->getTrueExpr()) == maximum ? choice->getFalseExpr() : choice->getTrueExpr();
    }
    if (const auto *branch = dyn_cast<IfStmt>(child)) {
      auto only = listOf(branch->getThen());
      if (only.size() == 1)
        if (const auto *op = dyn_cast<BinaryOperator>(only[0])) element = op->getRHS();
    }
  }
  return update && element;
}

/// Nothing leaves the loop, or one of its rounds, before the end.
bool everyRound(const KernelModel &kernel, const ForStmt *stmt) {
  const Loop *loop = kernel.loopFor(stmt);
  return loop && !loop->leavesEarly && !loop->hasContinue;
}

/// The same elements, whatever the loops look like: both bodies are run, and the two values compared.
bool sameElement(const Unit &unit, const KernelModel &kernel, const ForStmt *first, const Expr *element, const ForStmt *second, const Expr *other) {
  const Loop *one = kernel.loopFor(first), *two = kernel.loopFor(second);
  if (!one || !two || !(one->begin == two->begin) || !(one->end == two->end) || !(one->step == two->step) || one->descending != two->descending) return false;
  Lockstep run(unit.ast(Side::Device), {32, 1, 1}, 5, false);
  run.setMemory(keysFor(kernel, one));
  for (const Stmt *child : listOf(first->getBody()))
    if (!run.run(child)) return false;
  auto a = run.value(element);
  run.setMemory(keysFor(kernel, two));
  for (const Stmt *child : listOf(second->getBody()))
    if (!run.run(child)) return false;
  auto b = run.value(other);
  if (!a || !b) return false;
  for (size_t t = 0; t < run.threads(); ++t)
    if ((*a)[t].kind != Sample::Real || (*b)[t].kind != Sample::Real || (*a)[t].real != (*b)[t].real) return false;
  return true;
}

} // namespace

std::vector<TwoPasses> findTwoPasses(const Version &version, const KernelModel &kernel) {
  const Unit &unit = version.unit;
  std::vector<TwoPasses> found;
  std::function<void(const Stmt *)> visit = [&](const Stmt *stmt) {
    if (!stmt) return;
    auto statements = isa<CompoundStmt>(stmt) ? listOf(stmt) : std::vector<const Stmt *>{};
    for (size_t i = 0; i < statements.size(); ++i) {
      const auto *first = dyn_cast<ForStmt>(bare(statements[i]));
      TwoPasses passes;
      if (!first || !takesMaximum(first, passes.maximum, passes.update, passes.element)) continue;
      passes.first = statements[i];
      size_t k = i + 1;
      for (; k < statements.size() && !isa<ForStmt>(bare(statements[k])); ++k) passes.between.push_back(statements[k]);
      const auto *second = k < statements.size() ? dyn_cast<ForStmt>(bare(statements[k])) : nullptr;
      if (!second) continue;
      passes.second = statements[k];
      Effects effects = effectsOf(second->getBody());
      if (effects.carried.size() != 1 || effects.stores) continue;
      passes.sum = *effects.carried.begin();
      if (gathers(second->getBody(), passes.sum) != Combine::Sum) continue;
      auto start = [&](const Stmt *one) { // between the loops stands only what can go before both
        if (const auto *op = dyn_cast<BinaryOperator>(one)) return op->getOpcode() == BO_Assign && variableNamedBy(op->getLHS()) == passes.sum && referencesTo(op->getRHS(), passes.maximum).empty();
        return isa<DeclStmt>(one) && referencesTo(one, passes.maximum).empty() && !exchangeIn(one);
      };
      if (!std::all_of(passes.between.begin(), passes.between.end(), start)) continue;
      const Expr *other = nullptr;
      if (!startsAtZero(unit.ast(Side::Device), statements, k, passes.sum) || !everyRound(kernel, first) || !everyRound(kernel, second)) continue;
      size_t exponentials = 0, uses = 0;
      walk(second->getBody(), [&](const Stmt *inner) {
        if (auto one = exponential(inner); one && variableNamedBy(one->relative) == passes.maximum) {
          ++exponentials;
          other = one->element;
          passes.exponential = one->name;
        }
        return true;
      });
      for (const Stmt *child : listOf(second->getBody())) // in each round, whatever the element
        if (const auto *op = dyn_cast<BinaryOperator>(child); op && op->getOpcode() == BO_AddAssign && variableNamedBy(op->getLHS()) == passes.sum)
          uses += exponential(op->getRHS()->IgnoreParenImpCasts()) ? 1 : 0;
      if (exponentials != 1 || uses != 1 || referencesTo(second->getBody(), passes.maximum).size() != 1) continue;
      if (!sameElement(unit, kernel, first, passes.element, second, other)) continue;
      found.push_back(passes);
    }
    for (const Stmt *child : stmt->children()) visit(child);
  };
  visit(kernel.function->getBody());
  return found;
}

Result<Edits> toOnline(const Version &version, const KernelModel &kernel, const TwoPasses &passes) {
  const Unit &unit = version.unit;
  auto place = wholeStatements(unit, passes.first, passes.second);
  auto loop = wholeStatement(unit, passes.first);
  const auto *first = cast<ForStmt>(bare(passes.first));
  auto body = unit.place(first->getBody());
  if (!place) return place.error();
  if (!loop) return loop.error();
  if (!body) return body.error();
  std::string text;
  for (const Stmt *stmt : passes.between) {
    auto at = wholeStatement(unit, stmt);
    if (!at) return at.error();
    text += textAt(unit, *at) + "\n";
  }
  Unit::Place head = *loop;
  head.length = body->offset - loop->offset;
  text += textAt(unit, head) + "{\n";
  for (const Stmt *child : listOf(first->getBody())) {
    if (child == passes.update) continue;
    auto at = wholeStatement(unit, child);
    if (!at) return at.error();
    text += textAt(unit, *at) + "\n";
  }
  std::set<std::string> taken;
  QualType type = passes.maximum->getType().getUnqualifiedType();
  std::string m = passes.maximum->getNameAsString(), s = passes.sum->getNameAsString(), x = unit.text(passes.element), name = type.getAsString();
  if (!variableNamedBy(passes.element)) {
    std::string element = freshName(unit, "element", taken);
    text += "const " + name + " " + element + " = " + x + ";\n";
    x = element;
  }
  std::string next = freshName(unit, "next", taken), one = type->isSpecificBuiltinType(BuiltinType::Float) ? "1.0f" : "1.0";
  // Equal values may both be -INFINITY, whose difference is no number; what is counted then is scaled away by the first finite element.
  text += "const " + name + " " + next + " = " + larger(type) + "(" + m + ", " + x + ");\n";
  text += s + " = " + s + " * (" + m + " == " + next + " ? " + one + " : " + passes.exponential + "(" + m + " - " + next + ")) + (" + x + " == " + next + " ? " + one + " : " +
          passes.exponential + "(" + x + " - " + next + "));\n";
  text += m + " = " + next + ";\n}";
  return Edits{{place->file, place->offset, place->length, text}};
}

} // namespace klineage
