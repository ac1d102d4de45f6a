#include "facts/condition.h"
#include "support/files.h"
#include "tests/model/model_fixture.h"

using namespace klineage;

namespace {

const char *const source = R"(
__global__ void row(const float *__restrict__ a, float *c, float *d, int n, int k) {
  __shared__ float tile[32][33];
  tile[threadIdx.x / 32][threadIdx.x % 32] = a[blockIdx.x * n + 4 * threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 3) __syncthreads();
  for (int i = 0; i < n; i += 4) c[i * 2] = tile[0][threadIdx.x];
}
extern "C" void launch(const float *a, float *out, float *d, int n, int k, cudaStream_t stream) {
  row<<<n, 128, 64, stream>>>(a, out, d + 1, n, k / 2);
}
)";

class Facts : public ::testing::Test {
protected:
  static const Lifted &code() {
    static Lifted lifted = liftText(source);
    return lifted;
  }
  Environment environment;
  FactBindings bindings;

  void SetUp() override {
    const KernelModel &kernel = code().kernel();
    for (auto *parm : kernel.function->parameters()) {
      if (parm->getType()->isIntegerType()) bindings[parm->getNameAsString()] = IndexExpr::of(parameter(parm));
      else bindings[parm->getNameAsString()] = static_cast<const clang::ValueDecl *>(parm);
    }
    bindings["tile"] = kernel.buffers.at(0).decl;
    bindings["loop"] = static_cast<const Loop *>(kernel.loops.at(0).get());
    bindings["index"] = code().access("a").index;
    bindings["first"] = static_cast<const clang::Stmt *>(kernel.barriers.at(0).stmt);
    bindings["second"] = static_cast<const clang::Stmt *>(kernel.barriers.at(1).stmt);
    bindings["width"] = int64_t(4);
  }
  void giveWorkload() {
    environment.arguments = {{"a", true, 256, {4096, 8192}, false}, {"out", true, 256, {4096, 8192}, false}, {"d", true, 16, {64, 64}, true},
                             {"n", false, 0, {64, 128}, false}, {"k", false, 0, {256, 74}, false}};
    environment.relativeTolerance = 1e-5;
  }
  Answer ask(const std::string &text) {
    auto condition = Condition::parse(text);
    if (!condition) { ADD_FAILURE() << condition.error().message(); return {}; }
    return condition->evaluate({code().kernel(), environment, bindings});
  }
  void expect(const std::string &text, Truth truth) {
    Answer answer = ask(text);
    EXPECT_EQ(name(answer.truth), std::string(name(truth))) << text << ": " << answer.why;
    EXPECT_FALSE(answer.why.empty()) << text;
  }
};

TEST_F(Facts, EachTruthValueIsReached) {
  giveWorkload();
  expect("divisible(n, 4)", Truth::Holds);
  expect("divisible(n, width * 2)", Truth::Holds);
  expect("divisible(k, 4)", Truth::Violated);
  expect("divisible(index, 4)", Truth::Holds);
  expect("divisible(index, 8)", Truth::Violated);
  expect("aligned(a, 16)", Truth::Holds);
  expect("aligned(d, 16)", Truth::Violated);
  expect("disjoint(a, c)", Truth::Holds);
  expect("disjoint(a, d)", Truth::Violated);
  expect("unwritten(a)", Truth::Holds);
  expect("unwritten(c)", Truth::Violated);
  expect("unwritten(d)", Truth::Unknown);
  expect("uniform(first)", Truth::Holds);
  expect("uniform(second)", Truth::Unknown);
  expect("uniform(loop)", Truth::Holds);
  expect("uniform(index)", Truth::Violated);
  expect("tripcount(loop) >= 16", Truth::Holds);
  expect("constant(tripcount(loop))", Truth::Violated);
  expect("constant(block_size)", Truth::Holds);
  expect("block_size == 128 and warp_multiple(block_size)", Truth::Holds);
  expect("single_warp", Truth::Violated);
  expect("shared_bytes == 32 * 33 * 4 + 64", Truth::Holds);
  expect("shared_bytes <= limit", Truth::Holds);
  expect("arch >= 100", Truth::Violated);
  expect("registers <= max_registers", Truth::Unknown);
  expect("reassociation_within(tolerance)", Truth::Holds);
  expect("reassociation_within(1e-3)", Truth::Violated);
  expect("restrict(a)", Truth::Holds);
  expect("restrict(c)", Truth::Violated);
  expect("extent(tile, 1) == 33", Truth::Holds);
  expect("extent(a) >= 4096", Truth::Holds);
  expect("contiguous(index)", Truth::Violated);
  expect("launched", Truth::Holds);
  expect("finite(a)", Truth::Unknown);
}

