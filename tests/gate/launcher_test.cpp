#include "gate/launcher.h"
#include "fake_device.h"
#include "source/unit.h"

using namespace klineage;
using namespace klineage::testing;

namespace {

const std::string kernel = "__global__ void affine(const float *x, float *y, int n) {\n"
                           "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "  if (i < n) y[i] = 2 * x[i] + 1;\n"
                           "}\n"
                           "template <int N> __global__ void wide(const float *x, float *y, int n) { y[threadIdx.x % n] = x[0] + N; }\n"
                           "template <class T> __host__ __device__ T up(T a, T b) { return (a + b - 1) / b; }\n";

class Launcher : public GateTest {
protected:
  /// The finding on a launcher with this body, with text before it and includes before that.
  std::optional<LauncherFinding> read(const std::string &body, const std::string &before = "", const std::string &includes = "",
                                      const std::string &parameters = "const float *x, float *y, int n, cudaStream_t stream") {
    auto set = version("tried.cu", includes + kernel + before + "extern \"C\" void launch(" + parameters + ") {\n" + body + "\n}\n");
    auto unit = Unit::parse(set);
    EXPECT_TRUE(unit) << (unit ? "" : unit.error().message());
    if (!unit) return std::nullopt;
    return checkLauncher(**unit, workload);
  }
  void allowed(const std::string &body, const std::string &before = "", const std::string &includes = "") {
    auto finding = read(body, before, includes);
    EXPECT_FALSE(finding) << body << "\n  " << finding->detail;
  }
  void refused(Reason reason, const std::string &said, const std::string &body, const std::string &before = "", const std::string &includes = "") {
    auto finding = read(body, before, includes);
    ASSERT_TRUE(finding) << before << body;
    EXPECT_STREQ(name(finding->reason), name(reason)) << before << body << "\n  " << finding->detail;
    EXPECT_NE(finding->detail.find(said), std::string::npos) << finding->detail;
  }
};

const std::string go = "affine<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);";

} // namespace

TEST_F(Launcher, ArithmeticHelpersLambdasAndRuntimeCallsAreAllowed) {
  allowed(go);
  allowed("dim3 block(32, 4); dim3 grid; grid.x = up(n, 32 * 4); if (n > 0) affine<<<grid, block>>>(x, y, n);");
  allowed("for (int s = n; s > 1; s /= 2) affine<<<1, s, 0, stream>>>(x, &y[s], s);");
  allowed("int sizes[2] = {n, 128}; sizes[0] += 1; switch (sizes[0] % 2) { case 0: wide<4><<<1, 32>>>(x, y, n); break; default: " + go + " }");
  allowed("cudaFuncSetAttribute(wide<8>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); wide<8><<<1, 32, 65536, stream>>>(x, y, n); cudaGetLastError();");
  allowed("auto grid = [&](int b) { return (n + b - 1) / b; }; affine<<<grid(64), 64>>>(x, y, n);");
  allowed("void *work = nullptr; cudaMallocAsync(&work, 4 * n, stream); cudaMemsetAsync(work, 0, 4 * n, stream); affine<<<1, n>>>(x, (float *)work, n); "
          "cudaMemcpyAsync(y, work, 4 * n, cudaMemcpyDeviceToDevice, stream); cudaFreeAsync(work, stream);");
  allowed("void *arguments[] = {&x, &y, &n}; cudaLaunchKernel((const void *)affine, dim3(1), dim3(32), arguments, 0, stream);");
  allowed("bool aligned = reinterpret_cast<size_t>(x) % 16 == 0; int b = aligned ? 128 : 64; " + go);
}

TEST_F(Launcher, LaunchThroughAMacroOrATemplateHelperIsRead) {
  allowed("RUN(affine)", "#define RUN(k) k<<<1, 32, 0, stream>>>(x, y, n);\n");
  allowed("run<4>(x, y, n, stream);", "template <int N> void run(const float *x, float *y, int n, cudaStream_t s) { wide<N><<<1, N, 0, s>>>(x, y, n); }\n");
}

TEST_F(Launcher, FilesProcessesAndTheHeapAreForbidden) {
  refused(Reason::ForbiddenSideEffect, "fopen", "fopen(\"/tmp/x\", \"w\"); " + go, "", "#include <cstdio>\n");
  refused(Reason::ForbiddenSideEffect, "printf", "printf(\"hello\"); " + go, "", "#include <cstdio>\n");
  refused(Reason::ForbiddenSideEffect, "system", "system(\"true\"); " + go, "", "#include <cstdlib>\n");
  refused(Reason::ForbiddenSideEffect, "fork", "fork(); " + go, "", "#include <unistd.h>\n");
  refused(Reason::ForbiddenSideEffect, "heap", "int *p = new int[4]; " + go);
  refused(Reason::ForbiddenSideEffect, "ofstream", "std::ofstream out(\"x\"); " + go, "", "#include <fstream>\n");
}

TEST_F(Launcher, SideEffectInAHelperIsFoundAtItsLine) {
  refused(Reason::ForbiddenSideEffect, "tried.cu:9", "helper(); " + go, "void helper() { fopen(\"/tmp/x\", \"w\"); }\n", "\n#include <cstdio>\n");
}

