#include "step/block_a_row.h"
#include "step/reduction.h"
#include <gtest/gtest.h>

using namespace klineage;

namespace {

SourceSet setOf(std::string text) {
  SourceSet sources;
  sources.mainFile = "/kernels/test/kernel.cu";
  sources.files[sources.mainFile] = "#include <cuda_runtime.h>\n#include <float.h>\n" + std::move(text);
  return sources;
}

/// Regions of the first kernel, with the block of 256 that stands for an unknown one.
struct Found {
  std::unique_ptr<Unit> unit;
  KernelModel kernel;
  std::vector<ReductionRegion> regions;
  std::vector<Unexplained> rest;
  explicit Found(std::string text) {
    auto parsed = Unit::parse(setOf(std::move(text)));
    if (!parsed) { ADD_FAILURE() << parsed.error().message(); return; }
    unit = std::move(*parsed);
    kernel.unit = unit.get();
    kernel.function = unit->kernels().front();
    std::vector<KernelModel> kernels;
    Environment environment;
    regions = findReductions({*unit, kernels, environment}, kernel, &rest);
  }
};

std::string describe(const Found &found) {
  std::string text;
  for (const auto &region : found.regions) {
    text += region.function->getNameAsString() + "[" + std::to_string(region.statements.size()) + "]";
    for (const auto &total : region.totals)
      text += std::string(" ") + name(total.combine) + " of " + (total.input.variable ? total.input.variable->getNameAsString() : "an expression") + " in " +
              (total.place.decl ? total.place.decl->getNameAsString() : "the result") + (total.place.cell >= 0 ? "[" + std::to_string(total.place.cell) + "]" : "") + (total.everyThread ? " everywhere" : " first") + " of " +
              std::to_string(total.group);
    text += region.ownedByHelper ? " (helper)\n" : "\n";
  }
  return text;
}

const char *const helpers = R"(
__device__ float warpDown(float v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffffu, v, offset);
  return v;
}
__device__ float warpBest(float best) {
  best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 16));
  best = fmaxf(__shfl_xor_sync(0xffffffffu, best, 8), best);
  best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 4));
  best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
  return fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
}
__device__ float blockTotal(float v) {
  __shared__ float parts[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warpDown(v);
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? parts[lane] : 0.0f;
  if (warp == 0) v = warpDown(v);
  return v;
}
)";

TEST(Reduction, AShuffleLoopInAHelperIsTheSumOfAWarpInItsFirstLane) {
  Found found(std::string(helpers) + "__global__ void k(const float *x, float *y) { float a = x[threadIdx.x]; a = warpDown(a); if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = a; }");
  EXPECT_EQ(describe(found), "warpDown[1] sum of v in v first of 32\nk[1] sum of a in a first of 32 (helper)\n");
}

TEST(Reduction, ButterflyUnrolledByHandIsTheMaximumOfAWarpEverywhere) {
  Found found(std::string(helpers) + "__global__ void k(const float *x, float *y) { float a = x[threadIdx.x]; y[threadIdx.x] = a - warpBest(a); }");
  EXPECT_EQ(describe(found), "warpBest[5] maximum of best in the result everywhere of 32\n");
}

TEST(Reduction, TwoLevelsAreOneReductionOfTheBlockAndTheWarpHelperBelongsToIt) {
  Found found(std::string(helpers) + "__global__ void k(const float *x, float *y) { float a = x[threadIdx.x]; float t = blockTotal(a); if (threadIdx.x == 0) y[0] = t; }");
  EXPECT_EQ(describe(found), "blockTotal[5] sum of v in v first of 256\nk[1] sum of a in t first of 256 (helper)\n");
}

