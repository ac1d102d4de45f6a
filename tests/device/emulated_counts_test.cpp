// Counts of the emulated device against what a hand computes from the kernel's text.
#include "candidate.h"

using namespace klineage;

TEST(EmulatedCounts, FourFloatCopyIsOneAccessOfSixteenSectorsARequest) {
  Candidate c(R"(
__global__ void copy(const float4 *in, float4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
extern "C" void launch(const float *in, float *out, int n) { copy<<<(n / 4 + 127) / 128, 128>>>((const float4 *)in, (float4 *)out, n / 4); }
)");
  c.in("in").out("out").size(4096);
  RunOutcome checked = c.run(), outcome = c.run(true);
  ASSERT_EQ(checked.reason, Reason::None) << checked.detail;
  EXPECT_EQ(checked.outputs[1], checked.outputs[0]);
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_EQ(outcome.counters["global_load_requests"], 4096 / 4 / 32);
  EXPECT_EQ(outcome.counters["global_load_sectors"], 4096 * 4 / 32);
  EXPECT_EQ(outcome.counters["global_store_requests"], 4096 / 4 / 32);
  EXPECT_EQ(outcome.counters["global_store_sectors"], 4096 * 4 / 32);
}

TEST(EmulatedCounts, EverySecondFloatTakesTwiceTheSectors) {
  Candidate c(R"(
__global__ void gather(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) out[i] = in[2 * i];
}
extern "C" void launch(const float *in, float *out, int n) { gather<<<n / 2 / 128, 128>>>(in, out, n); }
)");
  c.in("in").out("out", ElementType::F32, "n / 2").size(2048);
  RunOutcome outcome = c.run(true);
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_EQ(outcome.counters["global_load_requests"], 32);
  EXPECT_EQ(outcome.counters["global_load_sectors"], 32 * 8);
  EXPECT_EQ(outcome.counters["global_store_sectors"], 32 * 4);
}

TEST(EmulatedCounts, ColumnOfASharedTileConflictsUnlessPadded) {
  for (int pad : {0, 1}) {
    Candidate c(R"(
__global__ void turn(const float *in, float *out) {
  __shared__ float tile[32][32 + PAD];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" void launch(const float *in, float *out, int n) { turn<<<1, dim3(32, 32)>>>(in, out); }
)");
    c.sources.defines = {"PAD=" + std::to_string(pad)};
    c.in("in").out("out").size(1024);
    RunOutcome outcome = c.run(true);
    ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
    EXPECT_EQ(outcome.counters["shared_load_requests"], 32);
    EXPECT_EQ(outcome.counters["shared_load_wavefronts"], pad ? 32 : 32 * 32);
    EXPECT_EQ(outcome.counters["shared_store_wavefronts"], 32);
    auto in = c.given<float>(0), out = Candidate::elements<float>(outcome.outputs[1]);
    for (int i = 0; i < 1024; ++i)
      ASSERT_EQ(out[i], in[i % 32 * 32 + i / 32]);
  }
}

TEST(EmulatedCounts, WarpsCountInstructionsOfBothSidesOfADivergentBranch) {
  Candidate c(R"(
__global__ void split(const float *in, float *out, int n) {
  int i = threadIdx.x;
  if (i & 1) out[i] = in[i] * 2.0f; else out[i] = __fsqrt_rn(in[i]);
}
extern "C" void launch(const float *in, float *out, int n) { split<<<1, 64>>>(in, out, n); }
)");
  c.in("in", ElementType::F32, "n", {"uniform", 0, 1}).out("out").size(64);
  RunOutcome outcome = c.run(true);
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_EQ(outcome.counters["divergent_branches"], 2);
  EXPECT_EQ(outcome.counters["barriers"], 0);
}

TEST(EmulatedCounts, ShufflesAndBarriersAreCountedByWarpAndBlock) {
  Candidate c(R"(
__global__ void sum(const float *in, float *out) {
  __shared__ float part[4];
  float v = in[blockIdx.x * 128 + threadIdx.x];
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
extern "C" void launch(const float *in, float *out, int n) { sum<<<n / 128, 128>>>(in, out); }
)");
  c.in("in", ElementType::F32, "n", {"integers", -8, 8}).out("out", ElementType::F32, "n / 128").size(512);
  RunOutcome checked = c.run(), outcome = c.run(true);
  ASSERT_EQ(checked.reason, Reason::None) << checked.detail;
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_EQ(outcome.counters["instructions_shuffle"], 5 * 16);
  EXPECT_EQ(outcome.counters["barriers"], 4);
  EXPECT_EQ(outcome.counters["instructions_barrier"], 16);
  auto in = c.given<float>(0), out = Candidate::elements<float>(checked.outputs[1]);
  for (int block = 0; block < 4; ++block) {
    float expected = 0;
    for (int i = 0; i < 128; ++i)
      expected += in[block * 128 + i];
    EXPECT_EQ(out[block], expected);
  }
}

TEST(EmulatedCounts, ARowOfSharedMemoryReadAsFourFloatsIsOneAccessOfItsWidth) {
  Candidate c(R"(
__global__ void fragments(const float *in, float *out) {
  __shared__ float tile[2][8][132];
  for (int i = threadIdx.x; i < 2 * 8 * 132; i += 256) (&tile[0][0][0])[i] = in[i];
  __syncthreads();
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float a[8], b[8], sum = 0.0f;
  for (int stage = 0; stage < 2; ++stage) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      *reinterpret_cast<float4 *>(&a[0]) = *reinterpret_cast<const float4 *>(&tile[stage][k][ty * 4]);
      *reinterpret_cast<float4 *>(&a[4]) = *reinterpret_cast<const float4 *>(&tile[stage][k][64 + ty * 4]);
      *reinterpret_cast<float4 *>(&b[0]) = *reinterpret_cast<const float4 *>(&tile[stage][k][tx * 4]);
      *reinterpret_cast<float4 *>(&b[4]) = *reinterpret_cast<const float4 *>(&tile[stage][k][64 + tx * 4]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum += a[i] * b[j];
    }
  }
  out[threadIdx.x] = sum;
}
extern "C" void launch(const float *in, float *out, int n) { fragments<<<1, 256>>>(in, out); }
)");
  c.in("in").out("out", ElementType::F32, "256").size(2 * 8 * 132);
  RunOutcome outcome = c.run(true);
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  EXPECT_EQ(outcome.counters["shared_load_requests"], 8 * 16 * 4);
  EXPECT_EQ(outcome.counters["shared_load_bytes"], 256 * 16 * 16 * 4);
}
