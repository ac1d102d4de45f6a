#include "support/files.h"
#include "workload/workload.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace klineage;

namespace {

/// A kernel folder with one good workload, of which tests break one place at a time.
class Folder {
public:
  Folder() {
    put("kernel.cu", "extern \"C\" void scale(const float *x, float *y, int n, float f, cudaStream_t s) {}\n");
    put("reference.cpp", "extern \"C\" void reference(const double *, double *, long long, double) {}\n");
  }
  void put(const std::string &name, const std::string &text) { ASSERT_TRUE(bool(writeFile(scratch.path() / name, text))); }
  Result<Workload> load(const std::string &text) {
    put("workload.json", text);
    return loadWorkload(scratch.path());
  }
  std::string jsonPath() const { return (scratch.path() / "workload.json").string(); }
  const std::filesystem::path &path() const { return scratch.path(); }

private:
  ScratchFolder scratch;
};

const std::string good = R"json({
  "schema": "klineage.workload/1",
  "name": "scale",
  "entry": "scale",
  "family": "elementwise",
  "sources": ["kernel.cu"],
  "axes": ["rows", {"name": "columns", "multiple_of": 4}],
  "arguments": [
    {"name": "x", "kind": "input", "type": "f32", "shape": ["rows", "columns"], "fill": {"kind": "normal"}},
    {"name": "y", "kind": "output", "type": "f16", "shape": ["rows * columns"], "alignment": 16, "offset": 1},
    {"name": "n", "kind": "scalar", "type": "i32", "value": "rows * columns"},
    {"name": "f", "kind": "scalar", "type": "f32", "value": "1 / sqrt(columns)"}
  ],
  "instances": [
    {"name": "small", "axes": {"rows": 3, "columns": 8}, "role": "check"},
    {"name": "masked", "axes": {"rows": 3, "columns": 8}, "role": "check", "fills": {"x": "masked_row"}, "tolerance": {"relative": 0.01}},
    {"name": "large", "axes": {"rows": 300, "columns": 8}, "seed": 9, "role": "profile", "devices": ["cuda"]}
  ],
  "reference": "reference.cpp",
  "tolerance": {"relative": 1e-4},
  "probes": ["ragged", "unaligned"]
}
)json";

std::string with(const std::string &from, const std::string &to) {
  std::string text = good;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

int lineOf(const std::string &text, const std::string &needle) {
  size_t at = text.find(needle);
  EXPECT_NE(at, std::string::npos) << needle;
  return 1 + int(std::count(text.begin(), text.begin() + long(at), '\n'));
}

struct Broken {
  const char *what, *from, *to;
  const char *line; ///< Text that stands in the line the error must name.
  const char *says;
};

} // namespace

TEST(LoadWorkload, ReadsEveryField) {
  Folder folder;
  auto workload = folder.load(good);
  ASSERT_TRUE(bool(workload)) << workload.error().message();
  EXPECT_EQ(workload->entry, "scale");
  EXPECT_EQ(workload->axes, (std::vector<std::string>{"rows", "columns"}));
  EXPECT_EQ(workload->multiples.at("columns"), 4);
  ASSERT_EQ(workload->arguments.size(), 4u);
  EXPECT_EQ(workload->arguments[0].fill.kind, "normal");
  EXPECT_EQ(workload->arguments[0].alignment, 256u);
  EXPECT_EQ(workload->arguments[1].type, ElementType::F16);
  EXPECT_EQ(workload->arguments[1].offset, 1u);
  ASSERT_EQ(workload->instances.size(), 3u);
  EXPECT_EQ(workload->fillOf(workload->arguments[0], workload->instances[1]).kind, "masked_row");
  EXPECT_EQ(workload->toleranceOf(workload->instances[1]).relative, 0.01);
  EXPECT_EQ(workload->toleranceOf(workload->instances[0]).relative, 1e-4);
  EXPECT_FALSE(workload->instances[2].check);
  EXPECT_TRUE(workload->instances[2].profile);
  EXPECT_EQ(workload->instances[2].devices, std::vector<std::string>{"cuda"});
}

TEST(LoadWorkload, HashesTheReferenceToo) {
  Folder folder;
  auto before = folder.load(good);
  folder.put("reference.cpp", "extern \"C\" void reference(const double *, double *, long long, double) { /* other */ }\n");
  auto after = folder.load(good);
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->hash, after->hash);
}

