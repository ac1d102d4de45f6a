#include "fuzz.h"
#include "support/files.h"
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

namespace klineage::fuzz {
namespace {
namespace fs = std::filesystem;

/// Slower ones say so; a hang of a single input is a finding.
constexpr double secondsAnInput = 20;

std::vector<fs::path> filesIn(const fs::path &folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto &entry : fs::directory_iterator(folder, none)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

fs::path folderOf(const std::string &target) { return fs::path(KLINEAGE_SOURCE_DIR) / "tests/fuzz" / target; }

std::string bent(std::string text, const std::string &donor, std::mt19937 &random) {
  for (unsigned changes = 1 + random() % 4; changes && !text.empty(); --changes) {
    size_t at = random() % text.size(), length = std::min<size_t>(1 + random() % 8, text.size() - at);
    switch (random() % 5) {
    case 0: text.erase(at, length); break;
    case 1: text.insert(at, text.substr(at, length)); break;
    case 2: text[at] = char(random()); break;
    case 3: text[at] ^= char(1 << random() % 7); break;
    default:
      if (!donor.empty()) text.insert(at, donor.substr(random() % donor.size(), 1 + random() % 40));
    }
  }
  return text;
}

class Fuzz : public ::testing::TestWithParam<NamedTarget> {
protected:
  void keepsItsPromises(const std::string &input, const std::string &what) {
    auto begin = std::chrono::steady_clock::now();
    try {
      GetParam().run(input);
    } catch (const std::exception &broken) {
      ADD_FAILURE() << what << ": " << broken.what() << "\n" << input;
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(seconds, secondsAnInput) << what << "\n" << input;
  }
};

TEST_P(Fuzz, SeedsAndFindingsKeepTheirPromises) {
  auto seeds = filesIn(folderOf(GetParam().name) / "seeds");
  EXPECT_FALSE(seeds.empty()) << "a target needs seeds";
  for (const char *kind : {"seeds", "findings"})
    for (const auto &file : filesIn(folderOf(GetParam().name) / kind)) keepsItsPromises(*readFile(file), file.string());
}

TEST_P(Fuzz, BentSeedsKeepTheirPromises) {
  std::string target = GetParam().name;
  unsigned rounds = target == "kernels" ? 24 : target == "query" ? 60 : 600;
  std::vector<std::string> texts;
  for (const auto &file : filesIn(folderOf(target) / "seeds")) texts.push_back(*readFile(file));
  ASSERT_FALSE(texts.empty());
  std::mt19937 random(2026);
  for (unsigned round = 0; round < rounds; ++round) {
    const std::string &source = texts[random() % texts.size()], &donor = texts[random() % texts.size()];
    keepsItsPromises(target == "kernels" ? spliced(source, donor, random) : bent(source, donor, random), "round " + std::to_string(round));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, ::testing::ValuesIn(targets().begin(), targets().end()), [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace klineage::fuzz
