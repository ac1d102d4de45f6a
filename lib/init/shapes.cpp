#include "init/shapes.h"
#include <algorithm>

namespace klineage {
namespace {

using namespace clang;

constexpr const char *axisNames[] = {"x", "y", "z"};

/// The number of blocks along an axis, where the launcher of our own takes it as a parameter.
AtomRef blockCount(unsigned axis) {
  static const AtomRef atoms[] = {
      std::make_shared<Atom>(Atom{.kind = Atom::Variable, .axis = 0, .key = "blocks_x"}),
      std::make_shared<Atom>(Atom{.kind = Atom::Variable, .axis = 1, .key = "blocks_y"}),
      std::make_shared<Atom>(Atom{.kind = Atom::Variable, .axis = 2, .key = "blocks_z"})};
  return atoms[axis];
}

/// `left < bound`, wherever it stands in a guard.
struct Bound {
  IndexExpr left, bound;
};

void collectBounds(const KernelModel &model, const Expr *condition, bool negated, const std::vector<const CallExpr *> &calls, std::vector<Bound> &into) {
  condition = condition->IgnoreParenImpCasts();
  if (const auto *unary = dyn_cast<UnaryOperator>(condition); unary && unary->getOpcode() == UO_LNot)
    return collectBounds(model, unary->getSubExpr(), !negated, calls, into);
  const auto *binary = dyn_cast<BinaryOperator>(condition);
  if (!binary) return;
  BinaryOperatorKind op = binary->getOpcode();
  if (op == (negated ? BO_LOr : BO_LAnd)) {
    collectBounds(model, binary->getLHS(), negated, calls, into);
    collectBounds(model, binary->getRHS(), negated, calls, into);
    return;
  }
  if (!binary->isRelationalOp()) return;
  IndexExpr left = model.lift(binary->getLHS(), calls), right = model.lift(binary->getRHS(), calls);
  if (negated) op = BinaryOperator::negateComparisonOp(op);
  if (op == BO_GT || op == BO_GE) {
    std::swap(left, right);
    op = BinaryOperator::reverseComparisonOp(op);
  }
  if (op == BO_LE) right = right + IndexExpr(1);
  into.push_back({left, right});
}

/// One kernel as one of its launches uses it, in the launcher's words.
class View {
public:
  /// `launch` is null for a kernel that has none.
  View(const KernelModel &model, const Signature &signature, const Launch *launch) : model(model), signature(signature), launch(launch) {
    for (unsigned i = 0; i < model.function->getNumParams(); ++i) {
      const ParmVarDecl *parameter = model.function->getParamDecl(i);
      if (!signature.launcher) names[parameter] = parameter->getNameAsString();
      else if (launch && i < launch->buffers.size() && launch->buffers[i]) names[parameter] = launch->buffers[i]->getNameAsString();
    }
    for (const SignatureParameter &parameter : signature.parameters) names[parameter.decl] = parameter.name;
  }

  std::string nameOf(const ValueDecl *decl) const {
    auto found = names.find(decl);
    return found == names.end() ? std::string() : found->second;
  }

  /// An expression over the kernel's parameters, over what the launcher passes for them.
  IndexExpr fromLauncher(IndexExpr expr) const {
    if (!launch) return expr;
    for (unsigned i = 0; i < model.function->getNumParams() && i < launch->values.size(); ++i) {
      AtomRef atom = parameter(model.function->getParamDecl(i));
      if (expr.mentions(atom)) expr = expr.substitute(atom, launch->values[i]);
    }
    return expr;
  }

  /// The first element past every one that the access touches, over launcher arguments; nothing when something unbounded is left.
  std::optional<IndexExpr> end(const Access &access) const {
    IndexExpr index = access.index;
    std::vector<Bound> bounds;
    for (const Guard &guard : access.guards) collectBounds(model, guard.condition, guard.negated, access.calls, bounds);
    // A guard on a loop's variable is nearer to the truth than the loop's own end, so guards go first, the innermost before others.
    for (auto bound = bounds.rbegin(); bound != bounds.rend(); ++bound) index = capped(index, *bound);
    for (auto loop = access.loops.rbegin(); loop != access.loops.rend(); ++loop) {
      AtomRef variable = loopVariable((*loop)->variable);
      if (!index.mentions(variable)) continue;
      int64_t step = (*loop)->step.constant().value_or(1);
      IndexExpr last = (*loop)->end - IndexExpr(1);
      if (auto first = (*loop)->begin.constant(), bound = (*loop)->end.constant(); first && bound && step > 0 && *bound > *first)
        last = IndexExpr(*first + (*bound - 1 - *first) / step * step);
      index = index.substitute(variable, last);
      for (auto bound = bounds.rbegin(); bound != bounds.rend(); ++bound) index = capped(index, *bound);
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (index.mentions(blockIdx(axis))) {
        if (launch && axis < launch->gridShape.size()) index = index.substitute(blockIdx(axis), launch->gridShape[axis] - IndexExpr(1));
        else if (!signature.launcher) index = index.substitute(blockIdx(axis), IndexExpr::of(blockCount(axis)) - IndexExpr(1));
      }
      if (auto size = launch ? launch->blockSize(axis) : std::nullopt) {
        index = index.substitute(threadIdx(axis), IndexExpr(*size - 1));
        index = index.substitute(blockDim(axis), IndexExpr(*size));
      }
    }
    index = withoutExactQuotients(fromLauncher(index) + IndexExpr(int64_t(access.width)));
    for (const AtomRef &atom : index.atoms())
      if (!(atom->kind == Atom::Parameter && !nameOf(atom->decl).empty()) && !isBlockCount(atom)) return std::nullopt;
    return index;
  }

