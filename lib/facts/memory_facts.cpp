// Facts about buffers: alignment, aliasing, writes, sizes.
#include "facts/facts.h"
#include <algorithm>
#include <numeric>

namespace klineage {

namespace {

using namespace clang;

std::string nameOf(const ValueDecl *decl) { return decl ? decl->getNameAsString() : "a pointer of unknown origin"; }

/// The buffer that an operand means, with the offset in bytes when it is a pointer expression.
struct Meant {
  const ValueDecl *buffer = nullptr;
  IndexExpr bytes;
  std::string why;
};
Meant meant(const FactScope &scope, const Operand &operand) {
  Meant result;
  if (operand.kind == Operand::Declaration) {
    result.buffer = operand.decl;
    return result;
  }
  if (operand.kind == Operand::Expression && (operand.expr->getType()->isPointerType() || operand.expr->getType()->isArrayType())) {
    Pointee at = scope.kernel.pointsTo(operand.expr);
    if (at.exact) { result.buffer = at.buffer; result.bytes = at.bytes; }
    else result.why = "where " + operand.label + " points is not known";
    return result;
  }
  result.why = operand.label + " is no buffer and no pointer";
  return result;
}

Truth multipleOf(const IndexExpr &value, int64_t by) {
  if (auto c = value.constant()) return *c % by == 0 ? Truth::Holds : Truth::Violated;
  return knownDivisor(value) % by == 0 ? Truth::Holds : Truth::Unknown;
}

Operand aligned(const FactScope &scope, const std::vector<Operand> &arguments) {
  auto bytes = numberOf(scope, arguments[1]);
  auto want = bytes ? bytes->constant() : std::nullopt;
  if (!want || *want <= 0) return Operand::of(unknown(arguments[1].label + " is not one constant number of bytes"));
  Meant at = meant(scope, arguments[0]);
  if (!at.buffer) return Operand::of(unknown(at.why));
  std::string name = nameOf(at.buffer), need = std::to_string(*want) + " bytes";
  if (at.bytes.terms().size()) {
    Operand offset = Operand::of(at.bytes);
    offset.label = "the offset of " + arguments[0].label + " in " + name;
    Answer answer = overCases(scope, offset, at.bytes, [&](const IndexExpr &v) { return multipleOf(v, *want); }, "is a multiple of " + need, "is not a multiple of " + need);
    if (answer.truth != Truth::Holds) return Operand::of(answer);
  }
  auto *parm = dyn_cast<ParmVarDecl>(at.buffer);
  if (!parm) {
    auto *var = dyn_cast<VarDecl>(at.buffer);
    if (!var || var->getType()->isPointerType()) return Operand::of(unknown("the alignment of " + name + " is not declared"));
    int64_t declared = scope.kernel.function->getASTContext().getDeclAlign(var).getQuantity();
    if (declared % *want == 0) return Operand::of(holds(name + " is declared with an alignment of " + std::to_string(declared) + " bytes"));
    return Operand::of(violated(name + " is declared with an alignment of " + std::to_string(declared) + " bytes, " + std::to_string(*want) + " are needed"));
  }
  auto origins = originsOf(scope, parm);
  if (origins.empty()) return Operand::of(unknown("no launch of the kernel is known, so the alignment of " + name + " is not"));
  std::string said;
  for (const Origin &origin : origins) {
    if (origin.argument.empty()) return Operand::of(unknown("which argument of the launcher " + name + " comes from is not known"));
    const ArgumentFacts *argument = scope.environment.find(origin.argument);
    if (!argument || argument->alignment == 0) return Operand::of(unknown("the workload says no alignment of " + origin.argument));
    if (argument->alignment % *want) return Operand::of(violated("the workload aligns " + origin.argument + " to " + std::to_string(argument->alignment) + " bytes, " + std::to_string(*want) + " are needed"));
    if (origin.bytes.terms().size()) {
      // The launcher's own sizes are those of the workload.
      Truth truth = multipleOf(origin.bytes, *want);
      if (truth != Truth::Holds) {
        std::map<std::string, IndexExpr> known;
        size_t count = 0;
        for (const auto &a : scope.environment.arguments) count = std::max(count, a.values.size());
        truth = count ? Truth::Holds : Truth::Unknown;
        for (size_t i = 0; i < count; ++i) {
          known.clear();
          for (const AtomRef &atom : origin.bytes.atoms())
            if (const ArgumentFacts *a = atom->decl ? scope.environment.find(atom->decl->getNameAsString()) : nullptr; a && i < a->values.size()) known[atom->key] = a->values[i];
          Truth one = multipleOf(origin.bytes.substitute(known), *want);
          if (one == Truth::Violated) return Operand::of(violated("the launcher passes " + origin.argument + " plus " + spelledOr(scope, origin.bytes.substitute(known)) + " bytes, no multiple of " + std::to_string(*want)));
          if (one == Truth::Unknown) truth = one;
        }
      }
      if (truth != Truth::Holds) return Operand::of(unknown("the launcher passes " + origin.argument + " plus " + spelledOr(scope, origin.bytes) + " bytes"));
    }
    said = "the workload aligns " + origin.argument + " to " + std::to_string(argument->alignment) + " bytes";
  }
  return Operand::of(holds(said));
}

bool isRestrict(const ValueDecl *decl) { return decl && decl->getType().isRestrictQualified(); }

Answer disjointBuffers(const FactScope &scope, const ValueDecl *a, const ValueDecl *b) {
  std::string names = nameOf(a) + " and " + nameOf(b);
  if (!a || !b) return unknown("where one of " + names + " points is not known");
  if (a == b) return violated(names + " are one buffer");
  auto isArgument = [](const ValueDecl *d) { return isa<ParmVarDecl>(d) || isa<FieldDecl>(d); };
  if (!isArgument(a) || !isArgument(b)) {
    const Buffer *left = scope.kernel.bufferOf(a), *right = scope.kernel.bufferOf(b);
    auto storage = [](const Buffer *buffer, const ValueDecl *decl) { return buffer && buffer->origin ? buffer->origin : decl; };
    if (storage(left, a) == storage(right, b)) return unknown(names + " are views of the same shared memory");
    return holds(names + " are objects of their own");
  }
  if (isRestrict(a) && isRestrict(b)) return holds("both " + names + " are declared __restrict__");
  if (scope.environment.arguments.empty() || scope.kernel.launches.empty())
    return unknown("whether " + names + " overlap is not known: " + (scope.kernel.launches.empty() ? "no launch is known" : "no workload is given"));
  auto left = originsOf(scope, a), right = originsOf(scope, b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].argument.empty() || right[i].argument.empty()) return unknown("which arguments of the launcher " + names + " come from is not known");
    if (left[i].argument == right[i].argument) return unknown("both " + names + " come from the argument " + left[i].argument);
    const ArgumentFacts *x = scope.environment.find(left[i].argument), *y = scope.environment.find(right[i].argument);
    if (!x || !y) return unknown("the workload names no argument " + (x ? right[i].argument : left[i].argument));
    if (x->mayAlias || y->mayAlias) return violated("the workload allows " + (x->mayAlias ? x->name : y->name) + " to overlap other arguments");
  }
  return holds("the workload keeps " + left[0].argument + " and " + right[0].argument + " apart");
}

