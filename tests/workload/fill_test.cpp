#include "workload/workload.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace klineage;

namespace {

/// One rows × columns f32 input filled by `kind`.
std::vector<double> filled(const std::string &kind, int64_t rows, int64_t columns, uint64_t seed = 1, ElementType type = ElementType::F32) {
  Workload workload;
  workload.name = "t";
  Argument argument;
  argument.name = "x";
  argument.type = type;
  argument.shape = {"rows", "columns"};
  argument.fill.kind = kind;
  workload.arguments = {argument};
  Instance instance;
  instance.name = "i";
  instance.axes = {{"rows", rows}, {"columns", columns}};
  auto inputs = makeInputs(workload, instance, seed);
  EXPECT_TRUE(bool(inputs));
  EXPECT_EQ(inputs->arguments[0].count, size_t(rows * columns));
  return toDoubles(type, inputs->arguments[0].bytes);
}

double mean(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / double(values.size());
}

} // namespace

TEST(Fill, IsDeterministicAndDiffersBetweenSeeds) {
  for (const std::string &kind : fillKinds()) {
    if (kind == "zeros" || kind == "ones") continue;
    auto once = filled(kind, 6, 40), again = filled(kind, 6, 40), other = filled(kind, 6, 40, 2);
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * 8), 0) << kind;
    EXPECT_NE(std::memcmp(once.data(), other.data(), once.size() * 8), 0) << kind;
  }
}

TEST(Fill, HasTheDistributionItsNameSays) {
  auto uniform = filled("uniform", 100, 200), normal = filled("normal", 100, 200), integers = filled("integers", 100, 200);
  EXPECT_NEAR(mean(uniform), 0, 0.02);
  EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), 1);
  EXPECT_GT(*std::max_element(uniform.begin(), uniform.end()), 0.99);
  EXPECT_NEAR(mean(normal), 0, 0.03);
  double square = 0;
  for (double value : normal) square += value * value;
  EXPECT_NEAR(square / double(normal.size()), 1, 0.05);
  for (double value : integers) EXPECT_TRUE(value == -1 || value == 0 || value == 1);
  for (double value : filled("ones", 3, 3)) EXPECT_EQ(value, 1);
}

TEST(Fill, PutsTheHardValuesOfRowsWhereTheirNamesSay) {
  auto first = filled("minus_infinity_first", 5, 7);
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 7; ++column) EXPECT_EQ(std::isinf(first[size_t(row * 7 + column)]), column == 0);
  auto masked = filled("masked_row", 5, 7);
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 7; ++column) EXPECT_EQ(std::isinf(masked[size_t(row * 7 + column)]), row == 1 || row == 4);
  EXPECT_TRUE(std::isinf(filled("masked_row", 1, 7)[3]));
  auto nan = filled("with_nan", 9, 7);
  for (int row = 0; row < 9; ++row)
    EXPECT_EQ(std::count_if(nan.begin() + row * 7, nan.begin() + row * 7 + 7, [](double value) { return std::isnan(value); }), row % 4 == 0 ? 1 : 0);
}

TEST(Fill, GivesALargeMeanASmallSpread) {
  auto values = filled("large_mean", 1, 1000);
  EXPECT_NEAR(mean(values), 1001, 0.6);
  EXPECT_LT(*std::max_element(values.begin(), values.end()) - *std::min_element(values.begin(), values.end()), 1);
}

TEST(Fill, PermutesEachIndexOnce) {
  auto values = filled("permutation", 10, 100, 3, ElementType::I32);
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], double(i));
}

TEST(Fill, LeavesOutputsEmptyAndScalarsInTheirType) {
  Workload workload;
  Argument out, scalar, real;
  out.name = "y", out.kind = ArgumentKind::Output, out.shape = {"n"};
  scalar.name = "n", scalar.kind = ArgumentKind::Scalar, scalar.type = ElementType::I32, scalar.value = "0 - n";
  real.name = "f", real.kind = ArgumentKind::Scalar, real.type = ElementType::F32, real.value = "1e-5";
  workload.arguments = {out, scalar, real};
  Instance instance;
  instance.axes = {{"n", 5}};
  auto inputs = makeInputs(workload, instance, 1);
  ASSERT_TRUE(bool(inputs));
  EXPECT_EQ(inputs->arguments[0].count, 5u);
  EXPECT_TRUE(inputs->arguments[0].bytes.empty());
  ASSERT_EQ(inputs->arguments[1].bytes.size(), 4u);
  EXPECT_EQ(loadElement(ElementType::I32, inputs->arguments[1].bytes.data()), -5);
  EXPECT_EQ(loadElement(ElementType::F32, inputs->arguments[2].bytes.data()), double(1e-5f));
}

TEST(Fill, AcceptsAnEmptyBuffer) { EXPECT_TRUE(filled("masked_row", 0, 7).empty()); }
