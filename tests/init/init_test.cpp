#include "init/init.h"
#include "support/files.h"
#include "workload/workload.h"
#include <gtest/gtest.h>

using namespace klineage;

namespace {

/// A CUDA file in a folder of its own, and what init makes of it.
class Made {
public:
  Made(const std::string &text, const std::string &kernel, const std::string &header = "") {
    EXPECT_TRUE(bool(writeFile(file(), text)));
    if (!header.empty()) EXPECT_TRUE(bool(writeFile(scratch.path() / "part.cuh", header)));
    auto result = initKernel({file(), kernel, out()});
    if (result) report = *result;
    else error = result.error();
  }
  std::filesystem::path file() const { return scratch.path() / "given.cu"; }
  std::filesystem::path out() const { return scratch.path() / "out"; }
  Workload workload() const {
    auto loaded = loadWorkload(out());
    EXPECT_TRUE(bool(loaded)) << (loaded ? "" : loaded.error().message());
    return loaded ? *loaded : Workload{};
  }
  std::string at(int line) const { return file().string() + ":" + std::to_string(line); }

  InitReport report;
  std::optional<Error> error;

private:
  ScratchFolder scratch;
};

using Shape = std::vector<std::string>;

} // namespace

TEST(Init, ReadsAWholeWorkloadFromALauncherWhoseKernelGuardsItsAccesses) {
  Made made(R"(
__global__ void scale_kernel(const float *x, float *y, const int *order, int rows, int columns, float factor) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c >= columns) return;
  y[r * columns + c] += factor * x[order[r] * columns + c];
}
extern "C" void scale(const float *source, float *target, const int *order, int m, int n, float f, cudaStream_t s) {
  scale_kernel<<<dim3((n + 127) / 128, m), 128, 0, s>>>(source, target, order, m, n, f);
}
)", "scale");
  ASSERT_FALSE(made.error) << made.error->message();
  EXPECT_FALSE(made.report.wroteLauncher);
  // x is indexed by data, so its shape cannot be seen, and the workload says where to fill it in.
  auto unfilled = loadWorkload(made.out());
  ASSERT_FALSE(bool(unfilled));
  EXPECT_NE(unfilled.error().message().find("fill_in"), std::string::npos) << unfilled.error().message();
  std::string text = *readFile(made.out() / "workload.json");
  size_t hole = text.find("[\"fill_in\"]");
  ASSERT_NE(hole, std::string::npos);
  ASSERT_TRUE(bool(writeFile(made.out() / "workload.json", text.replace(hole, 11, "[\"m\", \"n\"]"))));
  Workload workload = made.workload();
  ASSERT_EQ(workload.arguments.size(), 6u);
  EXPECT_EQ(workload.axes, (Shape{"m", "n"}));
  EXPECT_EQ(workload.arguments[1].kind, ArgumentKind::InOut);
  EXPECT_EQ(workload.arguments[1].shape, (Shape{"m", "n"}));
  EXPECT_EQ(workload.arguments[2].type, ElementType::I32);
  EXPECT_EQ(workload.arguments[2].shape, Shape{"m"});
  EXPECT_FALSE(workload.guessed.empty());
}

TEST(Init, WritesALauncherForAKernelThatHasNone) {
  Made made(R"(
#include "part.cuh"
__global__ void rms_kernel(const float *in, float *out, int columns) {
  const float *row = in + blockIdx.x * columns;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += square(row[i]);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * columns + i] = row[i] * rsqrtf(sum / columns);
}
)", "rms_kernel", "__device__ inline float square(float x) { return x * x; }\n");
  ASSERT_FALSE(made.error) << made.error->message();
  EXPECT_TRUE(made.report.wroteLauncher);
  EXPECT_EQ(made.report.entry, "rms");
  EXPECT_TRUE(std::filesystem::exists(made.out() / "part.cuh"));
  Workload workload = made.workload();
  EXPECT_EQ(workload.entry, "rms");
  ASSERT_EQ(workload.arguments.size(), 4u);
  // Nothing in the kernel bounds its blocks, so the launcher takes their number.
  EXPECT_EQ(workload.arguments[3].name, "blocks_x");
  EXPECT_EQ(workload.arguments[0].shape, (Shape{"blocks_x", "columns"}));
  EXPECT_EQ(workload.arguments[1].shape, (Shape{"blocks_x", "columns"}));
  EXPECT_EQ(workload.arguments[1].kind, ArgumentKind::Output);
  // What was written is a launcher that init itself finds and understands.
  auto again = initKernel({made.out() / "kernel.cu", "rms", made.out() / "again"});
  ASSERT_TRUE(bool(again)) << again.error().message();
  EXPECT_FALSE(again->wroteLauncher);
  auto reread = loadWorkload(made.out() / "again");
  ASSERT_TRUE(bool(reread)) << reread.error().message();
  EXPECT_EQ(reread->arguments[0].shape, workload.arguments[0].shape);
  // It does not write over what is there.
  auto over = initKernel({made.file(), "rms_kernel", made.out()});
  ASSERT_FALSE(bool(over));
  EXPECT_NE(over.error().message().find("has a workload.json already"), std::string::npos);
}