  /// Extents, outermost first. An argument that strides others is further in.
  std::vector<std::string> shapeOf(const IndexExpr &end, const IndexExpr &index) const {
    if (auto constant = end.constant()) return {std::to_string(*constant)};
    if (end.terms().size() == 1 && end.terms().begin()->second.second == 1) {
      IndexExpr::Monomial factors = end.terms().begin()->second.first;
      auto strides = [&](const AtomRef &atom) {
        size_t count = 0;
        for (const auto &[key, term] : index.terms()) count += size_t(std::count_if(term.first.begin(), term.first.end(), [&](const AtomRef &other) { return other->key == atom->key; }));
        return count;
      };
      std::stable_sort(factors.begin(), factors.end(), [&](const AtomRef &a, const AtomRef &b) { return strides(a) < strides(b); });
      std::vector<std::string> shape;
      for (const AtomRef &factor : factors) shape.push_back(text(factor));
      return shape;
    }
    return {text(end)};
  }

  std::string text(const IndexExpr &expr) const {
    std::string out;
    for (const auto &[key, term] : expr.terms()) {
      std::string product;
      int64_t factor = term.second < 0 ? -term.second : term.second;
      if (factor != 1 || term.first.empty()) product = std::to_string(factor);
      for (const AtomRef &atom : term.first) product += (product.empty() ? "" : " * ") + text(atom);
      if (out.empty()) out = term.second < 0 ? "-" + product : product;
      else out += (term.second < 0 ? " - " : " + ") + product;
    }
    return out.empty() ? "0" : out;
  }

  const KernelModel &model;
  const Signature &signature;
  const Launch *const launch;

private:
  /// Differs between threads, blocks or iterations.
  static bool varies(const AtomRef &atom) {
    return atom->kind != Atom::Parameter && atom->kind != Atom::BlockDim && atom->kind != Atom::GridDim;
  }
  /// The atoms that are factors of its terms.
  static std::vector<AtomRef> partsOf(const IndexExpr &expr) {
    std::vector<AtomRef> parts;
    for (const auto &[key, term] : expr.terms()) parts.insert(parts.end(), term.first.begin(), term.first.end());
    return parts;
  }
  static bool isBlockCount(const AtomRef &atom) {
    return atom->kind == Atom::Variable && !atom->decl && atom->key.rfind("blocks_", 0) == 0;
  }
  std::string text(const AtomRef &atom) const { return isBlockCount(atom) ? atom->key : nameOf(atom->decl); }

  /// expr / divisor, when that divides every coefficient.
  static std::optional<IndexExpr> divided(const IndexExpr &expr, int64_t divisor) {
    IndexExpr out;
    for (const auto &[key, term] : expr.terms()) {
      if (term.second % divisor) return std::nullopt;
      IndexExpr product(term.second / divisor);
      for (const AtomRef &atom : term.first) product = product * IndexExpr::of(atom);
      out = out + product;
    }
    return out;
  }

  /// Where index = scale * left + rest and `rest` holds nothing of `left`, `left < bound` caps it at scale * (bound - 1) + rest.
  static IndexExpr capped(const IndexExpr &index, const Bound &bound) {
    if (bound.bound.mentionsOpaque()) return index;
    // What stands inside a quotient or remainder does not count: threadIdx / 2 and threadIdx % 2 vary on their own.
    std::vector<AtomRef> parts = partsOf(bound.left);
    for (const AtomRef &atom : parts) {
      if (!varies(atom)) continue;
      auto factor = bound.left.coefficient(atom).constant();
      if (!factor || *factor <= 0) continue;
      auto scale = divided(index.coefficient(atom), *factor);
      if (!scale || scale->constant() == 0) continue;
      IndexExpr rest = index - *scale * bound.left;
      bool gone = true;
      for (const AtomRef &part : partsOf(rest))
        for (const AtomRef &other : parts) gone &= !varies(other) || part->key != other->key;
      if (gone) return *scale * (bound.bound - IndexExpr(1)) + rest;
    }
    return index;
  }

