#include "tests/model/model_fixture.h"

using namespace klineage;

namespace {

const IndexExpr t = axis(threadIdx(0, 256)), b = axis(blockIdx(0)), d = axis(blockDim(0));

TEST(IndexExpr, EqualValuesInDifferentOrderAndShapeCompareEqual) {
  EXPECT_EQ(t * 4 + b, b + t * 4);
  EXPECT_EQ((t + b) * (t - b), t * t - b * b);
  EXPECT_EQ(t - t, IndexExpr(0));
  EXPECT_FALSE(t == b);
}

TEST(IndexExpr, AFlattenedIndexSplitAndPutTogetherIsTheIndexAgain) {
  EXPECT_EQ(quotient(t, 8) * 8 + remainder(t, 8), t);
  // warp, row in warp, lane in row
  EXPECT_EQ(quotient(t, 32) * 32 + quotient(remainder(t, 32), 8) * 8 + remainder(t, 8), t);
}

TEST(IndexExpr, DivisionsThatComeOutEvenAreCarriedOut) {
  EXPECT_EQ(quotient(b * 4 + remainder(t, 4), 4), b);
  EXPECT_EQ(remainder(b * 4 + remainder(t, 4), 4), remainder(t, 4));
  EXPECT_EQ(quotient(quotient(t, 4), 8), quotient(t, 32));
  EXPECT_EQ(quotient(remainder(t, 32), 4), remainder(quotient(t, 4), 8));
  EXPECT_EQ(quotient(t, 256), IndexExpr(0));
  EXPECT_EQ(quotient(b * d + axis(threadIdx(0)), d), b);
  EXPECT_EQ(remainder(b * 32 + t * 8, 32), remainder(t, 4) * 8);
}

TEST(IndexExpr, AQuotientOfWhatMayBeNegativeStaysWhole) {
  IndexExpr unknown = axis(threadIdx(0)) - b;
  EXPECT_TRUE(quotient(unknown + d * 8, 8).mentionsKind(Atom::Quotient));
  EXPECT_FALSE(quotient(unknown * 8 + 3, 8) == unknown);
}

TEST(IndexExpr, BitOperationsThatAreArithmeticBecomeArithmetic) {
  EXPECT_EQ(bitwise(Atom::And, t, 31), remainder(t, 32));
  EXPECT_EQ(bitwise(Atom::ShiftRight, t, 5), quotient(t, 32));
  EXPECT_EQ(bitwise(Atom::Or, t * 4, 3), t * 4 + 3);
  EXPECT_EQ(bitwise(Atom::Xor, t, b), bitwise(Atom::Xor, b, t));
  EXPECT_EQ(bitwise(Atom::And, t, ~31), t - remainder(t, 32));
}

TEST(IndexExpr, RangesBoundSums) {
  EXPECT_EQ(upperBound(remainder(t, 8) * 4 + 3), 31);
  EXPECT_EQ(lowerBound(t + 1), 1);
  EXPECT_FALSE(upperBound(b).has_value());
  EXPECT_EQ(minimum(t, 300), t);
  EXPECT_EQ(maximum(t, 300), IndexExpr(300));
}

TEST(IndexExpr, SubstitutionReachesInsideQuotients) {
  IndexExpr q = quotient(b + t, 8);
  EXPECT_EQ(q.substitute(blockIdx(0), 0), quotient(t, 8));
  EXPECT_TRUE(q.mentions(threadIdx(0)));
  std::map<std::string, IndexExpr> swap{{blockIdx(0)->key, t}, {threadIdx(0)->key, b}};
  EXPECT_EQ((b * 2 + t).substitute(swap), t * 2 + b);
}

TEST(IndexExpr, TheCoefficientOfAnAtomIsThePolynomialBesideIt) {
  EXPECT_EQ((t * d * 3 + b).coefficient(threadIdx(0)), d * 3);
  EXPECT_EQ(knownDivisor(t * 8 + b * 12), 4);
  EXPECT_EQ(exactQuotient(t * d * 6, d * 2), std::optional<IndexExpr>(t * 3));
  EXPECT_FALSE(exactQuotient(t * 3, 2).has_value());
}

TEST(IndexExpr, TextIsCppThatComputesTheValue) {
  EXPECT_EQ(spell(b * 32 + t + 1).value(), "blockIdx.x * 32 + threadIdx.x + 1");
  EXPECT_EQ(spell(remainder(t, 8) - 2).value(), "(threadIdx.x % 8) - 2");
}

} // namespace