TEST(Init, SeesTheShapesOfTheTiledExpert) {
  ScratchFolder folder;
  auto made = initKernel({std::filesystem::path(KLINEAGE_SOURCE_DIR) / "expert_kernels/sgemm/kernel.cu", "sgemm", folder.path() / "out"});
  ASSERT_TRUE(bool(made)) << made.error().message();
  auto workload = loadWorkload(folder.path() / "out");
  ASSERT_TRUE(bool(workload)) << workload.error().message();
  EXPECT_EQ(workload->arguments[0].shape, (Shape{"m", "k"}));
  EXPECT_EQ(workload->arguments[1].shape, (Shape{"k", "n"}));
  EXPECT_EQ(workload->arguments[2].shape, (Shape{"m", "n"}));
}

TEST(Init, SaysWhatIsWrongAndWhere) {
  const std::string kernel = "__global__ void copy_kernel(const float *x, float *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }\n";
  struct {
    const char *what;
    std::string text, name;
    int line;
    const char *says;
  } cases[] = {
      {"misspelt name", kernel, "copy_kernal", 0, "did you mean copy_kernel?"},
      {"no kernel at all", "int x;\n", "x", 0, "no __global__ function"},
      {"does not parse", kernel + "__global__ void broken(float *y) { y[0] = nothing; }\n", "copy_kernel", 2, "nothing"},
      {"template without a launcher", "template <typename T> __global__ void t(T *y) { *y = 1; }\n", "t", 1, "is a template"},
      {"launcher without a stream", kernel + "extern \"C\" void copy(const float *x, float *y, int n) { copy_kernel<<<1, 32>>>(x, y, n); }\n", "copy", 2,
       "does not end in a cudaStream_t"},
      {"structure by value", "struct P { float *y; int n; };\n__global__ void k(P p) { p.y[0] = 1; }\n", "k", 2, "cannot describe the parameter \"p\""},
      {"pointer to pointers", "__global__ void k(float **y) { y[0][0] = 1; }\n", "k", 1, "cannot describe the parameter \"y\""},
      {"no output", "__global__ void k(const float *x) {}\n", "k", 1, "no pointer that it could write through"},
      {"dynamic shared memory", "__global__ void k(float *y) { extern __shared__ float s[]; s[0] = 1; y[0] = s[0]; }\n", "k", 1, "how many bytes"},
      {"two launchers",
       kernel + "extern \"C\" void a(const float *x, float *y, int n, cudaStream_t s) { copy_kernel<<<1, 32, 0, s>>>(x, y, n); }\n"
                "extern \"C\" void b(const float *x, float *y, int n, cudaStream_t s) { copy_kernel<<<1, 64, 0, s>>>(x, y, n); }\n",
       "copy_kernel", 1, "name one of them: a, b"},
  };
  for (const auto &given : cases) {
    SCOPED_TRACE(given.what);
    Made made(given.text, given.name);
    ASSERT_TRUE(made.error);
    EXPECT_EQ(made.error->fault, Fault::User);
    std::string message = made.error->message();
    EXPECT_NE(message.find(given.says), std::string::npos) << message;
    if (given.line) EXPECT_NE(message.find(made.at(given.line)), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(made.out() / "workload.json"));
  }
  auto missing = initKernel({"/nowhere/at/all.cu", "k", "/nowhere/out"});
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(missing.error().message().find("no such file"), std::string::npos);
}

TEST(Init, NeedsNoNameWhereThereIsOneLauncherAndListsThemWhereThereAreMore) {
  const std::string kernel = "__global__ void twice_kernel(float *y, int n) { int i = threadIdx.x; if (i < n) y[i] *= 2; }\n";
  const std::string launcher = "extern \"C\" void twice(float *y, int n, cudaStream_t s) { twice_kernel<<<1, 64, 0, s>>>(y, n); }\n";
  Made one(kernel + launcher, "");
  ASSERT_FALSE(one.error) << one.error->message();
  EXPECT_EQ(one.report.entry, "twice");
  Made two(kernel + launcher + "extern \"C\" void again(float *y, int n, cudaStream_t s) { twice_kernel<<<1, 32, 0, s>>>(y, n); }\n", "");
  ASSERT_TRUE(two.error);
  EXPECT_NE(two.error->message().find("--kernel NAME"), std::string::npos) << two.error->message();
  EXPECT_NE(two.error->message().find("twice"), std::string::npos) << two.error->message();
  EXPECT_NE(two.error->message().find("again"), std::string::npos) << two.error->message();
}
