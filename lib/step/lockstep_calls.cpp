// Lockstep: calls and the exchanges between threads.
#include "step/lockstep.h"
#include <algorithm>
#include <cmath>

namespace klineage {
using namespace clang;

namespace {

bool startsWith(const std::string &text, std::string_view prefix) { return text.compare(0, prefix.size(), prefix) == 0; }

/// The tile size of a cooperative group; 0 for a whole block; nothing for another class. Members stand in bases of the group's class.
std::optional<int64_t> groupSize(const Expr *group) {
  const auto *record = group->IgnoreParenImpCasts()->getType().getNonReferenceType()->getAsCXXRecordDecl();
  if (!record) return std::nullopt;
  std::string name = record->getNameAsString();
  if (name == "thread_block") return 0;
  if (const auto *tile = dyn_cast<ClassTemplateSpecializationDecl>(record); tile && startsWith(name, "thread_block_tile"))
    if (tile->getTemplateArgs().size() && tile->getTemplateArgs()[0].getKind() == TemplateArgument::Integral)
      return tile->getTemplateArgs()[0].getAsIntegral().getExtValue();
  return std::nullopt;
}

bool isGroupReduction(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  if (!callee || isa<CXXMemberCallExpr>(call) || call->getNumArgs() != 3 || callee->getNameAsString() != "reduce") return false;
  return inCooperativeGroups(callee);
}

void scan(const Stmt *stmt, Exchange &found, std::set<const FunctionDecl *> &visited) {
  if (!stmt) return;
  if (const auto *ref = dyn_cast<DeclRefExpr>(stmt))
    if (ref->getDecl()->hasAttr<CUDASharedAttr>()) found.shared = true;
  if (const auto *call = dyn_cast<CallExpr>(stmt)) {
    std::string name = calleeName(call);
    if (isShuffle(call)) found.shuffle = true;
    if (startsWith(name, "__syncthreads")) found.barrier = true;
    if (const auto *member = dyn_cast<CXXMemberCallExpr>(call); member && name == "sync" && member->getImplicitObjectArgument() &&
                                                               groupSize(member->getImplicitObjectArgument()) == 0)
      found.barrier = true;
    const FunctionDecl *callee = call->getDirectCallee();
    const FunctionDecl *body = nullptr;
    if (callee && !isShuffle(call) && callee->hasBody(body) && visited.insert(body).second &&
        !body->getASTContext().getSourceManager().isInSystemHeader(body->getLocation()) && !startsWith(name, "__"))
      scan(body->getBody(), found, visited);
  }
  for (const Stmt *child : stmt->children()) scan(child, found, visited);
}

} // namespace

bool inCooperativeGroups(const FunctionDecl *function) {
  for (const DeclContext *space = function->getEnclosingNamespaceContext(); space; space = space->getParent())
    if (const auto *named = dyn_cast<NamespaceDecl>(space); named && named->getNameAsString() == "cooperative_groups") return true;
  return false;
}

std::string calleeName(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  return callee ? callee->getNameAsString() : std::string();
}

bool isShuffle(const CallExpr *call) {
  std::string name = calleeName(call);
  if (startsWith(name, "__shfl") || startsWith(name, "__reduce_") || isGroupReduction(call)) return true;
  const auto *member = dyn_cast<CXXMemberCallExpr>(call);
  return member && startsWith(name, "shfl") && groupSize(member->getImplicitObjectArgument());
}

Exchange exchangeIn(const Stmt *statement) {
  Exchange found;
  std::set<const FunctionDecl *> visited;
  scan(statement, found, visited);
  return found;
}

Samples Lockstep::shuffle(const std::string &kind, const Samples &value, const Samples &argument, int64_t width, bool inside) {
  ++shuffleCount;
  Samples out = uniform({});
  if (width <= 0 || width > 32) return out;
  for (size_t t = 0; t < count; ++t) {
    if (!active[t] || argument[t].kind != Sample::Integer || argument[t].data) continue;
    int64_t lane = int64_t(t) % 32, base = int64_t(t) - lane, segment = lane / width * width, source = lane;
    int64_t by = argument[t].integer;
    if (kind == "down") source = lane + by < segment + width ? lane + by : lane;
    else if (kind == "up") source = lane - by >= segment ? lane - by : lane;
    else if (kind == "xor") source = (lane ^ by) < segment + width ? lane ^ by : lane;
    else source = segment + (by % width + width) % width;
    if (inside && (source < segment || source >= segment + width)) continue;
    size_t from = size_t(base + source);
    if (from < count && active[from]) out[t] = value[from];
  }
  return out;
}

Samples Lockstep::enter(const FunctionDecl *function, llvm::ArrayRef<const Expr *> arguments) {
  if (++depth > 12) { stop("calls nest too deep to follow"); return uniform({}); }
  bool exchanges = bool(exchangeIn(function->getBody()));
  for (unsigned i = 0; i < function->getNumParams() && i < arguments.size(); ++i) {
    const ParmVarDecl *parameter = function->getParamDecl(i);
    aliases.erase(parameter);
    const Expr *argument = arguments[i];
    if (const auto *defaulted = dyn_cast<CXXDefaultArgExpr>(argument)) argument = defaulted->getExpr();
    if (parameter->getType()->isReferenceType() && argument->isGLValue() && !isa<MaterializeTemporaryExpr>(argument))
      aliases[parameter] = place(argument);
    else
      variables[parameter] = exchanges ? handed(argument) : evaluate(argument);
    written.insert(parameter);
  }
  Mask before = active, outerReturned = returnedMask, outerBroken = broken, outerContinued = continued;
  Samples outerResult = std::move(result);
  returnedMask.assign(count, 0);
  broken.assign(count, 0);
  continued.assign(count, 0);
  result = uniform({});
  execute(function->getBody());
  Samples out = std::move(result);
  result = std::move(outerResult);
  active = before;
  returnedMask = outerReturned;
  broken = outerBroken;
  continued = outerContinued;
  --depth;
  return out;
}

/// Every lane gets the combination of its segment, by what the name says; unknown where it says nothing.
Samples Lockstep::combined(const Samples &value, int64_t width, const std::string &name) {
  ++shuffleCount;
  auto has = [&](const char *word) { return name.find(word) != std::string::npos; };
  bool add = has("add") || has("plus"), larger = has("max") || has("greater"), smaller = has("min") || has("less");
  Samples out = uniform({});
  for (size_t first = 0; first < count && (add || larger || smaller); first += size_t(width)) {
    Sample total;
    size_t last = std::min(first + size_t(width), count);
    bool known = true;
    for (size_t t = first; t < last; ++t) {
      if (!active[t]) continue;
      known = known && (value[t].kind == Sample::Integer || value[t].kind == Sample::Real);
      if (!total.known()) { total = value[t]; continue; }
      double a = total.number(), b = value[t].number(), made = add ? a + b : larger ? std::max(a, b) : std::min(a, b);
      total = (total.kind == Sample::Integer ? Sample::of(int64_t(made)) : Sample::of(made)).from(total.data || value[t].data);
    }
    for (size_t t = first; t < last && known; ++t)
      if (active[t]) out[t] = total;
  }
  return out;
}

/// cooperative_groups::reduce(tile, value, operation).
bool Lockstep::groupReduction(const CallExpr *call, Samples &out) {
  auto width = groupSize(call->getArg(0));
  const auto *operation = call->getArg(2)->IgnoreParenImpCasts()->getType().getNonReferenceType()->getAsCXXRecordDecl();
  Samples value = handed(call->getArg(1));
  out = uniform({});
  if (width && *width > 0 && *width <= 32 && operation) out = combined(value, *width, operation->getNameAsString());
  return true;
}

bool Lockstep::groupMember(const CXXMemberCallExpr *call, Samples &out) {
  auto size = groupSize(call->getImplicitObjectArgument());
  if (!size) return false;
  std::string name = calleeName(call);
  int64_t width = *size == 0 ? int64_t(count) : *size;
  out = uniform({});
  if (name == "sync") { if (*size == 0) ++barrierCount; return true; }
  if (name == "thread_rank" || name == "meta_group_rank") {
    for (size_t t = 0; t < count; ++t) out[t] = Sample::of(name == "thread_rank" ? int64_t(t) % width : int64_t(t) / width);
    return true;
  }
  if (name == "size" || name == "num_threads") { out = uniform(Sample::of(width)); return true; }
  if (startsWith(name, "shfl") && call->getNumArgs() == 2 && width <= 32) {
    Samples value = handed(call->getArg(0));
    out = shuffle(name == "shfl" ? "idx" : name.substr(5), value, evaluate(call->getArg(1)), width, true);
    return true;
  }
  return false;
}

bool Lockstep::intrinsic(const CallExpr *call, const std::string &name, Samples &out) {
  auto arg = [&](unsigned i) {
    const Expr *expr = call->getArg(i);
    if (const auto *defaulted = dyn_cast<CXXDefaultArgExpr>(expr)) expr = defaulted->getExpr();
    return evaluate(expr);
  };
  unsigned n = call->getNumArgs();
  if (startsWith(name, "__shfl") && n >= 2) {
    bool sync = name.size() > 5 && name.compare(name.size() - 5, 5, "_sync") == 0;
    unsigned first = sync ? 1 : 0;
    if (n < first + 2) return false;
    std::string kind = name.find("_down") != std::string::npos ? "down" : name.find("_up") != std::string::npos ? "up" : name.find("_xor") != std::string::npos ? "xor" : "idx";
    int64_t width = 32;
    if (n > first + 2) {
      Samples given = arg(first + 2);
      if (given[0].kind == Sample::Integer) width = given[0].integer;
    }
    Samples value = handed(call->getArg(first));
    out = shuffle(kind, value, arg(first + 1), width);
    return true;
  }
  if (startsWith(name, "__reduce_") && n == 2) {
    Samples value = handed(call->getArg(1));
    out = combined(value, 32, name);
    return true;
  }
  if (startsWith(name, "__syncthreads")) { ++barrierCount; out = uniform({}); return true; }
  if (name == "__syncwarp" || startsWith(name, "__threadfence")) { out = uniform({}); return true; }
  if (startsWith(name, "atomic") && n >= 2) {
    Samples pointers = evaluate(call->getArg(0)), values = handed(call->getArg(1));
    out = uniform({});
    Mask all = active;
    for (size_t t = 0; t < count; ++t) {
      if (!all[t]) continue;
      std::fill(active.begin(), active.end(), 0);
      active[t] = 1;
      Place at;
      at.memory = true;
      at.pointers = pointers;
      Samples now = read(at, call->getType());
      out[t] = now[t];
      double a = now[t].number(), b = values[t].number();
      bool integer = values[t].kind == Sample::Integer;
      double made = name == "atomicAdd" ? a + b : name == "atomicMax" ? std::max(a, b) : name == "atomicMin" ? std::min(a, b) : NAN;
      if (!now[t].known() || !values[t].known() || std::isnan(made)) now[t] = {};
      else {
        if (name != "atomicAdd") tested(call, now[t], values[t], false);
        now[t] = (integer ? Sample::of(int64_t(made)) : Sample::of(made)).from(now[t].data || values[t].data);
      }
      write(at, now, call->getType());
    }
    active = all;
    return true;
  }
  static const std::map<std::string, double (*)(double, double)> two = {
      {"fmaxf", [](double a, double b) { return std::max(a, b); }}, {"fmax", [](double a, double b) { return std::max(a, b); }},
      {"max", [](double a, double b) { return std::max(a, b); }},   {"fminf", [](double a, double b) { return std::min(a, b); }},
      {"fmin", [](double a, double b) { return std::min(a, b); }},  {"min", [](double a, double b) { return std::min(a, b); }},
      {"__fadd_rn", [](double a, double b) { return a + b; }},      {"__fmul_rn", [](double a, double b) { return a * b; }},
      {"fdividef", [](double a, double b) { return a / b; }},       {"__fdividef", [](double a, double b) { return a / b; }}};
  static const std::map<std::string, double (*)(double)> one = {
      {"expf", [](double a) { return std::exp(a); }},      {"exp", [](double a) { return std::exp(a); }},
      {"__expf", [](double a) { return std::exp(a); }},    {"exp2f", [](double a) { return std::exp2(a); }},
      {"exp2", [](double a) { return std::exp2(a); }},     {"fabsf", [](double a) { return std::fabs(a); }},
      {"fabs", [](double a) { return std::fabs(a); }},     {"sqrtf", [](double a) { return std::sqrt(a); }},
      {"sqrt", [](double a) { return std::sqrt(a); }},     {"rsqrtf", [](double a) { return 1 / std::sqrt(a); }},
      {"logf", [](double a) { return std::log(a); }},      {"log", [](double a) { return std::log(a); }},
      {"__logf", [](double a) { return std::log(a); }},    {"abs", [](double a) { return std::fabs(a); }}};
  bool integer = call->getType()->isIntegerType();
  auto made = [&](double value, bool inputs) { return (integer ? Sample::of(int64_t(value)) : Sample::of(value)).from(inputs); };
  if (auto found = two.find(name); found != two.end() && n == 2) {
    Samples a = arg(0), b = arg(1);
    out = uniform({});
    bool extremum = name.find("max") != std::string::npos || name.find("min") != std::string::npos;
    for (size_t t = 0; t < count; ++t) {
      if (!a[t].known() || !b[t].known()) continue;
      if (extremum && active[t]) tested(call, a[t], b[t], false);
      out[t] = made(found->second(a[t].number(), b[t].number()), a[t].data || b[t].data);
    }
    return true;
  }
  if (auto found = one.find(name); found != one.end() && n == 1) {
    Samples a = arg(0);
    out = uniform({});
    for (size_t t = 0; t < count; ++t)
      if (a[t].known()) out[t] = made(found->second(a[t].number()), a[t].data);
    return true;
  }
  if ((name == "fmaf" || name == "fma" || name == "__fmaf_rn") && n == 3) {
    Samples a = arg(0), b = arg(1), c = arg(2);
    out = uniform({});
    for (size_t t = 0; t < count; ++t)
      if (a[t].known() && b[t].known() && c[t].known()) out[t] = Sample::of(a[t].number() * b[t].number() + c[t].number()).from(a[t].data || b[t].data || c[t].data);
    return true;
  }
  if (name == "__int_as_float" && n == 1) {
    Samples a = arg(0);
    for (Sample &sample : a)
      sample = sample.kind == Sample::Integer ? Sample::of(double(__builtin_bit_cast(float, int32_t(sample.integer)))).from(sample.data) : Sample();
    out = a;
    return true;
  }
  if (startsWith(name, "make_float") || startsWith(name, "make_double")) {
    out = uniform({});
    for (unsigned i = 0; i < n; ++i) {
      Samples field = arg(i);
      for (size_t t = 0; t < count; ++t) {
        out[t].kind = Sample::Record;
        out[t].fields.push_back(field[t]);
      }
    }
    return true;
  }
  return false;
}

Samples Lockstep::call(const CallExpr *call) {
  if (budget-- == 0) { stop("the code is too long to follow"); return uniform({}); }
  Samples out;
  if (const auto *member = dyn_cast<CXXMemberCallExpr>(call))
    if (groupMember(member, out)) return out;
  if (isGroupReduction(call)) { groupReduction(call, out); return out; }
  std::string name = calleeName(call);
  if (intrinsic(call, name, out)) return out;
  const FunctionDecl *callee = call->getDirectCallee(), *body = nullptr;
  bool ours = callee && callee->hasBody(body) && !context.getSourceManager().isInSystemHeader(body->getLocation()) && !startsWith(name, "__");
  if (ours) {
    llvm::ArrayRef<const Expr *> arguments(call->getArgs(), call->getNumArgs());
    if (isa<CXXOperatorCallExpr>(call) && isa<CXXMethodDecl>(body) && !arguments.empty()) arguments = arguments.drop_front();
    return enter(body, arguments);
  }
  for (const Expr *argument : call->arguments()) {
    if (argument->getType()->isPointerType() && !argument->getType()->getPointeeType().isConstQualified()) globalWrite = true;
    evaluate(argument);
  }
  return uniform({});
}

} // namespace klineage