TEST(Reduction, ASharedTreeAndItsBroadcastAreOneRegion) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  __shared__ float tree[256];
  float acc = x[threadIdx.x];
  tree[threadIdx.x] = acc;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) tree[threadIdx.x] += tree[threadIdx.x + s];
    __syncthreads();
  }
  y[threadIdx.x] = acc / tree[0];
  __syncthreads();
  tree[threadIdx.x] = acc * 2.0f;
  __syncthreads();
  if (threadIdx.x == 0) for (int i = 1; i < blockDim.x; ++i) tree[0] = fmaxf(tree[i], tree[0]);
  __syncthreads();
  y[threadIdx.x] += tree[0];
})");
  EXPECT_EQ(describe(found), "k[3] sum of acc in tree everywhere of 256\nk[4] maximum of an expression in tree everywhere of 256\n");
}

TEST(Reduction, ThePairOfAnOnlineSoftmaxIsAMaximumAndAScaledSum) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  float m = x[threadIdx.x], s = 1.0f + x[0];
  for (int o = 16; o > 0; o >>= 1) {
    float mo = __shfl_xor_sync(0xffffffffu, m, o), so = __shfl_xor_sync(0xffffffffu, s, o);
    float mn = fmaxf(m, mo);
    s = s * expf(m - mn) + so * expf(mo - mn);
    m = mn;
  }
  y[threadIdx.x] = m + logf(s);
})");
  EXPECT_EQ(describe(found), "k[1] maximum of m in m everywhere of 32 scaled sum of s in s everywhere of 32\n");
}

const char *const inPlace = R"(
__device__ void best(float *v, int *unused) { for (int o = 1; o < 32; o <<= 1) *v = fmaxf(*v, __shfl_xor_sync(0xffffffffu, *v, o)); }
__device__ void sums(float *v) {
  for (int o = 16; o; o >>= 1)
    for (int i = 0; i < 3; ++i) v[i] += __shfl_down_sync(0xffffffffu, v[i], o);
}
)";

TEST(Reduction, AHelperThatWorksInPlaceLeavesATotalInEachElement) {
  Found found(std::string(inPlace) + R"(__global__ void k(const float *x, float *y) {
  float v[3];
  for (int i = 0; i < 3; ++i) v[i] = x[i];
  sums(v);
  if (threadIdx.x == 0) for (int i = 0; i < 3; ++i) y[i] = v[i];
})");
  EXPECT_EQ(describe(found), "k[1] sum of v in v[0] first of 32 sum of v in v[1] first of 32 sum of v in v[2] first of 32\n");
}

TEST(Reduction, AnElementThatIsNotReadAgainIsNoTotal) {
  Found found(std::string(inPlace) + "__global__ void k(const float *x, float *y) { float v[3] = {x[0], x[1]}; sums(v); if (threadIdx.x == 0) y[0] = v[1]; }");
  EXPECT_EQ(describe(found), "k[1] sum of v in v[1] first of 32\n");
}

TEST(Reduction, AHelperThatIsGivenAnAddressLeavesTheTotalInTheVariable) {
  Found found(std::string(inPlace) + "__global__ void k(const float *x, float *y) { float m = x[threadIdx.x]; best(&m, nullptr); y[threadIdx.x] = m; }");
  EXPECT_EQ(describe(found), "k[1] maximum of m in m everywhere of 32\n");
}

TEST(Reduction, AVariableThatAPointerNamesIsLeftAloneAndSaidWhy) {
  Found found(std::string(inPlace) + "__global__ void k(const float *x, float *y) { float m = x[threadIdx.x], *p = &m; best(&m, nullptr); y[threadIdx.x] = m + *p; }");
  EXPECT_EQ(describe(found), "");
  ASSERT_EQ(found.rest.size(), 1u);
  EXPECT_EQ(found.rest.front().why, "a pointer may name m, which the lanes combine");
}

