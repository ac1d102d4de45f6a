// shared_array: a shared array that is too short.
//
//   shared_shrunk   __shared__ float tile[32][33]   ->  __shared__ float tile[(32) - 1][33]
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

void find(const Body &body, Planter &planter) {
  body.each<DeclStmt>([&](const DeclStmt *stmt) {
    for (const Decl *decl : stmt->decls()) {
      auto *variable = llvm::dyn_cast<VarDecl>(decl);
      if (!variable || !isShared(variable) || !variable->getTypeSourceInfo()) continue;
      auto array = variable->getTypeSourceInfo()->getTypeLoc().getAs<ArrayTypeLoc>();
      if (!array || !array.getSizeExpr()) continue; // the launch gives its length
      auto extent = constantOf(body, array.getSizeExpr());
      if (extent && *extent > 1) planter.replace(body, "shared_shrunk", array.getSizeExpr(), "(" + body.text(array.getSizeExpr()) + ") - 1");
    }
  });
}

} // namespace

extern const Operator shared_array = {"a shared array one row shorter", find, nullptr};

} // namespace klineage::mutate