  /// 4 * (n / 4) counts as n: the rest is a tail that another access covers.
  static IndexExpr withoutExactQuotients(IndexExpr expr) {
    for (const AtomRef &atom : expr.atoms()) {
      if (atom->kind != Atom::Quotient) continue;
      auto divisor = atom->right.constant();
      auto factor = expr.coefficient(atom).constant();
      if (divisor && factor && *divisor > 0 && *factor % *divisor == 0)
        expr = expr - IndexExpr::of(atom) * IndexExpr(*factor) + atom->left * IndexExpr(*factor / *divisor);
    }
    return expr;
  }

  std::map<const ValueDecl *, std::string> names;
};

void markSizes(const View &view, const IndexExpr &expr, Observed &observed) {
  for (const AtomRef &atom : view.fromLauncher(expr).atoms())
    if (atom->kind == Atom::Parameter)
      if (std::string name = view.nameOf(atom->decl); !name.empty()) observed.arguments[name].size = true;
}

void observeKernel(const View &view, Observed &observed) {
  for (const auto &loop : view.model.loops) markSizes(view, loop->end, observed);
  for (const Access &access : view.model.accesses) {
    std::vector<Bound> bounds;
    for (const Guard &guard : access.guards) collectBounds(view.model, guard.condition, guard.negated, access.calls, bounds);
    for (const Bound &bound : bounds) markSizes(view, bound.bound, observed);
    std::string name = access.buffer ? view.nameOf(access.buffer) : "";
    if (name.empty()) continue;
    ArgumentUse &use = observed.arguments[name];
    use.read |= access.kind != Access::Write;
    use.written |= access.kind != Access::Read;
    if (access.space != Space::Global && access.space != Space::Unknown) continue;
    markSizes(view, access.index, observed);
    auto end = view.end(access);
    if (!end) continue;
    markSizes(view, *end, observed);
    // A product of sizes says most; a sum is what a bound leaves that was not quite understood.
    bool product = end->constant() || (end->terms().size() == 1 && end->terms().begin()->second.second == 1);
    std::vector<std::string> shape = view.shapeOf(*end, view.fromLauncher(access.index));
    if (use.shape.empty() || (product && !use.product) || (product == use.product && shape.size() > use.shape.size())) {
      use.shape = shape;
      use.product = product;
    }
  }
}

/// Blocks of the usual sizes, and as many as the bound on each block index asks for.
LaunchPlan planLaunch(const Unit &unit, const View &view) {
  LaunchPlan plan;
  std::string body = unit.text(view.model.function->getSourceRange());
  unsigned dimensions = 1;
  for (unsigned axis = 1; axis < 3; ++axis)
    for (const char *builtin : {"threadIdx.", "blockIdx."})
      if (body.find(std::string(builtin) + axisNames[axis]) != std::string::npos) dimensions = axis + 1;
  static const char *const blocks[4][3] = {{}, {"256", "", ""}, {"16", "16", ""}, {"8", "8", "4"}};
  std::vector<Bound> bounds;
  for (const Access &access : view.model.accesses)
    for (const Guard &guard : access.guards) collectBounds(view.model, guard.condition, guard.negated, access.calls, bounds);
  for (const auto &loop : view.model.loops) bounds.push_back({loop->begin, loop->end});
  for (unsigned axis = 0; axis < dimensions; ++axis) {
    bool threads = body.find(std::string("threadIdx.") + axisNames[axis]) != std::string::npos;
    bool blocked = body.find(std::string("blockIdx.") + axisNames[axis]) != std::string::npos;
    plan.block[axis] = threads ? blocks[dimensions][axis] : "1";
    plan.grid[axis] = "1";
    if (!blocked) continue;
    plan.grid[axis].clear();
    for (const Bound &bound : bounds) {
      if (!bound.left.mentions(blockIdx(axis)) || bound.bound.mentionsOpaque()) continue;
      bool known = true;
      for (const AtomRef &atom : bound.bound.atoms()) known &= atom->kind == Atom::Parameter && !view.nameOf(atom->decl).empty();
      if (!known) continue;
      std::string end = view.text(bound.bound);
      plan.grid[axis] = bound.left.mentions(threadIdx(axis)) ? "(" + end + " + " + plan.block[axis] + " - 1) / " + plan.block[axis] : end;
      break;
    }
    if (plan.grid[axis].empty()) {
      plan.grid[axis] = std::string("blocks_") + axisNames[axis];
      plan.added.push_back(plan.grid[axis]);
    }
  }
  return plan;
}

} // namespace

Observed observe(const Unit &unit, const Signature &signature) {
  Observed observed;
  std::vector<KernelModel> models = liftKernels(unit);
  for (const KernelModel &model : models) {
    if (signature.launcher) {
      for (const Launch &launch : model.launches)
        if (launch.launcher && launch.launcher->getNameAsString() == signature.entry) observeKernel(View(model, signature, &launch), observed);
      continue;
    }
    if (unit.where(model.function->getLocation()) != unit.where(signature.kernel->getLocation(), Side::Host)) continue;
    View view(model, signature, nullptr);
    observeKernel(view, observed);
    observed.plan = planLaunch(unit, view);
    for (const std::string &name : observed.plan.added) observed.arguments[name].size = true;
  }
  return observed;
}

} // namespace klineage
