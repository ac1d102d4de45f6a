#include "source/unit.h"
#include "support/files.h"
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace klineage;

namespace {

SourceSet setOf(std::string text) {
  SourceSet sources;
  sources.mainFile = "/kernels/test/kernel.cu";
  sources.files[sources.mainFile] = std::move(text);
  return sources;
}

const char *const twoSides = R"(#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define TWICE(x) ((x) + (x))
#define LOAD(p, i) reinterpret_cast<const float4 *>(p)[i]
template <int N> __global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = TWICE(x[i] * N);
}
__global__ void copy(const float *in, float4 *out) { out[threadIdx.x] = LOAD(in, threadIdx.x); }
extern "C" void launch(float *x, const float *in, int n, cudaStream_t stream) {
  scale<4><<<(n + 127) / 128, 128, 0, stream>>>(x, n);
  scale<8><<<(n + 127) / 128, 128, 0, stream>>>(x, n);
  copy<<<1, 32, 0, stream>>>(in, reinterpret_cast<float4 *>(x));
}
)";

template <typename T> class FirstOf : public clang::RecursiveASTVisitor<FirstOf<T>> {
public:
  bool VisitStmt(clang::Stmt *stmt) {
    if (!found)
      if (auto *hit = llvm::dyn_cast<T>(stmt)) found = hit;
    return true;
  }
  T *found = nullptr;
};
template <typename T> const T *first(const clang::FunctionDecl *function) {
  FirstOf<T> finder;
  finder.TraverseStmt(function->getBody());
  return finder.found;
}

TEST(Unit, BothSidesOfAKernelFileAreParsedAndInstantiationsInUseAreListed) {
  auto unit = Unit::parse(setOf(twoSides));
  ASSERT_TRUE(unit) << unit.error().message();
  auto kernels = (*unit)->kernels();
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0]->getNameAsString(), "scale");
  EXPECT_EQ(kernels[2]->getNameAsString(), "copy");
}

/// The median time of parsing both sides of a text that changes each time, in milliseconds a side.
double millisecondsASide(const std::string &headers) {
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    auto set = setOf(headers + "__global__ void k(float *x) { x[threadIdx.x] *= " + std::to_string(i) + ".5f; }\n"
                               "extern \"C\" void launch(float *x, cudaStream_t stream) { k<<<1, 32, 0, stream>>>(x); }\n");
    auto begin = std::chrono::steady_clock::now();
    auto unit = Unit::parse(set);
    double taken = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / 2;
    EXPECT_TRUE(unit);
    if (i) times.push_back(taken); // the first one may compile the preamble
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

TEST(Unit, AChangedKernelIsParsedAgainWithinItsBudget) {
  double own = millisecondsASide("#include <cuda_runtime.h>\n");
  double heavy = millisecondsASide("#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n#include <cooperative_groups.h>\n");
  std::printf("[ parse    ] %.1f ms a side with cuda_runtime.h, %.1f ms with mma and cooperative groups\n", own, heavy);
  EXPECT_LT(own, 60);
  EXPECT_LT(heavy, 150);
}

TEST(Unit, ADamagedPreambleIsMadeAnew) {
  auto cache = std::filesystem::temp_directory_path() / ("klineage_preamble_" + std::to_string(::getpid()));
  ::setenv("KLINEAGE_CACHE", cache.c_str(), 1);
  ASSERT_TRUE(Unit::parse(setOf(twoSides)));
  unsigned damaged = 0;
  for (const auto &entry : std::filesystem::directory_iterator(cache / "preamble"))
    if (entry.path().extension() == ".pch") {
      std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / (++damaged * 2));
    }
  EXPECT_EQ(damaged, 2u);
  auto unit = Unit::parse(setOf(twoSides));
  EXPECT_TRUE(unit) << unit.error().message();
  ::unsetenv("KLINEAGE_CACHE");
  std::filesystem::remove_all(cache);
}