TEST_F(Facts, WithoutAWorkloadOnlyTheCodeDecides) {
  expect("divisible(n, 4)", Truth::Unknown);
  expect("divisible(4 * n, 4)", Truth::Holds);
  expect("divisible(index, 4)", Truth::Unknown);
  expect("aligned(a, 16)", Truth::Unknown);
  expect("disjoint(a, c)", Truth::Unknown);
  expect("disjoint(a, tile)", Truth::Holds);
  expect("nonnegative(n)", Truth::Unknown);
  expect("reassociation_allowed", Truth::Unknown);
  expect("block_size_x == 128", Truth::Holds);
}

TEST(FactsOfLaunches, ABlockOfRunTimeSizeIsAMultipleWhenEveryLaunchSaysSo) {
  Lifted code = liftText(R"(
__global__ void scaled(float *a, int n) { a[blockIdx.x * blockDim.x + threadIdx.x] = n; }
extern "C" void launch(float *a, int n, cudaStream_t stream) {
  const int wanted = (n + 31) / 32 * 32;
  scaled<<<n, wanted < 1024 ? wanted : 1024, 0, stream>>>(a, n);
  scaled<<<n, 32 * n, 0, stream>>>(a, n);
}
)");
  FactBindings bindings{{"threads", IndexExpr::of(blockDim(0))}};
  auto ask = [&](const char *text) { return Condition::parse(text)->evaluate({code.kernel(), Environment(), bindings}).truth; };
  EXPECT_EQ(ask("divisible(threads, 32)"), Truth::Holds);
  EXPECT_EQ(ask("divisible(threads, 64)"), Truth::Unknown);
}

TEST_F(Facts, UnknownIsNeverTakenForHolds) {
  expect("divisible(n, 4) or arch >= 80", Truth::Holds);
  expect("divisible(n, 4) and arch >= 80", Truth::Unknown);
  expect("divisible(n, 4) and arch >= 100", Truth::Violated);
  expect("not divisible(n, 4)", Truth::Unknown);
  expect("not (arch >= 100)", Truth::Holds);
  expect("nobody_bound_this", Truth::Unknown);
}

TEST_F(Facts, TheAnswerNamesTheNumberThatDecides) {
  giveWorkload();
  EXPECT_NE(ask("divisible(k, 4)").why.find("37"), std::string::npos) << ask("divisible(k, 4)").why;
  EXPECT_NE(ask("arch >= 100").why.find("90"), std::string::npos);
}

TEST(Condition, AMistakeIsNamedWithItsColumn) {
  struct Bad { const char *text, *column; };
  for (auto [text, column] : std::initializer_list<Bad>{{"divisble(n, 4)", "column 1 "}, {"divisible(n)", "column 1 "}, {"divisible(n, 4", "column 15 "}, {"a <", "column 4 "},
                                                        {"(a", "column 3 "}, {"a b", "column 3 "}, {"", "column 1 "}, {"a and and b", "column 7 "}, {"aligned(a, 'x", "column 12 "}, {"12ab", "column 1 "}}) {
    auto parsed = Condition::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().fault, Fault::User) << text;
    EXPECT_EQ(parsed.error().where.substr(0, std::string(column).size()), column) << text << ": " << parsed.error().message();
  }
}

TEST(Condition, ThePageListsEveryFact) {
  auto page = readFile(std::string(KLINEAGE_SOURCE_DIR) + "/docs/conditions.md");
  ASSERT_TRUE(page) << page.error().message();
  for (const FactDescription &fact : describeFacts())
    EXPECT_NE(page->find("| `" + fact.signature + "` | " + fact.meaning + " |"), std::string::npos) << "docs/conditions.md lacks the row of " << fact.name;
}

} // namespace
