#include "device/device.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace klineage;

TEST(Reasons, EachNameIsDifferentAndReadsBack) {
  std::set<std::string> seen;
  for (int i = 0; i <= static_cast<int>(Reason::Internal); ++i) {
    auto reason = static_cast<Reason>(i);
    EXPECT_TRUE(seen.insert(name(reason)).second) << name(reason);
    auto back = reasonNamed(name(reason));
    ASSERT_TRUE(back) << name(reason);
    EXPECT_EQ(*back, reason);
  }
}

TEST(Reasons, UnknownNameIsNoReason) {
  EXPECT_FALSE(reasonNamed("fast_enough"));
  EXPECT_FALSE(reasonNamed(""));
}

TEST(Poison, IsNanInEveryFloatingType) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = poison[i % 2];
  float single;
  double wide;
  uint16_t half;
  std::memcpy(&single, bytes, sizeof single);
  std::memcpy(&wide, bytes, sizeof wide);
  std::memcpy(&half, bytes, sizeof half);
  EXPECT_TRUE(std::isnan(single));
  EXPECT_TRUE(std::isnan(wide));
  EXPECT_EQ(half & 0x7C00, 0x7C00); // binary16: all exponent bits
  EXPECT_NE(half & 0x03FF, 0);
  EXPECT_EQ(half & 0x7F80, 0x7F80); // bfloat16: all exponent bits
  EXPECT_NE(half & 0x007F, 0);
}
