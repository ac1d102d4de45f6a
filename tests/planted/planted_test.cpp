// The gate against what was planted: written cheats for their stated reasons, right variants, and a sample of the mutants of every kernel.
#include "planted/table.h"
#include "support/files.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace klineage;
namespace fs = std::filesystem;

namespace {

const fs::path root = KLINEAGE_SOURCE_DIR;

const std::vector<PlantedKernel> &everything() {
  static const std::vector<PlantedKernel> all = [] {
    std::vector<fs::path> folders;
    for (const auto &below : {root / "expert_kernels", root / "tests/gate/bases"})
      for (const auto &entry : fs::directory_iterator(below)) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    std::vector<PlantedKernel> kernels;
    for (const auto &folder : folders) {
      auto kernel = plantedIn(folder, root / "tests/gate");
      EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message());
      if (kernel) kernels.push_back(std::move(*kernel));
    }
    return kernels;
  }();
  return all;
}

std::vector<PlantedKernel> only(PlantedKind kind, size_t count) {
  std::vector<PlantedKernel> kernels = everything();
  for (auto &kernel : kernels) std::erase_if(kernel.planted, [&](const Planted &planted) { return planted.kind != kind; });
  sample(kernels, count);
  return kernels;
}

std::vector<Tried> judged(const std::vector<PlantedKernel> &kernels, bool withUsualCheck) {
  auto byHand = readByHand(root / "tests/gate/equivalent.json");
  EXPECT_TRUE(byHand) << (byHand ? "" : byHand.error().message());
  Trial trial(cacheFolder() / "gate", byHand ? *byHand : std::vector<ByHand>());
  trial.compareWithUsualCheck(withUsualCheck);
  std::vector<Tried> all;
  for (const auto &kernel : kernels)
    for (const auto &planted : kernel.planted) all.push_back(trial.ask(kernel, planted));
  return all;
}

} // namespace

TEST(Planted, CorpusIsLargeEnoughToSaySomething) {
  size_t wrong = 0, right = 0;
  std::set<std::string> ids;
  for (const auto &kernel : everything())
    for (const auto &planted : kernel.planted) {
      ++(planted.kind == PlantedKind::Variant ? right : wrong);
      ids.insert(planted.id());
    }
  EXPECT_GE(wrong, 400u);
  EXPECT_GE(right, 100u);
}

TEST(Planted, SampleIsEvenAndAlwaysTheSame) {
  auto one = only(PlantedKind::Mutant, 50), other = only(PlantedKind::Mutant, 50);
  std::vector<std::string> first, second;
  std::set<std::string> kernels;
  for (const auto &kernel : one)
    for (const auto &planted : kernel.planted) first.push_back(planted.id()), kernels.insert(kernel.workload.name);
  for (const auto &kernel : other)
    for (const auto &planted : kernel.planted) second.push_back(planted.id());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.size(), 50u);
  EXPECT_GE(kernels.size(), 5u);
}

TEST(Planted, EveryWrittenCheatIsRefusedForItsReason) {
  for (const Tried &tried : judged(only(PlantedKind::Cheat, 1000), false)) {
    EXPECT_STREQ(name(tried.outcome), "refused") << tried.id << ": " << name(tried.reason) << ": " << tried.detail;
    EXPECT_TRUE(tried.hasExpectedReason()) << tried.id << ": " << name(tried.reason) << " instead of " << tried.expected.front() << ": " << tried.detail;
  }
}

TEST(Planted, RightVariantsAreAccepted) {
  for (const Tried &tried : judged(only(PlantedKind::Variant, 14), false))
    EXPECT_STREQ(name(tried.outcome), "accepted") << tried.id << ": " << name(tried.reason) << ": " << tried.detail;
}

TEST(Planted, SampledMutantsAreRefusedOrShownToBeEquivalent) {
  PlantedTable table = count(judged(only(PlantedKind::Mutant, 32), true));
  for (const Tried &tried : table.falseAccepts) ADD_FAILURE() << "accepted: " << tried.id << " `" << tried.was << "`";
  for (const Tried &tried : table.undecided) ADD_FAILURE() << "undecided: " << tried.id << ": " << tried.detail;
  EXPECT_EQ(table.mutants.planted, 32u);
  EXPECT_EQ(table.mutants.refused + table.mutants.sameCode + table.mutants.byHand + table.mutants.beyond, 32u);
  EXPECT_GE(table.mutants.refused, 26u) << "a sample in which many mutants are equivalent shows little";
  EXPECT_GE(table.mutants.usualAccepted, 5u) << "the usual check misses much of it";
}
