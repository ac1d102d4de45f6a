// fast_math: use the hardware's approximate function instead of the library's exact one.
//
//   expert   __expf(x)      one multiply and MUFU.EX2
//   plain    expf(x)
//
// Limits: single precision calls by name; one feature is all calls of one function that a kernel runs, its helpers included.
#include "step/site_building.h"
#include <algorithm>

namespace klineage {
namespace {

struct Pair {
  const char *precise, *fast;
};
// CUDA C++ Programming Guide, "Mathematical Functions": functions with an intrinsic of the same signature.
constexpr Pair pairs[] = {{"expf", "__expf"},   {"exp10f", "__exp10f"}, {"logf", "__logf"}, {"log2f", "__log2f"}, {"log10f", "__log10f"},
                          {"sinf", "__sinf"},   {"cosf", "__cosf"},     {"tanf", "__tanf"}, {"powf", "__powf"},   {"fdividef", "__fdividef"}};

/// `exp(x)` of a float is expf under another name; so are the std:: overloads.
std::string preciseName(const clang::FunctionDecl *callee) {
  std::string name = callee->getNameAsString();
  bool isFloat = callee->getReturnType()->isSpecificBuiltinType(clang::BuiltinType::Float) && callee->getNumParams() > 0 &&
                 callee->getParamDecl(0)->getType()->isSpecificBuiltinType(clang::BuiltinType::Float);
  if (!isFloat) return {};
  if (name.empty() || name.back() == 'f') return name;
  return name + "f";
}

using Calls = std::vector<const clang::CallExpr *>;

class CallsByName : public clang::RecursiveASTVisitor<CallsByName> {
public:
  CallsByName(const Unit &unit, bool fast) : unit(unit), fast(fast) {}
  bool VisitCallExpr(clang::CallExpr *call) {
    const auto *callee = call->getDirectCallee();
    if (!callee || !callee->getIdentifier() || unit.sources().files.count(fileOf(callee))) return true;
    std::string name = fast ? callee->getNameAsString() : preciseName(callee);
    for (const auto &pair : pairs)
      if (name == (fast ? pair.fast : pair.precise)) found[pair.precise].push_back(call);
    return true;
  }
  std::map<std::string, Calls> found;

private:
  std::string fileOf(const clang::Decl *decl) const {
    const auto &manager = unit.manager(Side::Device);
    auto entry = manager.getFileEntryRefForID(manager.getFileID(manager.getExpansionLoc(decl->getLocation())));
    return entry ? entry->getName().str() : std::string();
  }
  const Unit &unit;
  bool fast;
};

Detection findCalls(const Version &version, bool fast) {
  SiteList sites(version);
  for (const auto &kernel : version.kernels) {
    CallsByName visitor(version.unit, fast);
    for (const auto *function : ownFunctions(version.unit, kernel)) visitor.TraverseStmt(const_cast<clang::Stmt *>(function->getBody()));
    for (auto &[name, calls] : visitor.found) {
      auto locus = sites.locus("statement", name, calls.front()->getCallee()->getSourceRange());
      if (!locus) {
        sites.decline(locus.error(), calls.front()->getBeginLoc());
        continue;
      }
      if (!sites.firstAt(*locus)) continue;
      Site site;
      site.locus = *locus;
      site.kernel = &kernel;
      site.carrier = calls.front()->getSourceRange();
      site.keep(Calls(calls));
      sites.add(std::move(site));
    }
  }
  return sites.take();
}

Detection findFast(const Version &version) { return findCalls(version, true); }
Detection findPrecise(const Version &version) { return findCalls(version, false); }

Result<Edits> rename(const Version &version, const Site &site, bool toFast) {
  Edits edits;
  for (const auto *call : site.as<Calls>()) {
    auto pair = std::find_if(std::begin(pairs), std::end(pairs), [&](const Pair &one) { return site.locus.label == one.precise; });
    auto edit = replace(version.unit, call->getCallee()->getSourceRange(), toFast ? pair->fast : pair->precise);
    if (!edit) return edit.error();
    edits.push_back(*edit);
  }
  return edits;
}

Result<Edits> toPrecise(const Version &version, const Site &site, const Parameters &) { return rename(version, site, false); }
Result<Edits> toFast(const Version &version, const Site &site, const Parameters &) { return rename(version, site, true); }

} // namespace

extern const Step fast_math = {
    .summary = "use the hardware's approximate function instead of the exact one",
    .stage = Stage::Compute,
    .revision = 1,
    .params = {},
    .conditions = {{"tolerance_admits_it", "reassociation_within(1e-6)", Soundness}},
    .codegen = {.added = {"ex2.approx"}, .removed = {"fma.rn"}},
    .intent = "Call the intrinsic (__expf and its kin), which is a multiplication and one instruction of the special function unit, where the exact function "
              "needs a range reduction and a polynomial. The error grows with the argument, so the tolerance must admit it.",
    .simplify = {.detect = findFast, .edit = toPrecise},
    .materialize = {.detect = findPrecise, .edit = toFast},
};

} // namespace klineage