Operand disjoint(const FactScope &scope, const std::vector<Operand> &arguments) {
  Meant a = meant(scope, arguments[0]), b = meant(scope, arguments[1]);
  if (!a.buffer || !b.buffer) return Operand::of(unknown(a.buffer ? b.why : a.why));
  return Operand::of(disjointBuffers(scope, a.buffer, b.buffer));
}

Operand unwritten(const FactScope &scope, const std::vector<Operand> &arguments) {
  Meant at = meant(scope, arguments[0]);
  if (!at.buffer) return Operand::of(unknown(at.why));
  const Stmt *region = nullptr;
  if (arguments.size() > 1) {
    region = arguments[1].kind == Operand::LoopRef ? arguments[1].loop->stmt : arguments[1].stmt;
    if (!region) return Operand::of(unknown(arguments[1].label + " is no statement or loop"));
  }
  auto isInside = [&](const Access &access) {
    if (!region) return true;
    // Accesses in helpers are inside when the call is.
    const Stmt *at = access.calls.empty() ? (access.expr ? static_cast<const Stmt *>(access.expr) : access.statement) : access.calls.front();
    for (; at; at = scope.kernel.parent(at))
      if (at == region) return true;
    return false;
  };
  std::string where = region ? " there" : " in the kernel";
  Answer doubt;
  bool hasDoubt = false;
  for (const Access &access : scope.kernel.accesses) {
    if (access.kind == Access::Read || !isInside(access)) continue;
    std::string line = access.statement && scope.kernel.unit ? scope.kernel.unit->where(access.statement->getBeginLoc()) : "";
    if (access.buffer == at.buffer) return Operand::of(violated(nameOf(at.buffer) + " is written" + where + (line.empty() ? "" : ", at " + line)));
    if (hasDoubt) continue;
    bool sameSpace = access.space == Space::Unknown || !access.buffer ||
                     (access.space == Space::Global) == (isa<ParmVarDecl>(at.buffer) || isa<FieldDecl>(at.buffer) || cast<VarDecl>(at.buffer)->hasAttr<CUDADeviceAttr>());
    if (!sameSpace) continue;
    if (!access.buffer) {
      doubt = unknown("a write through a pointer of unknown origin" + (line.empty() ? "" : ", at " + line) + ", may reach " + nameOf(at.buffer));
      hasDoubt = true;
      continue;
    }
    Answer apart = disjointBuffers(scope, at.buffer, access.buffer);
    if (apart.truth == Truth::Holds) continue;
    doubt = unknown(nameOf(access.buffer) + " is written" + where + " and may overlap: " + apart.why);
    hasDoubt = true;
  }
  return Operand::of(hasDoubt ? doubt : holds("nothing writes " + nameOf(at.buffer) + where));
}

