// Counterexamples through the walk's own path: what each soundness condition is for is shown, and what cannot be shown is not claimed.
#include "walk/counterexample.h"
#include "walk/probe.h"
#include "support/files.h"
#include <gtest/gtest.h>

namespace klineage {
namespace {

class Counterexamples : public ::testing::Test {
protected:
  std::unique_ptr<Device> device = makeEmulatedDevice();
  ScratchFolder record;
  Gate gate{*device, record.path()};
  CounterexampleRuns runs{gate};
};

TEST_F(Counterexamples, EachShowsItsConditionByTheFailureThatItsFileAnnounces) {
  ASSERT_FALSE(counterexamples().empty());
  for (const Counterexample &one : counterexamples()) {
    std::string text = one.kernel, tag = "// waived: ";
    ASSERT_EQ(text.compare(0, tag.size(), tag), 0) << one.step << " " << one.condition;
    const ProbeRow &row = runs.of(one.step, one.condition);
    EXPECT_EQ(row.plainAnswer, "accepted") << one.step << " " << one.condition << ": " << row.detail;
    EXPECT_EQ(row.expertAnswer, text.substr(tag.size(), text.find('\n') - tag.size())) << one.step << " " << one.condition << ": " << row.detail;
    EXPECT_EQ(row.evidence, row.expertAnswer == "accepted" ? ConditionEvidence::NotNeeded : ConditionEvidence::Needed);
  }
}

TEST_F(Counterexamples, AConditionWithoutOneStaysUnproved) {
  const ProbeRow &row = runs.of("vector_load", "nobody_asks_this");
  EXPECT_EQ(row.evidence, ConditionEvidence::Unproved);
  EXPECT_EQ(row.expertAnswer, "not_run");
}

TEST_F(Counterexamples, AreAskedOnlyWhereTheKernelItselfShowedNothing) {
  ProbeRow needed, proved;
  needed.condition = "order_free";
  needed.evidence = ConditionEvidence::Needed;
  proved.condition = "no_store_between";
  proved.evidence = ConditionEvidence::Proved;
  std::vector<ProbeRow> rows = {needed, proved};
  addCounterexamples("vector_load", rows, runs);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].condition, "no_store_between");
  EXPECT_EQ(rows[2].expertAnswer, "wrong_value");
}

} // namespace
} // namespace klineage
