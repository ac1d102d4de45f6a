// ToolRun: the real programs of build/bin, run as a user runs them, on folders of their own.
#pragma once
#include "support/files.h"
#include "support/subprocess.h"
#include "support/tool.h"
#include "tests/schema/json_schema.h"
#include <gtest/gtest.h>

namespace klineage::testing {
namespace fs = std::filesystem;

inline fs::path sourceFolder() { return KLINEAGE_SOURCE_DIR; }
inline std::string program(const std::string &tool) { return (programFolder() / (tool.empty() ? "klineage" : "klineage-" + tool)).string(); }

/// A scratch folder with its own corpus. The cache is the build's and shared by these tests (parsed CUDA headers age by hash and cost seconds), so
/// each kernel gets a name that no run has seen: what is asked about it is asked anew.
class ToolRun : public ::testing::Test {
protected:
  fs::path folder() const { return scratch.path(); }
  static fs::path cache() { return fs::path(KLINEAGE_BINARY_DIR) / "cli_cache"; }
  std::string corpus() const { return (scratch.path() / "corpus.db").string(); }

  Command command(const std::string &tool, std::vector<std::string> arguments) const {
    Command asked;
    asked.argv = {program(tool)};
    asked.argv.insert(asked.argv.end(), arguments.begin(), arguments.end());
    asked.extraEnv = {{"KLINEAGE_CACHE", cache().string()}, {"KLINEAGE_CORPUS", corpus()}, {"KLINEAGE_PROGRESS", "0"}};
    return asked;
  }
  Finished run(const std::string &tool, std::vector<std::string> arguments, const std::string &input = {}) const {
    Command asked = command(tool, std::move(arguments));
    asked.input = input;
    auto finished = klineage::run(asked);
    EXPECT_TRUE(finished) << (finished ? "" : finished.error().message());
    if (!finished) return {};
    EXPECT_EQ(finished->signal, 0) << tool << " died; it said: " << finished->err;
    EXPECT_FALSE(finished->timedOut) << tool;
    return *finished;
  }

  /// A name that no other run has.
  std::string stamp() const {
    std::string name = folder().filename().string();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }

  /// A kernel folder with the expert form of a step's tests.
  std::string expertOf(const std::string &step, const std::string &name = "kernel") const {
    fs::path from = sourceFolder() / "tests" / "steps" / step, to = folder() / name;
    fs::create_directories(to);
    for (const char *file : {"expert.cu", "workload.json", "reference.cpp"}) fs::copy_file(from / file, to / file, fs::copy_options::overwrite_existing);
    EXPECT_TRUE(writeFile(to / "expert.cu", *readFile(to / "expert.cu") + "\nconstexpr int " + stamp() + " = 0;\n"));
    return to.string();
  }
  static void replace(const fs::path &file, const std::string &from, const std::string &to) {
    std::string text = *readFile(file);
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << file << " does not hold " << from;
    ASSERT_TRUE(writeFile(file, text.replace(at, from.size(), to)));
  }

  /// Standard output is one JSON object that fits its schema in docs/schema.
  nlohmann::json json(const Finished &finished, const std::string &schema) const {
    auto value = nlohmann::json::parse(finished.out, nullptr, false);
    EXPECT_TRUE(value.is_object()) << finished.out << finished.err;
    auto text = readFile(sourceFolder() / "docs" / "schema" / (schema + ".schema.json"));
    EXPECT_TRUE(text) << schema;
    if (text) EXPECT_EQ(mismatch(value, nlohmann::json::parse(*text)), "") << finished.out;
    return value;
  }

  /// Everything below the scratch folder: path and bytes. SQLite's index of the log and an empty log hold nothing; a reader that
  /// may not write leaves them.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto &entry : fs::recursive_directory_iterator(folder())) {
      if (std::string name = entry.path().filename().string(); name.ends_with(".db-shm") || (name.ends_with(".db-wal") && fs::file_size(entry.path()) == 0)) continue;
      else all[entry.path().string()] = entry.is_regular_file() ? *readFile(entry.path()) : "";
    }
    return all;
  }

  ScratchFolder scratch;
};

} // namespace klineage::testing
