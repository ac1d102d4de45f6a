// subscript: the wrong element.
//
//   subscript_more      a[i]          ->  a[(i) + 1]
//   subscript_swapped   t[y][x]       ->  t[x][y],   a[row * n + col]  ->  a[col * n + row]
//   pointer_more        p = x + base  ->  p = x + ((base) + 1)
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

/// `row * n + col`, in either order: the term that is multiplied and the one that is not.
void swapTerms(const Body &body, Planter &planter, const Expr *index) {
  auto *sum = llvm::dyn_cast<BinaryOperator>(bare(index));
  if (!sum || sum->getOpcode() != BO_Add) return;
  auto asProduct = [](const Expr *expr) {
    auto *product = llvm::dyn_cast<BinaryOperator>(bare(expr));
    return product && product->getOpcode() == BO_Mul ? product : nullptr;
  };
  const BinaryOperator *product = asProduct(sum->getLHS());
  const Expr *other = sum->getRHS();
  if (!product) product = asProduct(other), other = sum->getLHS();
  if (!product || asProduct(other)) return;
  std::string factor = body.text(product->getLHS()), term = body.text(other);
  if (factor == term) return;
  planter.plant(body, "subscript_swapped", sum->getSourceRange(), {{product->getLHS()->getSourceRange(), "(" + term + ")"}, {other->getSourceRange(), "(" + factor + ")"}});
}

void find(const Body &body, Planter &planter) {
  body.each<ArraySubscriptExpr>([&](const ArraySubscriptExpr *element) {
    const Expr *index = element->getIdx();
    planter.replace(body, "subscript_more", index, "(" + body.text(index) + ") + 1");
    swapTerms(body, planter, index);
    auto *outer = llvm::dyn_cast<ArraySubscriptExpr>(bare(element->getBase()));
    if (!outer) return;
    std::string inner = body.text(index), outside = body.text(outer->getIdx());
    if (inner != outside)
      planter.plant(body, "subscript_swapped", element->getSourceRange(), {{index->getSourceRange(), outside}, {outer->getIdx()->getSourceRange(), inner}});
  });
  body.each<BinaryOperator>([&](const BinaryOperator *sum) {
    if (sum->getOpcode() != BO_Add || !sum->getType()->isPointerType()) return;
    const Expr *offset = sum->getLHS()->getType()->isPointerType() ? sum->getRHS() : sum->getLHS();
    planter.replace(body, "pointer_more", offset, "((" + body.text(offset) + ") + 1)");
  });
}

} // namespace

extern const Operator subscript = {"the next element, or swapped indices", find, nullptr};

} // namespace klineage::mutate