TEST(LoadWorkload, NamesLineAndRemedyOfEveryMistake) {
  const Broken cases[] = {
      {"unknown key", "\"entry\"", "\"entri\"", "entri", "did you mean \"entry\"?"},
      {"unknown key in an argument", "\"alignment\": 16", "\"aligment\": 16", "aligment", "did you mean \"alignment\"?"},
      {"unknown key in an instance", "\"seed\": 9", "\"sead\": 9", "sead", "did you mean \"seed\"?"},
      {"unknown key in a scalar", "\"value\": \"rows * columns\"", "\"shape\": [1]", "\"shape\": [1]", "no key \"shape\""},
      {"other schema", "workload/1", "workload/2", "workload/2", "this version reads klineage.workload/1"},
      {"key twice", "\"name\": \"scale\",", "\"name\": \"scale\",\n  \"name\": \"again\",", "again", "given twice"},
      {"missing key", "  \"entry\": \"scale\",\n", "", "{\n", "lacks the key \"entry\""},
      {"missing comma", "\"scale\",\n  \"entry\"", "\"scale\"\n  \"entry\"", "\"entry\"", "not JSON"},
      {"unknown family", "elementwise", "elementwize", "elementwize", "did you mean \"elementwise\"?"},
      {"unknown type", "\"f16\"", "\"half\"", "\"half\"", "it is one of f32"},
      {"unknown fill", "\"normal\"", "\"norml\"", "norml", "did you mean \"normal\"?"},
      {"unknown axis in a shape", "[\"rows\", \"columns\"]", "[\"rows\", \"colums\"]", "colums", "did you mean \"columns\"?"},
      {"bad expression", "\"rows * columns\"]", "\"rows * \"]", "\"rows * \"]", "missing"},
      {"negative extent", "[\"rows * columns\"]", "[\"rows - 100\"]", "rows - 100", "is -97"},
      {"missing axis value", "{\"rows\": 300, \"columns\": 8}", "{\"rows\": 300}", "300", "no value for the axis \"columns\""},
      {"axis value that breaks the contract", "\"columns\": 8}, \"role\": \"check\"}", "\"columns\": 9}, \"role\": \"check\"}", "9}", "not a multiple of 4"},
      {"negative axis", "\"rows\": 300", "\"rows\": -3", "-3", "at least 0"},
      {"wrong type", "\"rows\": 300", "\"rows\": \"300\"", "\"300\"", "must be an integer, but is a string"},
      {"scalar out of range", "\"type\": \"i32\", \"value\": \"rows * columns\"", "\"type\": \"i8\", \"value\": \"rows * columns\"", "i8", "does not fit i8"},
      {"no output", "\"output\"", "\"input\"", "\"arguments\"", "no argument is an output"},
      {"nothing checked", "\"role\": \"check\"}", "\"role\": \"profile\"}", "masked", ""},
      {"unknown device", "\"cuda\"", "\"gpu\"", "\"gpu\"", "emulated, cuda"},
      {"unknown probe", "\"unaligned\"", "\"misaligned\"", "misaligned", "did you mean \"unaligned\"?"},
      {"source that is not there", "[\"kernel.cu\"]", "[\"kernle.cu\"]", "kernle", "no file \"kernle.cu\""},
      {"fill of an output", "\"alignment\": 16", "\"fill\": \"ones\"", "\"ones\"", "is not filled, for it is an output"},
      {"alignment that is no power of two", "\"alignment\": 16", "\"alignment\": 24", "24", "power of two"},
      {"tolerance that everything meets", "\"tolerance\": {\"relative\": 1e-4}", "\"tolerance\": {\"relative\": 1.0}", "1.0", "between 0 and 0.5"},
      {"fill of an argument that does not exist", "\"fills\": {\"x\"", "\"fills\": {\"z\"", "\"z\"", "the inputs are x"},
      {"entry that is no name", "\"entry\": \"scale\"", "\"entry\": \"sc ale\"", "sc ale", "not a C identifier"},
      {"argument twice", "\"name\": \"f\"", "\"name\": \"n\"", "sqrt", "two arguments"},
      {"instance twice", "\"name\": \"large\"", "\"name\": \"small\"", "300", "two instances"},
  };
  for (const Broken &broken : cases) {
    SCOPED_TRACE(broken.what);
    Folder folder;
    std::string text = with(broken.from, broken.to);
    if (std::string(broken.what) == "nothing checked") {
      size_t at = text.find("\"role\": \"check\"");
      text.replace(at, 15, "\"role\": \"profile\"");
    }
    auto workload = folder.load(text);
    ASSERT_FALSE(bool(workload));
    EXPECT_EQ(workload.error().fault, Fault::User);
    std::string message = workload.error().message();
    if (std::string(broken.what) == "nothing checked")
      EXPECT_NE(message.find("no instance has the role check"), std::string::npos) << message;
    else
      EXPECT_EQ(workload.error().where, folder.jsonPath() + ":" + std::to_string(lineOf(text, broken.line))) << message;
    EXPECT_NE(message.find(broken.says), std::string::npos) << message;
  }
}

