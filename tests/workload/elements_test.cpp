#include "workload/workload.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace klineage;

TEST(SixteenBitFloats, KeepEveryBitPatternOnTheWayThroughDouble) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    double half = fromHalf(uint16_t(bits)), brain = fromBFloat16(uint16_t(bits));
    if (std::isnan(half)) EXPECT_TRUE(std::isnan(fromHalf(toHalf(half))));
    else ASSERT_EQ(toHalf(half), bits);
    if (std::isnan(brain)) EXPECT_TRUE(std::isnan(fromBFloat16(toBFloat16(brain))));
    else ASSERT_EQ(toBFloat16(brain), bits);
  }
}

TEST(SixteenBitFloats, RoundToNearestEvenAndOverflowToInfinity) {
  EXPECT_EQ(toHalf(1 + 0x1p-11), toHalf(1));              // tie, to even
  EXPECT_EQ(toHalf(1 + 3 * 0x1p-11), toHalf(1 + 0x1p-9)); // tie, to even, upwards
  EXPECT_EQ(fromHalf(toHalf(65504)), 65504);
  EXPECT_EQ(fromHalf(toHalf(65519)), 65504);
  EXPECT_TRUE(std::isinf(fromHalf(toHalf(65520))));
  EXPECT_EQ(fromHalf(toHalf(0x1p-24)), 0x1p-24);
  EXPECT_EQ(fromHalf(toHalf(0x1p-25)), 0);
  EXPECT_EQ(fromHalf(toHalf(1023.75 * 0x1p-24)), 0x1p-14); // a carry leaves the subnormals
  EXPECT_TRUE(std::isinf(fromBFloat16(toBFloat16(1e300))));
  EXPECT_TRUE(std::signbit(fromHalf(toHalf(-0.0))));
}

TEST(ElementTypes, HaveTheirSizesAndNames) {
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16, ElementType::I8, ElementType::U8, ElementType::I32,
                           ElementType::U32, ElementType::I64, ElementType::U64}) {
    EXPECT_EQ(elementTypeNamed(name(type)), type);
    char bytes[8];
    storeElement(type, bytes, 5);
    EXPECT_EQ(loadElement(type, bytes), 5);
  }
  EXPECT_EQ(sizeOf(ElementType::BF16), 2u);
  EXPECT_FALSE(elementTypeNamed("float").has_value());
}
