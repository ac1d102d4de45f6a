// The pages and the schema say the same as the code.
#include "support/files.h"
#include "workload/workload.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace klineage;

namespace {
const std::filesystem::path root = KLINEAGE_SOURCE_DIR;
std::string text(const std::filesystem::path &file) {
  auto content = readFile(root / file);
  EXPECT_TRUE(bool(content)) << file;
  return content ? *content : "";
}
std::vector<std::string> sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words;
}
} // namespace

TEST(WorkloadDocuments, SchemaListsTheSameWordsAsTheReader) {
  auto schema = nlohmann::json::parse(text("docs/schema/workload.schema.json"));
  EXPECT_EQ(sorted(schema["properties"]["family"]["enum"].get<std::vector<std::string>>()), sorted(families()));
  EXPECT_EQ(sorted(schema["$defs"]["fill_kind"]["enum"].get<std::vector<std::string>>()), sorted(fillKinds()));
  EXPECT_EQ(sorted(schema["properties"]["probes"]["items"]["enum"].get<std::vector<std::string>>()), sorted(probeNames()));
  for (const auto &type : schema["$defs"]["type"]["enum"]) EXPECT_TRUE(elementTypeNamed(type.get<std::string>()).has_value()) << type;
}

TEST(WorkloadDocuments, PagesNameEveryFamilyFillAndProbe) {
  std::string familyPage = text("docs/families.md"), workloadPage = text("docs/workload.md");
  for (const std::string &family : families()) EXPECT_NE(familyPage.find("| `" + family + "` |"), std::string::npos) << family;
  for (const std::string &fill : fillKinds()) EXPECT_NE(workloadPage.find("`" + fill + "`"), std::string::npos) << fill;
  for (const std::string &probe : probeNames()) EXPECT_NE(workloadPage.find("`" + probe + "`"), std::string::npos) << probe;
}

TEST(WorkloadDocuments, TheExampleOfThePageLoads) {
  std::string page = text("docs/workload.md");
  size_t begin = page.find("```json\n") + 8, end = page.find("```", begin);
  ScratchFolder folder;
  ASSERT_TRUE(bool(writeFile(folder.path() / "workload.json", page.substr(begin, end - begin))));
  ASSERT_TRUE(bool(writeFile(folder.path() / "kernel.cu", "")));
  ASSERT_TRUE(bool(writeFile(folder.path() / "reference.cpp", "")));
  auto workload = loadWorkload(folder.path());
  EXPECT_TRUE(bool(workload)) << workload.error().message();
}