TEST(Reduction, AMaximumWithItsPlaceIsNoTotalOfOneValue) {
  const char *const pair = R"(
__device__ void larger(float *value, int *place) {
  float v = *value;
  int at = *place;
  for (int o = 1; o < 32; o <<= 1) {
    float w = __shfl_down_sync(0xffffffffu, v, o);
    int there = __shfl_down_sync(0xffffffffu, at, o);
    if (w > v) { v = w; at = there; }
  }
  *value = v;
  *place = at;
}
__global__ void k(const float *x, float *y, int *z) {
  float best = -1e8f;
  int at = 0;
  for (int i = threadIdx.x; i < 100; i += 32) if (x[i] > best) { best = x[i]; at = i; }
  larger(&best, &at);
  if (threadIdx.x == 0) { y[0] = best; z[0] = at; }
}
)";
  Found found(pair);
  EXPECT_EQ(describe(found), "");
  EXPECT_EQ(found.rest.size(), 1u);
}

TEST(Reduction, AScanIsNoReduction) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  float a = x[threadIdx.x];
  for (int o = 1; o < 32; o *= 2) { float up = __shfl_up_sync(0xffffffffu, a, o); if (threadIdx.x % 32 >= o) a += up; }
  y[threadIdx.x] = a;
})");
  EXPECT_EQ(describe(found), "");
  ASSERT_EQ(found.rest.size(), 1u);
  EXPECT_EQ(found.rest.front().why, "what the lanes end with is no sum, product, maximum or minimum of one value of each lane");
}

TEST(Reduction, AMaximumThatStartsAtZeroIsNotTheMaximum) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  __shared__ float slots[256];
  slots[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float best = 0.0f;
  for (int i = 0; i < 256; ++i) best = fmaxf(best, slots[i]);
  y[threadIdx.x] = best;
})");
  EXPECT_EQ(describe(found), "");
}

TEST(Reduction, ATestOfTheSamplesThatOnlyWentOneWayProvesNothing) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  float a = x[threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) a = a < 1000.0f ? a + __shfl_xor_sync(0xffffffffu, a, o) : 0.0f;
  y[threadIdx.x] = a;
})");
  EXPECT_EQ(describe(found), "");
  ASSERT_EQ(found.rest.size(), 1u);
  EXPECT_EQ(found.rest.front().why, "all samples decide a < 1000.0f one way, and what the other leads to was not seen");
}

TEST(Reduction, AValueThatIsClampedBeyondTheSamplesIsNoTotal) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  float a = fminf(x[threadIdx.x], 1.0f);
  for (int o = 16; o > 0; o >>= 1) a = fminf(a + __shfl_xor_sync(0xffffffffu, a, o), 4096.0f);
  y[threadIdx.x] = a;
})");
  EXPECT_EQ(describe(found), "");
}

TEST(Reduction, ATestIsAnsweredBothWaysByMoreSamplesWhereFewGoOneWay) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  __shared__ float tree[256];
  tree[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int s = 128; s > 1; s >>= 1) {
    if (threadIdx.x < s) tree[threadIdx.x] = fmaxf(tree[threadIdx.x], tree[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0 && tree[1] > tree[0]) tree[0] = tree[1];
  __syncthreads();
  y[threadIdx.x] = tree[0];
})");
  EXPECT_EQ(describe(found), "k[5] maximum of an expression in tree everywhere of 256\n");
}

TEST(Reduction, AMaximumThatStartsBelowAllSamplesIsNotTheMaximum) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  __shared__ float slots[8];
  float best = x[threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, o));
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = best;
  __syncthreads();
  best = threadIdx.x % 32 < 8 ? slots[threadIdx.x % 32] : -100.0f;
  for (int o = 16; o > 0; o >>= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, o));
  y[threadIdx.x] = best;
})");
  const std::string warp = "k[1] maximum of best in best everywhere of 32\n";
  EXPECT_EQ(describe(found), warp + warp); // of each warp twice, and never of the block
}

TEST(Reduction, ASumThatStartsFromATinyNumberIsNotTheSum) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  __shared__ float slots[256];
  slots[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float sum = 1e-8f;
  for (int i = 0; i < 256; ++i) sum += slots[i];
  y[threadIdx.x] = sum;
})");
  EXPECT_EQ(describe(found), "");
}