/// A version on disk: a kernel file that includes a header of its own, which includes one that no version changes.
struct IncludingVersion {
  ScratchFolder scratch;
  SourceSet sources;
  IncludingVersion(const std::string &own, const std::string &fixed, const std::string &body = "__global__ void k(float *x) { x[0] = FIXED; }\n") {
    ::setenv("KLINEAGE_CACHE", (scratch.path() / "cache").c_str(), 1);
    std::filesystem::create_directories(scratch.path() / "own");
    std::filesystem::create_directories(scratch.path() / "fixed");
    (void)writeFile(scratch.path() / "own" / "own.cuh", own);
    (void)writeFile(scratch.path() / "fixed" / "fixed.h", fixed);
    sources.mainFile = (scratch.path() / "kernel.cu").string();
    sources.files[sources.mainFile] = "#include \"own.cuh\"\n" + body;
    sources.includeFolders = {(scratch.path() / "own").string(), (scratch.path() / "fixed").string()};
    sources.rewriteRoots = {(scratch.path() / "own").string()};
  }
  ~IncludingVersion() { ::unsetenv("KLINEAGE_CACHE"); }
  /// How many preambles hold the fixed header, by their text: two when both sides precompile it.
  unsigned preambles() const {
    unsigned count = 0;
    for (const auto &entry : std::filesystem::directory_iterator(scratch.path() / "cache" / "preamble"))
      if (auto text = readFile(entry.path()); entry.path().extension() == ".h" && text) count += text->find("<fixed.h>") != std::string::npos;
    return count;
  }
};

const char *const guarded = "#pragma once\n#ifndef FIXED\n#define FIXED 1.0f\n#endif\nconstexpr float seenByFixed = FIXED;\ntemplate <typename T> struct Fixed { T value; };\n";

TEST(Preamble, AHeaderBehindAHeaderOfTheVersionIsPrecompiledAndTheVersionsOwnIsNot) {
  IncludingVersion version("#pragma once\n#ifndef USE_OTHER\n#include <fixed.h>\n#else\n#include <other.h>\n#endif\ninline __device__ float one() { return 1.0f; }\n", guarded);
  auto unit = Unit::parse(version.sources);
  ASSERT_TRUE(unit) << unit.error().message();
  EXPECT_EQ(version.preambles(), 2u);
  EXPECT_EQ((*unit)->sources().files.size(), 2u); // the version's own header can still be edited
  auto changed = (*unit)->sources();
  for (auto &[file, text] : changed.files)
    if (file.ends_with("own.cuh")) text += "#define ADDED 2\n";
  changed.files[changed.mainFile] += "static_assert(ADDED == 2, \"\");\n";
  auto again = Unit::parse(changed);
  EXPECT_TRUE(again) << again.error().message();
}

TEST(Preamble, AHeaderThatAsksForAMacroOfTheVersionIsReadWhereItStands) {
  IncludingVersion version("#pragma once\n#define FIXED 2.0f\n#include <fixed.h>\n", guarded, "static_assert(seenByFixed == 2.0f, \"\");\n__global__ void k(float *x) { x[0] = FIXED; }\n");
  auto unit = Unit::parse(version.sources);
  ASSERT_TRUE(unit) << unit.error().message();
  EXPECT_EQ(version.preambles(), 0u);
}

TEST(Preamble, AHeaderInsideBracesOrReadTwiceIsReadWhereItStands) {
  IncludingVersion inside("#pragma once\nnamespace own {\n#include <fixed.h>\n}\ninline own::Fixed<int> made;\n", guarded);
  auto unit = Unit::parse(inside.sources);
  ASSERT_TRUE(unit) << unit.error().message();
  EXPECT_EQ(inside.preambles(), 0u);
  IncludingVersion twice("#pragma once\n#include <fixed.h>\n", "#define FIXED 1.0f\nstatic int counted;\n");
  EXPECT_TRUE(Unit::parse(twice.sources));
  EXPECT_EQ(twice.preambles(), 0u);
}

