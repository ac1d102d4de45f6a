#include "workload/workload.h"
#include <gtest/gtest.h>

using namespace klineage;

namespace {
const std::map<std::string, int64_t> axes = {{"rows", 7}, {"columns", 33}};
int64_t value(const std::string &text) {
  auto result = evaluate(text, axes);
  EXPECT_TRUE(bool(result)) << text << ": " << (result ? "" : result.error().message());
  return result ? *result : -1;
}
std::string why(const std::string &text) {
  auto result = evaluate(text, axes);
  EXPECT_FALSE(bool(result)) << text;
  return result ? "" : result.error().message();
}
} // namespace

TEST(Expression, FollowsPrecedenceAndParentheses) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("20 / 2 / 5"), 2);
  EXPECT_EQ(value("10 - 2 - 3"), 5);
  EXPECT_EQ(value("-rows + 10"), 3);
  EXPECT_EQ(value("columns % rows"), 5);
}

TEST(Expression, CallsItsFunctions) {
  EXPECT_EQ(value("ceil_div(columns, 32)"), 2);
  EXPECT_EQ(value("ceil_div(columns - 1, 32)"), 1);
  EXPECT_EQ(value("max(min(rows, 3), 2)"), 3);
}

TEST(Expression, NamesTheAxisItDoesNotKnow) {
  EXPECT_NE(why("colums * 2").find("did you mean \"columns\"?"), std::string::npos);
  EXPECT_NE(why("q").find("\"q\" is not an axis"), std::string::npos);
}

TEST(Expression, RefusesWhatHasNoValue) {
  EXPECT_NE(why("rows / 0").find("division by zero"), std::string::npos);
  EXPECT_NE(why("rows % (rows - 7)").find("division by zero"), std::string::npos);
  EXPECT_NE(why("9223372036854775807 + 1").find("64 bits"), std::string::npos);
  EXPECT_NE(why("99999999999999999999").find("64 bits"), std::string::npos);
  EXPECT_NE(why("ceil_div(rows)").find("takes 2"), std::string::npos);
  EXPECT_NE(why("ceil_div(rows, 0)").find("divisor"), std::string::npos);
  EXPECT_NE(why("sqrt(rows)").find("no function"), std::string::npos);
}

TEST(Expression, RefusesWhatIsNotOne) {
  for (const char *text : {"", " ", "1 +", "(1", "1)", "rows rows", "min(1,)", "*", "1.5", "rows; 2"}) why(text);
  why(std::string(100000, '('));
  why(std::string(100000, '-') + "1");
}

TEST(Expression, TakesRealsForFloatingScalars) {
  EXPECT_DOUBLE_EQ(*evaluateReal("1 / sqrt(columns + 31)", axes), 0.125);
  EXPECT_DOUBLE_EQ(*evaluateReal("1e-5", axes), 1e-5);
  EXPECT_DOUBLE_EQ(*evaluateReal("-.5", axes), -0.5);
}
