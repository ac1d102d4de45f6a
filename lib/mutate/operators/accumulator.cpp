// accumulator: a fold that begins at the wrong value, or keeps too few digits.
//
//   identity_wrong          float sum = 0     ->  float sum = (0) + 1         of what is no sum: the value 0, or 1 where it was 0
//   initializer_dropped     float sum = 0     ->  float sum
//   reset_dropped           acc[i] = 0        ->  nothing, where acc is folded into
//   accumulator_narrowed    sum += e          ->  sum = half(sum + (e)), rounded each time
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

/// Constants that folded variables are set to: where they are declared, or later.
void starts(const Body &body, Planter &planter, const std::vector<Fold> &folds) {
  std::map<const VarDecl *, bool> summed;
  for (const Fold &fold : folds) summed[fold.variable] |= fold.isSum;
  auto atStart = [&](const VarDecl *variable, const Expr *value) {
    auto constant = constantOf(body, value);
    if (!constant) return;
    bool isSum = summed[variable];
    planter.replace(body, "identity_wrong", value, isSum ? "(" + body.text(value) + ") + 1" : *constant == 0 ? "1" : "0");
  };
  body.each<DeclStmt>([&](const DeclStmt *stmt) {
    if (!stmt->isSingleDecl()) return;
    auto *variable = llvm::dyn_cast<VarDecl>(stmt->getSingleDecl());
    if (!variable || !variable->getInit() || !summed.count(variable) || llvm::isa_and_nonnull<ForStmt>(body.parent(stmt))) return;
    atStart(variable, variable->getInit());
    if (variable->getType().isConstQualified() || !constantOf(body, variable->getInit())) return;
    SourceLocation name = variable->getLocation();
    planter.plant(body, "initializer_dropped", SourceRange(name, variable->getInit()->getEndLoc()),
                  {{SourceRange(name, variable->getInit()->getEndLoc()), variable->getNameAsString()}});
  });
  body.each<BinaryOperator>([&](const BinaryOperator *op) {
    if (op->getOpcode() != BO_Assign) return;
    const VarDecl *variable = rootOf(op->getLHS());
    if (!variable || !summed.count(variable) || !constantOf(body, op->getRHS())) return;
    atStart(variable, op->getRHS());
    planter.replace(body, "reset_dropped", op, "(void)0");
  });
}

void find(const Body &body, Planter &planter) {
  auto folds = foldsOf(body);
  starts(body, planter, folds);
  for (const Fold &fold : folds) {
    if (!fold.isSum || !fold.target->getType()->isRealFloatingType()) continue;
    std::string target = body.text(fold.target), value = body.text(fold.op->getRHS());
    std::string sum = fold.op->getOpcode() == BO_Assign ? value : target + (fold.op->getOpcode() == BO_SubAssign ? " - (" : " + (") + value + ")";
    // The header comes before everything: kernels that keep no halves do not include it.
    const auto &sources = body.unit.manager(body.side);
    SourceLocation top = sources.getLocForStartOfFile(sources.getMainFileID());
    planter.plant(body, "accumulator_narrowed", fold.op->getSourceRange(),
                  {{SourceRange(top, top), "#include <cuda_fp16.h>\n", true}, {fold.op->getSourceRange(), target + " = __half2float(__float2half(" + sum + "))"}},
                  {"wrong_value"});
  }
}

} // namespace

extern const Operator accumulator = {"a fold from the wrong value, from none, or in too few digits", find, nullptr};

} // namespace klineage::mutate