TEST(Reduction, ACounterOfTheLoopAroundIsNotItsFirstValue) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  int width = 16;
  for (int round = 0; round < 3; ++round) {
    float a = x[threadIdx.x + 256 * round];
    for (int o = width; o > 0; o >>= 1) a += __shfl_xor_sync(0xffffffffu, a, o);
    y[threadIdx.x + 256 * round] = a;
    width /= 2;
  }
})");
  EXPECT_EQ(describe(found), "");
}

TEST(Reduction, ACounterThatOnlyTheStretchItselfChangesStartsFromItsDeclaration) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  float a = x[threadIdx.x];
  int o = 16;
  while (o > 0) { a += __shfl_xor_sync(0xffffffffu, a, o); o /= 2; }
  y[threadIdx.x] = a;
})");
  EXPECT_EQ(describe(found), "k[1] sum of a in a everywhere of 32\n");
}

TEST(Reduction, ARunningCountIsAValueOfItsOwn) {
  Found found(R"(
__global__ void k(const float *x, int *y) {
  int count = 0;
  for (int i = threadIdx.x; i < 1000; i += 256) count += x[i] > 0.0f;
  for (int o = 16; o > 0; o >>= 1) count = count + __shfl_xor_sync(0xffffffffu, count, o);
  y[threadIdx.x] = count;
})");
  EXPECT_EQ(describe(found), "k[1] sum of count in count everywhere of 32\n");
}

TEST(Reduction, TheMaximumOfEachTileIsNotTheMaximumOfTheBlock) {
  for (int lanes : {2, 4, 8, 16, 32}) {
    std::string tile = std::to_string(lanes);
    Found found("__global__ void k(const float *x, float *y) {\n__shared__ float slots[256];\nfloat a = x[threadIdx.x];\nslots[threadIdx.x] = a;\n__syncwarp();\n"
                "float t = slots[threadIdx.x / " + tile + " * " + tile + "];\nfor (int i = 1; i < " + tile + "; ++i) t = fmaxf(t, slots[threadIdx.x / " + tile + " * " + tile + " + i]);\n"
                "y[threadIdx.x] = t;\n}");
    EXPECT_EQ(describe(found), "k[4] maximum of a in t everywhere of " + tile + "\n");
  }
}

TEST(Reduction, AGroupOfWhichSomeThreadsAreElsewhereIsNone) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  if (threadIdx.x < 40) {
    float a = x[threadIdx.x];
    for (int o = 16; o > 0; o >>= 1) a += __shfl_xor_sync(0xffffffffu, a, o);
    y[threadIdx.x] = a;
  }
})");
  EXPECT_EQ(describe(found), "");
}

TEST(Reduction, AStoreToAnotherElementLeavesTheTotalWhereItIs) {
  Found found(R"(
__global__ void k(const float *x, float *y) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 3) s[5] = 7.0f;
  __syncthreads();
  y[threadIdx.x] = s[0];
})");
  EXPECT_EQ(describe(found), "k[3] sum of an expression in s everywhere of 256\n");
}

TEST(ThreadRow, WhatOneThreadStoresAndAllThreadsReadIsCarried) {
  for (bool reads : {true, false}) {
    auto unit = Unit::parse(setOf(R"(
__global__ void k(const float *x, float *y, float *z, int rows, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0.0f;
  for (int i = 0; i < n; ++i) s += x[row * n + i];
  z[row] = 1.0f / s;
  for (int i = 0; i < n; ++i) y[row * n + i] = x[row * n + i])" + std::string(reads ? " * z[row]" : "") + R"(;
}
void go(const float *x, float *y, float *z, int rows, int n) { k<<<(rows + 127) / 128, 128>>>(x, y, z, rows, n); }
)"));
    ASSERT_TRUE(unit) << unit.error().message();
    auto kernels = liftKernels(**unit);
    Environment environment;
    auto finding = findThreadRow({**unit, kernels, environment}, kernels.front());
    ASSERT_TRUE(finding.found);
    EXPECT_EQ(finding.found->carriedBuffers, reads ? 1u : 0u);
  }
}

} // namespace