TEST_F(Launcher, StateBetweenCallsIsForbidden) {
  refused(Reason::ForbiddenSideEffect, "'calls'", "static int calls = 0; ++calls; " + go);
  refused(Reason::ForbiddenSideEffect, "'last'", "if (last == x) return; last = x; " + go, "const float *last;\n");
  allowed("static const int width = 128; affine<<<1, width>>>(x, y, n);");
}

TEST_F(Launcher, DeviceMemoryIsNotTouchedByTheHost) {
  refused(Reason::ForbiddenSideEffect, "through a pointer", "y[0] = 1; " + go);
  refused(Reason::ForbiddenSideEffect, "through a pointer", "*y = 1; " + go);
  refused(Reason::ForbiddenSideEffect, "to the host", "float first; cudaMemcpyAsync(&first, x, 4, cudaMemcpyDeviceToHost, stream); " + go);
  refused(Reason::ForbiddenSideEffect, "from an integer", "affine<<<1, 32>>>((const float *)4096L, y, n);");
}

TEST_F(Launcher, StreamsOfItsOwnAreForbidden) {
  refused(Reason::ForbiddenSideEffect, "stream that it is given", "cudaStream_t mine; cudaStreamCreate(&mine); affine<<<1, 32, 0, mine>>>(x, y, n);");
}

TEST_F(Launcher, CallThroughAPointerCannotBeJudged) {
  refused(Reason::ForbiddenSideEffect, "through a pointer", "void (*f)(int) = nullptr; f(1); " + go);
}

TEST_F(Launcher, LibrariesThatDoTheWorkAreDelegation) {
  refused(Reason::Delegated, "cublasSgemm", "cublasSgemm(0); " + go, "extern \"C\" int cublasSgemm(int);\n");
  refused(Reason::Delegated, "thrust::fill", "thrust::fill(y, 1); ", "namespace thrust { void fill(float *, int); }\n");
  refused(Reason::Delegated, "cuModuleRun", "cuModuleRun(); ", "extern \"C\" int cuModuleRun();\n");
  refused(Reason::Delegated, "other", "other<<<1, 32>>>(x, y, n);", "__global__ void other(const float *, float *, int);\n");
}

TEST_F(Launcher, ClocksEnvironmentAndSymbolsOfTheGateAreTampering) {
  refused(Reason::Tampered, "getenv", "if (getenv(\"KLINEAGE\")) return; " + go, "", "#include <cstdlib>\n");
  refused(Reason::Tampered, "clock", "clock(); " + go, "", "#include <ctime>\n");
  refused(Reason::Tampered, "chrono", "auto t = std::chrono::steady_clock::now(); " + go, "", "#include <chrono>\n");
  refused(Reason::Tampered, "cudaMalloc", go, "extern \"C\" int cudaMallocHidden() { return 0; }\n");
  refused(Reason::Tampered, "load time", go, "__attribute__((constructor)) void early() {}\n");
  refused(Reason::Tampered, "another symbol", go, "extern \"C\" int mine() __asm__(\"cudaGetLastError\");\nextern \"C\" int mine() { return 0; }\n");
  refused(Reason::Tampered, "file scope", go, "asm(\".globl kl_store\");\n");
  refused(Reason::Tampered, "assembly", "asm volatile(\"rdtsc\" ::: \"rax\", \"rdx\"); " + go);
}

TEST_F(Launcher, CodeAtLoadTimeIsForbidden) {
  refused(Reason::ForbiddenSideEffect, "load time", go, "int now();\nint started = now();\n");
  allowed(go, "const int width = 4 * 32; __device__ int counter; static constexpr float half = 0.5f;\n");
}

TEST_F(Launcher, LauncherWithoutALaunchHasNoDeviceKernel) { refused(Reason::NoDeviceKernel, "no kernel", "int blocks = n / 128; (void)blocks;"); }

TEST_F(Launcher, ParametersMustBeTheWorkloads) {
  auto few = read("affine<<<1, 32>>>(x, y, 1);", "", "", "const float *x, float *y");
  ASSERT_TRUE(few);
  EXPECT_EQ(few->reason, Reason::LaunchError);
  auto swapped = read("affine<<<1, 32>>>(x, y, n);", "", "", "const float *x, int n, float *y");
  ASSERT_TRUE(swapped);
  EXPECT_NE(swapped->detail.find("parameter 2"), std::string::npos) << swapped->detail;
  auto wide = read("affine<<<1, 32>>>(x, y, n);", "", "", "const float *x, float *y, long n");
  ASSERT_TRUE(wide);
  EXPECT_FALSE(read("affine<<<1, 32>>>(x, y, n);", "", "", "const float *x, float *y, int n"));
}

TEST_F(Launcher, EntryMustExistAndBeExternC) {
  auto unit = Unit::parse(version("none.cu", kernel + "void launch(const float *x, float *y, int n) { affine<<<1, 32>>>(x, y, n); }\n"));
  ASSERT_TRUE(unit);
  auto finding = checkLauncher(**unit, workload);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->reason, Reason::LaunchError);
}

TEST_F(Launcher, RefusedLauncherNeverReachesTheDevice) {
  auto verdict = judge(version("tried.cu", "#include <cstdlib>\n" + kernel + "extern \"C\" void launch(const float *x, float *y, int n) { system(\"true\"); " +
                                               "affine<<<1, 32>>>(x, y, n); }\n"));
  EXPECT_EQ(verdict.reason, Reason::ForbiddenSideEffect);
  EXPECT_EQ(device.runs, 0);
}