Operand extent(const FactScope &scope, const std::vector<Operand> &arguments) {
  // Of a size that the site binds, the size itself.
  if (arguments[0].kind == Operand::Number || (arguments[0].kind == Operand::Expression && arguments[0].expr->getType()->isIntegralOrEnumerationType()))
    return Operand::of(*numberOf(scope, arguments[0]));
  if (arguments[0].kind == Operand::Declaration)
    if (auto number = numberOf(scope, arguments[0])) return Operand::of(*number);
  Meant at = meant(scope, arguments[0]);
  if (!at.buffer) return Operand::missing(at.why);
  const Buffer *buffer = scope.kernel.bufferOf(at.buffer);
  if (buffer && !buffer->extents.empty()) {
    if (arguments.size() > 1) {
      auto dimension = numberOf(scope, arguments[1]);
      auto c = dimension ? dimension->constant() : std::nullopt;
      if (!c || *c < 0 || size_t(*c) >= buffer->extents.size()) return Operand::missing(nameOf(at.buffer) + " has no such dimension");
      return Operand::of(buffer->extents[*c]);
    }
    int64_t total = 1;
    for (int64_t e : buffer->extents) total *= e;
    return Operand::of(total);
  }
  if (arguments.size() > 1) return Operand::missing("a pointer has no dimensions");
  return Operand::of(elementsOf(at.buffer));
}

Operand restricted(const FactScope &scope, const std::vector<Operand> &arguments) {
  Meant at = meant(scope, arguments[0]);
  if (!at.buffer) return Operand::of(unknown(at.why));
  return Operand::of(isRestrict(at.buffer) ? holds(nameOf(at.buffer) + " is declared __restrict__") : violated(nameOf(at.buffer) + " is not declared __restrict__"));
}