TEST(Preamble, WhatADirectiveOfTheVersionsHeaderChangesIsSeenAtTheNextParse) {
  IncludingVersion version("#pragma once\n#include <fixed.h>\n", guarded);
  auto unit = Unit::parse(version.sources);
  ASSERT_TRUE(unit) << unit.error().message();
  ASSERT_EQ(version.preambles(), 2u);
  auto changed = (*unit)->sources();
  for (auto &[file, text] : changed.files)
    if (file.ends_with("own.cuh")) text = "#pragma once\n#define FIXED 2.0f\n#include <fixed.h>\n";
  changed.files[changed.mainFile] += "static_assert(seenByFixed == 2.0f, \"\");\n";
  auto again = Unit::parse(changed);
  EXPECT_TRUE(again) << again.error().message();
}

TEST(Preamble, AClassOfAHeaderKeepsItsVirtualFunctionsForCodeThatUsesIt) {
  IncludingVersion version("#pragma once\n#include <fixed.h>\n",
                           "#pragma once\n#define FIXED 1.0f\ntemplate <typename T> struct Shape { virtual ~Shape() {} virtual T area() { return T(3); } };\ninline int used() { Shape<int> shape; return shape.area(); }\n",
                           "__global__ void k(float *x) { x[0] = FIXED; }\nextern \"C\" int ask(Shape<int> *other) { Shape<int> made; Shape<int> *one = other ? other : &made; return one->area() + used(); }\n");
  llvm::LLVMContext context;
  auto host = emitIR(version.sources, Side::Host, context);
  ASSERT_TRUE(host) << host.error().message();
  ASSERT_EQ(version.preambles(), 1u);
  llvm::GlobalVariable *table = (*host)->getGlobalVariable("_ZTV5ShapeIiE", true);
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(table->hasInitializer());
  llvm::Function *area = (*host)->getFunction("_ZN5ShapeIiE4areaEv");
  ASSERT_NE(area, nullptr);
  EXPECT_FALSE(area->isDeclaration());
}

TEST(Unit, AStatementHasItsPlaceAndItsText) {
  auto unit = Unit::parse(setOf(twoSides));
  ASSERT_TRUE(unit) << unit.error().message();
  auto *condition = first<clang::IfStmt>((*unit)->kernels()[0]);
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ((*unit)->text(condition->getCond()), "i < n");
  auto place = (*unit)->place(condition);
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_EQ(place->line, 7u);
  EXPECT_EQ(place->file, "/kernels/test/kernel.cu");
}

TEST(Unit, CodeFromTheBodyOfAMacroHasNoPlaceAndSaysWhy) {
  auto unit = Unit::parse(setOf(twoSides));
  ASSERT_TRUE(unit) << unit.error().message();
  auto *cast = first<clang::CXXReinterpretCastExpr>((*unit)->kernels()[2]);
  ASSERT_NE(cast, nullptr);
  auto place = (*unit)->place(cast);
  ASSERT_FALSE(place);
  EXPECT_NE(place.error().what.find("macro"), std::string::npos) << place.error().message();
}

TEST(Unit, ReplacementsInsideAStatementKeepTheRestAsItWas) {
  auto unit = Unit::parse(setOf(twoSides));
  ASSERT_TRUE(unit) << unit.error().message();
  auto *condition = first<clang::IfStmt>((*unit)->kernels()[0]);
  auto *compare = llvm::cast<clang::BinaryOperator>(condition->getCond());
  EXPECT_EQ((*unit)->textWith(compare, {{compare->getLHS(), "(i + 1)"}}), "(i + 1) < n");
}

TEST(Unit, AnErrorNamesFileLineAndCause) {
  auto unit = Unit::parse(setOf("__global__ void broken(float *x) { x[0] = missing_intrinsic(1.0f); }\n"));
  ASSERT_FALSE(unit);
  EXPECT_EQ(unit.error().fault, Fault::User);
  EXPECT_NE(unit.error().where.find("kernel.cu:1:"), std::string::npos) << unit.error().message();
  EXPECT_NE(unit.error().what.find("missing_intrinsic"), std::string::npos) << unit.error().message();
}

