// index_width: index arithmetic in 32 bits that overflows where a buffer is large.
//
//   widening_dropped   static_cast<size_t>(row) * pitch   ->  static_cast<int>(row) * pitch
//   counter_narrowed   long long i = first                ->  int i = first
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

bool isWide(const Body &body, QualType type) { return type->isIntegerType() && body.ast().getTypeSize(type) == 64; }

void find(const Body &body, Planter &planter) {
  body.each<ExplicitCastExpr>([&](const ExplicitCastExpr *cast) {
    const Expr *inner = cast->getSubExprAsWritten();
    if (!isWide(body, cast->getType()) || !inner->getType()->isIntegerType() || isWide(body, inner->getType())) return;
    planter.replace(body, "widening_dropped", cast, "static_cast<int>(" + body.text(inner) + ")");
  });
  body.each<DeclStmt>([&](const DeclStmt *stmt) {
    if (!stmt->isSingleDecl()) return;
    auto *variable = llvm::dyn_cast<VarDecl>(stmt->getSingleDecl());
    if (!variable || !variable->getInit() || !isWide(body, variable->getType()) || !variable->getTypeSourceInfo()) return;
    auto type = variable->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc();
    planter.plant(body, "counter_narrowed", variable->getSourceRange(), {{type.getSourceRange(), "int"}});
  });
}

} // namespace

extern const Operator index_width = {"index arithmetic in 32 bits", find, nullptr};

} // namespace klineage::mutate
