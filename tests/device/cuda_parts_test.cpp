// Parts of the cuda device that need no GPU: what is read, counted and derived.
#include "device/bottleneck.h"
#include "device/cuda/build.h"
#include "device/cuda/job.h"
#include "device/cuda/metrics.h"
#include "device/cuda/worker/activity.h"
#include "device/cuda/worker/counters.h"
#include "device/cuda/worker/driver.h"
#include "support/files.h"
#include "support/subprocess.h"
#include <gtest/gtest.h>

using namespace klineage;

TEST(Activity, OverlappingStreamsCountOnceAndGapsNot) {
  auto call = cuda::recordOf({{1000, 3000, true}, {2000, 4000, true}, {6000, 7000, true}, {6200, 6500, false}});
  EXPECT_DOUBLE_EQ(call.busySeconds, 4000e-9);
  EXPECT_DOUBLE_EQ(call.gapSeconds, 2000e-9);
  EXPECT_EQ(call.kernels, 3u);
  EXPECT_EQ(call.copies, 1u);
  EXPECT_EQ(cuda::recordOf({}).kernels, 0u);
}

TEST(DriverVerdict, WhatAKernelDoesToTheDeviceHasItsReason) {
  EXPECT_STREQ(cuda::verdictOf(CUDA_ERROR_ILLEGAL_ADDRESS).reason, "out_of_bounds");
  EXPECT_STREQ(cuda::verdictOf(CUDA_ERROR_MISALIGNED_ADDRESS).reason, "misaligned");
  EXPECT_STREQ(cuda::verdictOf(CUDA_ERROR_LAUNCH_FAILED).reason, "crash");
  EXPECT_STREQ(cuda::verdictOf(CUDA_ERROR_OUT_OF_MEMORY).reason, "resources_exceeded");
  EXPECT_TRUE(cuda::verdictOf(CUDA_ERROR_ILLEGAL_ADDRESS).contextLost);
  EXPECT_FALSE(cuda::verdictOf(CUDA_ERROR_INVALID_VALUE).contextLost);
  for (int error = 1; error < 1000; ++error) EXPECT_TRUE(reasonNamed(cuda::verdictOf(CUresult(error)).reason)) << error;
}

TEST(Sass, MnemonicsAreCountedWithoutPredicatesAndPadding) {
  auto counts = cuda::countSass("\t\tFunction : scale\n"
                                "        /*0000*/                   LDC R1, c[0x0][0x28] ;                     /* 0x00000a00ff017b82 */\n"
                                "                                                                              /* 0x000fe20000000800 */\n"
                                "        /*0010*/              @P0  EXIT ;                                     /* 0x000000000000094d */\n"
                                "        /*0020*/                   LDG.E.128 R4, desc[UR4][R2.64] ;           /* 0x0000000402047981 */\n"
                                "        /*0030*/             @!P1  LDG.E.128 R8, desc[UR4][R2.64] ;           /* 0x0000000402047981 */\n"
                                "        /*0040*/                   BRA 0x40 ;                                 /* 0xfffffffc00fc7947 */\n"
                                "        /*0050*/                   NOP;                                       /* 0x0000000000007918 */\n");
  EXPECT_EQ(counts["LDG.E.128"], 2);
  EXPECT_EQ(counts["EXIT"], 1);
  EXPECT_EQ(counts["LDC"], 1);
  EXPECT_EQ(counts.count("NOP"), 0u);
  EXPECT_EQ(counts.size(), 4u);
}

TEST(Thunk, ALauncherOfAnyReturnAndParametersIsCalled) {
  // Compiled as plain C++ with a stand-in for the runtime: what matters is that types are taken from the launcher.
  ScratchFolder scratch;
  std::string text = "typedef int cudaError_t; inline int cudaGetLastError() { return 0; } inline const char *cudaGetErrorName(int) { return \"none\"; }\n"
                     "extern \"C\" void launch(const float *x, double factor, long long n, short flag, void *stream) {\n"
                     "  *const_cast<float *>(x) = float(factor * double(n) + flag + (stream ? 1 : 0)); }\n";
  ASSERT_TRUE(writeFile(scratch.path() / "version.h", text));
  ASSERT_TRUE(writeFile(scratch.path() / "thunk.cpp", cuda::thunkText((scratch.path() / "version.h").string(), "launch") +
                                                          "int main() { float y = 0, *x = &y; double f = 2.5; long long n = 4; short s = 3; int here; void *stream = &here;\n"
                                                          "  void *a[] = {&x, &f, &n, &s, &stream}; klineage_thunk::Status status{}; klineage_call(a, &status);\n"
                                                          "  return klineage_parameters == 5 && y == 14 && status.returned == 0 ? 0 : 1; }\n"));
  auto built = run({.argv = {"g++", "-std=c++17", (scratch.path() / "thunk.cpp").string(), "-o", (scratch.path() / "thunk").string()}});
  ASSERT_TRUE(built && built->ok()) << (built ? built->err : built.error().message());
  auto ran = run({.argv = {(scratch.path() / "thunk").string()}});
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->exitCode, 0);
}