Operand elementBytes(const FactScope &scope, const std::vector<Operand> &arguments) {
  Meant at = meant(scope, arguments[0]);
  if (!at.buffer) return Operand::missing(at.why);
  auto accesses = scope.kernel.accessesOf(at.buffer);
  if (accesses.empty()) return Operand::missing(nameOf(at.buffer) + " is never touched");
  return Operand::of(int64_t(scope.kernel.function->getASTContext().getTypeSizeInChars(accesses.front()->element).getQuantity()));
}

template <Space space> Operand inSpace(const FactScope &scope, const std::vector<Operand> &arguments) {
  Meant at = meant(scope, arguments[0]);
  if (!at.buffer) return Operand::of(unknown(at.why));
  auto accesses = scope.kernel.accessesOf(at.buffer);
  Space found = accesses.empty() ? (scope.kernel.bufferOf(at.buffer) ? scope.kernel.bufferOf(at.buffer)->space : isa<ParmVarDecl>(at.buffer) ? Space::Global : Space::Unknown) : accesses.front()->space;
  if (found == Space::Unknown) return Operand::of(unknown("the memory of " + nameOf(at.buffer) + " is not known"));
  static const char *names[] = {"global", "shared", "local", "constant"};
  std::string words = nameOf(at.buffer) + " lies in " + names[int(found)] + " memory";
  return Operand::of(found == space ? holds(words) : violated(words));
}

Operand notVolatile(const FactScope &scope, const std::vector<Operand> &arguments) {
  Meant at = meant(scope, arguments[0]);
  if (!at.buffer) return Operand::of(unknown(at.why));
  for (const Access *access : scope.kernel.accessesOf(at.buffer))
    if (access->isVolatile) return Operand::of(holds(nameOf(at.buffer) + " is volatile"));
  return Operand::of(violated("no access of " + nameOf(at.buffer) + " is volatile"));
}

Operand finite(const FactScope &, const std::vector<Operand> &arguments) {
  // Fills are not facts: a kernel is used on other data than it is tested on.
  return Operand::of(unknown("whether " + arguments[0].label + " holds infinities or NaNs is said by no workload"));
}

} // namespace

void addMemoryFacts(std::vector<Fact> &table) {
  table.insert(table.end(), {
      {"aligned", "aligned(pointer, bytes)", "the address is a multiple of that many bytes in every instance: the argument's alignment in the workload, and the offset", 2, 2, aligned},
      {"disjoint", "disjoint(a, b)", "the two buffers share no byte", 2, 2, disjoint},
      {"element_bytes", "element_bytes(buffer)", "a number: the size of one scalar element", 1, 1, elementBytes},
      {"extent", "extent(buffer[, dimension])", "a number: elements of a buffer (from its declaration, or from the workload), or of one dimension of an array; of a size, the size", 1, 2, extent},
      {"finite", "finite(buffer)", "it holds no infinity and no NaN; always unknown today", 1, 1, finite},
      {"in_global", "in_global(buffer)", "the buffer lies in global memory", 1, 1, inSpace<Space::Global>},
      {"in_shared", "in_shared(buffer)", "the buffer lies in shared memory", 1, 1, inSpace<Space::Shared>},
      {"in_local", "in_local(buffer)", "the buffer is a thread's own array", 1, 1, inSpace<Space::Local>},
      {"restrict", "restrict(pointer)", "the parameter is declared __restrict__", 1, 1, restricted},
      {"unwritten", "unwritten(buffer[, region])", "nothing in the kernel (or in the loop or statement) writes the buffer, through any pointer", 1, 2, unwritten},
      {"volatile", "volatile(buffer)", "the buffer is accessed as volatile", 1, 1, notVolatile},
  });
}

} // namespace klineage
