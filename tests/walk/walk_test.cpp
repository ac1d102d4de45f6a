#include "walk/walk.h"
#include "support/files.h"
#include <gtest/gtest.h>

namespace klineage {
namespace {
namespace fs = std::filesystem;

/// A kernel folder made of a step's test kernels, a device, a gate and an empty corpus.
struct Bench {
  ScratchFolder scratch;
  std::unique_ptr<Device> device = makeEmulatedDevice();
  Gate gate{*device, scratch.path() / "gate"};
  Workload workload;
  SourceSet sources;

  explicit Bench(const std::string &step) {
    fs::path from = fs::path(KLINEAGE_SOURCE_DIR) / "tests" / "steps" / step, folder = scratch.path() / "kernel";
    fs::create_directories(folder);
    for (const char *file : {"expert.cu", "workload.json", "reference.cpp"}) fs::copy_file(from / file, folder / file);
    auto loaded = loadWorkload(folder);
    if (!loaded) throw std::runtime_error(loaded.error().message());
    workload = *loaded;
    auto text = loadSources(workload);
    if (!text) throw std::runtime_error(text.error().message());
    sources = *text;
  }
  Corpus corpus() const { return std::move(*Corpus::open(scratch.path() / "corpus.db")); }
};

TEST(Walk, TakesEveryFeatureOutAndWritesASkillForEach) {
  Bench bench("unroll");
  Corpus corpus = bench.corpus();
  auto report = walk(bench.workload, bench.sources, bench.gate, corpus, bench.device->id());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->status, "complete");
  EXPECT_EQ(report->accepted, 2) << "two pragmas";
  EXPECT_EQ(report->plain.mainText().find("#pragma"), std::string::npos) << report->plain.mainText();
  auto transitions = corpus.transitions(bench.workload.name);
  ASSERT_TRUE(transitions);
  for (const auto &transition : *transitions) {
    EXPECT_EQ(transition.outcome, "accepted") << transition.reason << ": " << transition.detail;
    EXPECT_EQ(transition.rederived, "reproduced") << transition.rederivedDetail;
    for (const auto &point : transition.effects) EXPECT_FALSE(point.measured) << "the emulated device measures nothing";
  }
}

TEST(Walk, StoppedAfterEachTryItGoesOnAndLosesNothing) {
  Bench whole("unroll"), pieces("unroll");
  Corpus corpusA = whole.corpus();
  auto reference = walk(whole.workload, whole.sources, whole.gate, corpusA, whole.device->id());
  ASSERT_TRUE(reference) << reference.error().message();

  std::string status;
  for (int calls = 0; calls < 10 && status != "complete"; ++calls) {
    Corpus corpus = pieces.corpus(); // opened anew, as after a kill
    int asked = 0;
    WalkOptions options;
    options.stop = [&] { return ++asked > 1; };
    auto report = walk(pieces.workload, pieces.sources, pieces.gate, corpus, pieces.device->id(), options);
    ASSERT_TRUE(report) << report.error().message();
    status = report->status;
    EXPECT_EQ(report->resumed, calls > 0);
  }
  EXPECT_EQ(status, "complete");
  Corpus corpusB = pieces.corpus();
  auto a = corpusA.transitions(whole.workload.name), b = corpusB.transitions(pieces.workload.name);
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->size(), b->size());
  for (size_t i = 0; i < a->size(); ++i) {
    EXPECT_EQ((*a)[i].step, (*b)[i].step);
    EXPECT_EQ((*a)[i].to, (*b)[i].to);
    EXPECT_EQ((*a)[i].outcome, (*b)[i].outcome);
  }
}

TEST(Walk, AnExpertThatFailsItsOwnReferenceIsAUsersMistake) {
  Bench bench("unroll");
  bench.sources.files[bench.sources.mainFile].replace(bench.sources.mainText().find("1.0f"), 4, "2.0f");
  Corpus corpus = bench.corpus();
  auto report = walk(bench.workload, bench.sources, bench.gate, corpus, bench.device->id());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().fault, Fault::User);
  EXPECT_NE(report.error().what.find("wrong_value"), std::string::npos) << report.error().message();
}

} // namespace
} // namespace klineage
