// Every expert kernel walked back, its lineage compared with a golden text. Times are left out: they belong to the model, not to the lineage.
#include "support/files.h"
#include "walk/walk.h"
#include <cstdlib>
#include <gtest/gtest.h>

namespace klineage {
namespace {
namespace fs = std::filesystem;

std::string lineageText(const std::vector<TransitionRow> &transitions, const WalkReport &report) {
  std::string text;
  for (const auto &row : transitions) {
    text += row.outcome + " " + row.step + " at " + row.locusKind + " " + row.locusLabel + " " + row.parameters;
    if (!row.reason.empty()) text += " " + row.reason;
    // How fast the re-derived form is belongs to the model too: the same features, faster or slower, are one line.
    bool sameFeatures = row.rederived == "reproduced" || row.rederived == name(Reason::Slower);
    if (row.outcome == "accepted") text += ", forward again: " + std::string(sameFeatures ? "same features" : row.rederived);
    text += "\n";
  }
  text += report.status + "\n";
  for (const auto &left : report.left) text += "left: " + left.feature.step + " " + left.reason + "\n";
  return text;
}

class ExpertLineage : public ::testing::TestWithParam<std::string> {};

TEST_P(ExpertLineage, IsTheGoldenOneAndEndsComplete) {
  auto workload = loadWorkload(fs::path(KLINEAGE_SOURCE_DIR) / "expert_kernels" / GetParam());
  ASSERT_TRUE(workload) << workload.error().message();
  auto sources = loadSources(*workload);
  ASSERT_TRUE(sources) << sources.error().message();
  ScratchFolder scratch;
  auto device = makeEmulatedDevice();
  Gate gate(*device, scratch.path() / "gate");
  auto corpus = Corpus::open(scratch.path() / "corpus.db");
  ASSERT_TRUE(corpus) << corpus.error().message();
  WalkOptions options;
  options.probe = false;
  auto report = walk(*workload, *sources, gate, *corpus, device->id(), options);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->status, "complete");
  auto transitions = corpus->transitions(workload->name);
  ASSERT_TRUE(transitions) << transitions.error().message();

  fs::path golden = fs::path(KLINEAGE_SOURCE_DIR) / "tests" / "walk" / "lineages" / (GetParam() + ".txt"), plain = golden;
  plain.replace_extension(".plain.cu");
  std::string got = lineageText(*transitions, *report);
  if (const char *update = std::getenv("KLINEAGE_UPDATE_GOLDENS"); update && *update == '1') {
    ASSERT_TRUE(writeFile(golden, got));
    ASSERT_TRUE(writeFile(plain, report->plain.mainText()));
  }
  auto wanted = readFile(golden), wantedPlain = readFile(plain);
  ASSERT_TRUE(wanted) << wanted.error().message();
  ASSERT_TRUE(wantedPlain) << wantedPlain.error().message();
  EXPECT_EQ(*wanted, got);
  EXPECT_EQ(*wantedPlain, report->plain.mainText());
}

std::vector<std::string> experts() {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(fs::path(KLINEAGE_SOURCE_DIR) / "expert_kernels"))
    if (fs::exists(entry.path() / "workload.json")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Experts, ExpertLineage, ::testing::ValuesIn(experts()), [](const auto &info) { return info.param; });

} // namespace
} // namespace klineage