TEST(Build, TooMuchSharedMemoryIsAResourceAndATypoIsACompileError) {
  EXPECT_EQ(cuda::reasonOfFailure("ptxas error   : Entry function 'k' uses too much shared data (0x20000 bytes, 0xc000 max)"), Reason::ResourcesExceeded);
  EXPECT_EQ(cuda::reasonOfFailure("kernel.cu(3): error: expected a \";\""), Reason::CompileError);
}

TEST(Metrics, EachIsKnownOnTheChipOfAnH200) {
  std::string cupti = cuptiLibrary();
  if (cupti.empty()) GTEST_SKIP() << "no CUPTI on this machine";
  std::string error;
  auto unknown = cuda::unknownMetrics(cupti, "GH100", cuda::wantedMetrics(), error);
  EXPECT_EQ(error, "");
  for (const auto &metric : unknown) ADD_FAILURE() << metric;
  EXPECT_EQ(cuda::unknownMetrics(cupti, "GH100", {"l1tex__no_such_thing.sum"}, error).size(), 1u);
}

TEST(Metrics, ACounterOfTwoMetricsIsTheirSumAndNeedsBoth) {
  auto counters = cuda::countersFrom({{"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", 3}, {"l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", 4},
                                      {"l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", 5}});
  EXPECT_EQ(counters["global_atomic_requests"], 7);
  EXPECT_EQ(counters.count("global_atomic_sectors"), 0u);
}

TEST(Bottleneck, TheBusiestUnitOrTheReasonWarpsWait) {
  EXPECT_EQ(bottleneckOf({{"percent_dram", 91}, {"percent_l2", 70}, {"percent_issue", 20}}).kind, "dram");
  EXPECT_EQ(bottleneckOf({{"percent_fma", 85}, {"percent_issue", 80}, {"percent_dram", 10}}).kind, "fma");
  auto waiting = bottleneckOf({{"percent_dram", 30}, {"percent_issue", 12}, {"stall_long_scoreboard", 8}, {"stall_barrier", 1}, {"stall_not_selected", 20}});
  EXPECT_EQ(waiting.kind, "latency");
  EXPECT_EQ(waiting.stall, "stall_long_scoreboard");
  EXPECT_EQ(bottleneckOf({}).kind, "unknown");
}

TEST(CudaJob, SlicesOfALargeBufferLieInsideIt) {
  for (uint64_t bytes : {uint64_t(4), cuda::freshBytesAtMost, cuda::freshBytesAtMost + 4, uint64_t(1) << 33}) {
    uint64_t slices = cuda::slicesOf(bytes), length = cuda::sliceLength(bytes);
    EXPECT_LE(slices * length, std::max(cuda::freshBytesAtMost, bytes <= cuda::freshBytesAtMost ? bytes : 0));
    EXPECT_LE(cuda::sliceBegin(bytes, slices - 1) + length, bytes);
    EXPECT_EQ(cuda::sliceBegin(bytes, slices - 1) % 8, 0u);
  }
}

TEST(CudaDevice, WithoutAGpuTheMessageSaysWhatToDo) {
  auto device = makeCudaDevice(0);
  if (device) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(device.error().fault, Fault::User);
  EXPECT_NE(device.error().message().find("emulated"), std::string::npos) << device.error().message();
  EXPECT_FALSE(deviceNamed("cuda:x"));
  EXPECT_FALSE(deviceNamed("rocm"));
  EXPECT_TRUE(deviceNamed("emulated"));
}