TEST(LoadWorkload, NamesTheFolderThatHoldsNoWorkload) {
  Folder folder;
  EXPECT_NE(loadWorkload(folder.path()).error().message().find("needs a workload.json"), std::string::npos);
  EXPECT_NE(loadWorkload(folder.path() / "nowhere").error().message().find("no such kernel folder"), std::string::npos);
}

TEST(LoadWorkload, AnswersAnyTruncatedFileWithAUserError) {
  Folder folder;
  for (size_t length = 0; length + 2 < good.size(); length += 7) {
    auto workload = folder.load(good.substr(0, length));
    ASSERT_FALSE(bool(workload)) << length;
    EXPECT_EQ(workload.error().fault, Fault::User);
    EXPECT_EQ(workload.error().where.rfind(folder.jsonPath() + ":", 0), 0u) << workload.error().message();
  }
  for (const char *text : {"[]", "3", "null", "\"x\"", "{}", "\xff\xfe", "{\"schema\": 1}"}) EXPECT_FALSE(bool(folder.load(text))) << text;
}

TEST(ReferenceCaller, LeavesScratchOut) {
  Folder folder;
  auto workload = folder.load(with("\"kind\": \"input\", \"type\": \"f32\", \"shape\": [\"rows\", \"columns\"], \"fill\": {\"kind\": \"normal\"}",
                                   "\"kind\": \"scratch\", \"type\": \"f32\", \"shape\": [64]"));
  // The second instance fills x, which is now no input.
  ASSERT_FALSE(bool(workload));
  std::string text = good;
  auto swap = [&](const std::string &from, const std::string &to) { text.replace(text.find(from), from.size(), to); };
  swap("\"fills\": {\"x\": \"masked_row\"}", "\"sample_blocks\": 3");
  swap("\"kind\": \"input\"", "\"kind\": \"scratch\"");
  swap(", \"fill\": {\"kind\": \"normal\"}", "");
  workload = folder.load(text);
  ASSERT_TRUE(bool(workload)) << workload.error().message();
  EXPECT_EQ(workload->instances[1].sampleBlocks, 3u);
  EXPECT_EQ(referenceCaller(*workload).find("arguments[0]"), std::string::npos);
  EXPECT_NE(referenceCaller(*workload).find("reference(static_cast<double *>(arguments[1])"), std::string::npos);
  auto inputs = makeInputs(*workload, workload->instances[0], 1);
  ASSERT_TRUE(bool(inputs));
  EXPECT_TRUE(inputs->arguments[0].bytes.empty());
  EXPECT_EQ(inputs->arguments[0].count, 24u);
}

TEST(ReferenceCaller, PassesBuffersAsDoublesAndScalarsAsDoubleOrLongLong) {
  Folder folder;
  auto workload = folder.load(good);
  ASSERT_TRUE(bool(workload));
  std::string text = referenceCaller(*workload);
  EXPECT_NE(text.find("static_cast<const double *>(arguments[0])"), std::string::npos);
  EXPECT_NE(text.find("static_cast<double *>(arguments[1])"), std::string::npos);
  EXPECT_NE(text.find("*static_cast<const long long *>(arguments[2])"), std::string::npos);
  EXPECT_NE(text.find("*static_cast<const double *>(arguments[3])"), std::string::npos);
  EXPECT_NE(text.find("#include \"" + (workload->folder / "reference.cpp").string()), std::string::npos);
}
