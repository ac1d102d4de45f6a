#include "retrieve/rank.h"
#include "fragments.h"
#include <gtest/gtest.h>

using namespace klineage;
using namespace klineage::testing;

namespace {

/// A ranker that knows fourteen steps by one pair each, none of which is a piece of a fragment.
ShapeRanker rankerOfPairs() {
  std::map<std::string, std::pair<Shape, Shape>> pairs;
  for (const auto &file : filesIn(std::filesystem::path(KLINEAGE_SOURCE_DIR) / "tests/retrieve/pairs")) {
    std::string name = file.filename().string(), step = name.substr(0, name.find('.'));
    (name.find(".expert.") != std::string::npos ? pairs[step].second : pairs[step].first) = shapeOf(*readFile(file));
  }
  ShapeRanker ranker;
  for (const auto &[step, pair] : pairs) ranker.add(step, step, pair.first, pair.second);
  return ranker;
}

size_t position(const std::vector<ShapeRanker::Match> &matches, const std::string &step) {
  for (size_t i = 0; i < matches.size(); ++i)
    if (matches[i].step == step) return i + 1;
  return 1000;
}

std::string order(const std::vector<ShapeRanker::Match> &matches) {
  std::string text;
  for (const auto &match : matches) text += match.step + " ";
  return text;
}

TEST(ShapeRanker, FindsTheRightStepAmongTheFirstThreeForSixteenOfTwentyFragments) {
  ShapeRanker ranker = rankerOfPairs();
  int right = 0;
  std::string missed;
  for (const Fragment &fragment : fragments()) {
    auto matches = ranker.rank(shapeOf(fragment.code));
    if (position(matches, fragment.step) <= 3) ++right;
    else missed += fragment.file + " wants " + fragment.step + ", got " + order(matches) + "\n";
  }
  EXPECT_EQ(fragments().size(), 20u);
  EXPECT_GE(right, 16) << missed;
  RecordProperty("right", right);
}

TEST(ShapeRanker, DoesNotLookAtNames) {
  ShapeRanker ranker = rankerOfPairs();
  for (const Fragment &fragment : fragments()) {
    ASSERT_NE(renamed(fragment.code), fragment.code);
    EXPECT_EQ(order(ranker.rank(shapeOf(fragment.code))), order(ranker.rank(shapeOf(renamed(fragment.code))))) << fragment.file << "\n" << renamed(fragment.code);
  }
}

TEST(ShapeRanker, SaysWhichFormThePieceLooksLike) {
  ShapeRanker ranker = rankerOfPairs();
  auto plain = ranker.rank(shapeOf("for (int i = 0; i < 8; ++i) s = s * v + c;"));
  auto expert = ranker.rank(shapeOf("#pragma unroll\nfor (int i = 0; i < 8; ++i) s = s * v + c;"));
  ASSERT_LE(position(expert, "unroll"), 3u);
  EXPECT_TRUE(expert[position(expert, "unroll") - 1].expert);
  ASSERT_LE(position(plain, "unroll"), 3u);
  EXPECT_FALSE(plain[position(plain, "unroll") - 1].expert);
}

TEST(ShapeRanker, HasNothingToSayOfNothing) {
  EXPECT_TRUE(rankerOfPairs().rank(Shape()).empty());
  EXPECT_TRUE(ShapeRanker().rank(shapeOf("for (int i = 0; i < n; ++i) s += x[i];")).empty());
}

} // namespace