TEST(Prelude, SuppliesWhatNvccHasAndClangLacks) {
  auto unit = Unit::parse(setOf(R"(#include <cuda_runtime.h>
__global__ void hinted(float *a, int4 *b, const float4 *c) {
  __stcs(a, 1.0f);
  __stcg(b, __ldcs(b));
  __stwt(a + 1, __ldcv(a));
  a[2] = __ldg(c).x + (isfinite(a[1]) ? 1.0f : 0.0f);
}
extern "C" void launch(float *a, int n, cudaStream_t stream) {
  int blocks = max(n, 3);
  if (isfinite(1.0f * n)) blocks = min(blocks, 4);
  hinted<<<blocks, 32, 0, stream>>>(a, nullptr, nullptr);
}
)"));
  ASSERT_TRUE(unit) << unit.error().message();
}

TEST(EmitIR, DeviceCodeIsNvptxAndHostCodeCallsTheLaunch) {
  llvm::LLVMContext context;
  auto device = emitIR(setOf(twoSides), Side::Device, context);
  ASSERT_TRUE(device) << device.error().message();
  EXPECT_TRUE((*device)->getTargetTriple().isNVPTX());
  auto host = emitIR(setOf(twoSides), Side::Host, context);
  ASSERT_TRUE(host) << host.error().message();
  EXPECT_NE((*host)->getFunction("launch"), nullptr);
  EXPECT_NE((*host)->getFunction("cudaLaunchKernel"), nullptr);
}

TEST(Edits, OverlappingEditsAreRefusedAndEqualOnesCountOnce) {
  auto sources = setOf("abcdef");
  auto once = applyEdits(sources, {{sources.mainFile, 1, 2, "X"}, {sources.mainFile, 1, 2, "X"}});
  ASSERT_TRUE(once) << once.error().message();
  EXPECT_EQ(once->mainText(), "aXdef");
  auto clash = applyEdits(sources, {{sources.mainFile, 1, 2, "X"}, {sources.mainFile, 2, 2, "Y"}});
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().fault, Fault::Refusal);
}

TEST(Edits, AFileOutsideTheRewriteRootsMayNotBeEdited) {
  auto sources = setOf("abc");
  auto result = applyEdits(sources, {{"/usr/include/stdio.h", 0, 0, "x"}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("may not be rewritten"), std::string::npos);
}

TEST(VersionHash, CommentsAndLayoutDoNotCountButTokensDo) {
  EXPECT_EQ(versionHash(setOf("int a = 1; // one\n")), versionHash(setOf("int  a\n=1;")));
  EXPECT_NE(versionHash(setOf("int a = 1;")), versionHash(setOf("int a = 2;")));
}

TEST(Formatted, TwoLayoutsOfOneTextBecomeEqual) {
  EXPECT_EQ(formatted(setOf("void f(){int a=1;}")).mainText(), formatted(setOf("void f() {\n int a = 1; }")).mainText());
}

TEST(Formatted, OnlyWhiteSpaceMoves) {
  // A literal past the column limit, and a macro that would fit on one line without its continuation.
  const std::string text = "#define TWICE(x) \\\n  ((x) + (x))\nvoid f(){const char*s=\"" + std::string(70, 'a') + " " + std::string(70, 'b') + "\";int a=TWICE(1);}\n";
  auto visible = [](std::string all) { std::erase_if(all, [](unsigned char c) { return std::isspace(c); }); return all; };
  std::string laidOut = formatted(setOf(text)).mainText();
  EXPECT_EQ(visible(laidOut), visible(text));
  EXPECT_NE(laidOut.find("int a = TWICE(1);"), std::string::npos) << laidOut;
}

} // namespace
