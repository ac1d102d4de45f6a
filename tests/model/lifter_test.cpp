#include "tests/model/model_fixture.h"

using namespace klineage;

namespace {

const IndexExpr t = axis(threadIdx(0)), b = axis(blockIdx(0)), d = axis(blockDim(0));

IndexExpr parameterNamed(const KernelModel &kernel, const std::string &name) {
  for (auto *parm : kernel.function->parameters())
    if (parm->getNameAsString() == name) return axis(parameter(parm));
  return {};
}

TEST(Lifter, OneAddressInManySpellingsIsOneIndex) {
  for (const char *body : {
           "int i = blockIdx.x * blockDim.x + threadIdx.x; c[i * 4 + 1] = 0;",
           "c[(threadIdx.x + blockDim.x * blockIdx.x) * 4 + 1] = 0;",
           "unsigned t = threadIdx.x; unsigned base = blockIdx.x * blockDim.x; *(c + 1 + ((base + t) << 2)) = 0;",
           "float *p = c + 4 * (blockIdx.x * blockDim.x + threadIdx.x); p[1] = 0;",
           "float *p = c; p += 4 * (int)threadIdx.x; p = p + blockDim.x * blockIdx.x * 4; *(p + 1) = 0;",
           "size_t i = (size_t)blockIdx.x * blockDim.x; i += threadIdx.x; i *= 4; ++i; c[i] = 0;",
           "const int &x = threadIdx.x + blockIdx.x * blockDim.x; (c + 4 * x)[1] = 0;",
           "struct P { int r, k; }; P p = {int(blockIdx.x * blockDim.x + threadIdx.x), 1}; c[p.r * 4 + p.k] = 0;",
           "int2 p = make_int2(blockIdx.x * blockDim.x + threadIdx.x, 1); c[p.x * 4 + p.y] = 0;",
           "auto at = [&](int r, int k) { return r * 4 + k; }; c[at(blockIdx.x * blockDim.x + threadIdx.x, 1)] = 0;",
           "c[flat(threadIdx.x, 1)] = 0;",
           "float4 *v = reinterpret_cast<float4 *>(c); v[blockIdx.x * blockDim.x + threadIdx.x].y = 0;",
           "uint3 th = threadIdx; dim3 bl = blockIdx; c[(bl.x * blockDim.x + th.x) * 4 + 1] = 0;",
           "int i; i = blockIdx.x * blockDim.x + threadIdx.x; float &x = c[4 * i + 1]; x = 0;"}) {
    auto lifted = liftBody(body, "256", "__device__ int global_index(int t) { int base = blockIdx.x * blockDim.x; return base + t; }\n"
                                        "__device__ int flat(int t, int k) { return 4 * global_index(t) + k; }\n");
    ASSERT_FALSE(lifted.kernels.empty());
    const Access &access = lifted.access("c");
    EXPECT_EQ(access.index.key(), ((b * d + t) * 4 + 1).key()) << body;
    EXPECT_TRUE(access.exact) << body;
    EXPECT_EQ(access.kind, Access::Write) << body;
    EXPECT_EQ(access.space, Space::Global) << body;
  }
}

TEST(Lifter, AVectorViewCountsInElementsOfTheRow) {
  for (const char *body : {"const float *row = a + blockIdx.x * n; float4 v = reinterpret_cast<const float4 *>(row)[threadIdx.x]; c[0] = v.x;",
                           "const float4 *p = (const float4 *)(a + n * blockIdx.x); float4 v = *(p + threadIdx.x); c[0] = v.y;",
                           "float4 v = __ldg(reinterpret_cast<const float4 *>(a + blockIdx.x * n + threadIdx.x * 4)); c[0] = v.x;",
                           "float4 v; v = *reinterpret_cast<const float4 *>(&a[blockIdx.x * n + threadIdx.x * 4]); c[0] = v.x;",
                           "const float4 &v = reinterpret_cast<const float4 &>(a[blockIdx.x * n + threadIdx.x * 4]); float4 w = v; c[0] = w.x;"}) {
    auto lifted = liftBody(body);
    ASSERT_FALSE(lifted.kernels.empty());
    const Access &access = lifted.access("a");
    EXPECT_EQ(access.width, 4u) << body;
    EXPECT_EQ(access.element.getAsString(), "float") << body;
    EXPECT_EQ(access.index, b * parameterNamed(lifted.kernel(), "n") + t * 4) << body << "\n" << access.index.key();
    EXPECT_EQ(access.kind, Access::Read) << body;
  }
}

TEST(Lifter, LoopsInManySpellingsAreOneLoop) {
  for (const char *loop : {"for (int i = 0; i < n; ++i)", "for (int i = 0; n > i; i += 1)", "for (int i = 0; i <= n - 1; i++)", "for (int i = 0; i != n; i++)",
                           "int i; for (i = 0; i < n; i = i + 1)", "for (int j = 0, i = 0; i < n; i++, j += 2)", "for (int i = n - 1; i >= 0; --i)"}) {
    auto lifted = liftBody(std::string(loop) + " c[i] = a[i];");
    ASSERT_FALSE(lifted.kernels.empty());
    ASSERT_EQ(lifted.kernel().loops.size(), 1u) << loop;
    const Loop &found = *lifted.kernel().loops[0];
    EXPECT_EQ(found.begin, IndexExpr(0)) << loop;
    EXPECT_EQ(found.end, parameterNamed(lifted.kernel(), "n")) << loop;
    EXPECT_EQ(found.step, IndexExpr(1)) << loop;
    EXPECT_EQ(lifted.access("a").index, IndexExpr::of(loopVariable(found.variable))) << loop;
    EXPECT_EQ(lifted.access("a").loops.size(), 1u) << loop;
  }
}

TEST(Lifter, AGridStrideLoopKeepsItsStep) {
  auto lifted = liftBody("for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) c[i] = a[i];");
  ASSERT_EQ(lifted.kernel().loops.size(), 1u);
  EXPECT_EQ(lifted.kernel().loops[0]->step, d * axis(gridDim(0)));
  EXPECT_EQ(lifted.kernel().loops[0]->begin, b * d + t);
}

TEST(Lifter, WhatIsNoCanonicalLoopIsNone) {
  for (const char *body : {"int i = 0; while (i < n) { c[i] = 0; ++i; }", "for (int s = n / 2; s > 0; s >>= 1) c[s] = 0;",
                           "for (int i = 0; i < n; ++i) { c[i] = 0; i += 2; }", "for (int i = 0; i < n && a[i] > 0; ++i) c[i] = 0;"}) {
    auto lifted = liftBody(body);
    EXPECT_TRUE(lifted.kernel().loops.empty()) << body;
    EXPECT_TRUE(lifted.access("c").inOpenLoop) << body;
    EXPECT_FALSE(lifted.access("c").exact) << body;
  }
}

TEST(Lifter, APointerMovedInALoopIsAnAffineIndex) {
  for (const char *body : {"const float *p = a + threadIdx.x; for (int k = 0; k < n; k += 8) { c[k] = *p; p += 8 * m; }",
                           "a += threadIdx.x; for (int k = 0; k < n; k += 8, a += m * 8) c[k] = a[0];",
                           "for (int k = 0; k < n; k += 8) { c[k] = a[threadIdx.x]; a += 8 * m; }"}) {
    auto lifted = liftBody(body);
    ASSERT_EQ(lifted.kernel().loops.size(), 1u) << body;
    IndexExpr k = IndexExpr::of(loopVariable(lifted.kernel().loops[0]->variable));
    EXPECT_EQ(lifted.access("a").index, t + k * parameterNamed(lifted.kernel(), "m")) << body << "\n" << lifted.access("a").index.key();
  }
}

TEST(Lifter, ALocalThatChangesInUnknownWaysIsItsOwnQuantity) {
  auto lifted = liftBody("int i = threadIdx.x; if (a[i] > 0) i += 3; c[i] = 0;");
  EXPECT_TRUE(lifted.access("c").index.mentionsKind(Atom::Variable));
  EXPECT_FALSE(lifted.access("c").exact);
  // The copy was taken before the change, so it is not what i is now.
  auto copied = liftBody("int i = 0; while (a[i] > 0) { int j = i; i = n - i; c[j] = 0; }");
  EXPECT_FALSE(copied.access("c").index == copied.access("a").index);
}

TEST(Lifter, EarlyExitsAndBranchesAreGuards) {
  auto lifted = liftBody("int i = threadIdx.x; if (i >= n) return; if (i & 1) c[i] = 0; else { c[i] = 1; } for (int k = 0; k < m; ++k) { if (k == i) continue; c[k] = 2; }");
  EXPECT_EQ(lifted.access("c", 0).guards.size(), 2u);
  EXPECT_TRUE(lifted.access("c", 0).guards[0].negated);
  EXPECT_FALSE(lifted.access("c", 0).guards[1].negated);
  EXPECT_TRUE(lifted.access("c", 1).guards[1].negated);
  EXPECT_EQ(lifted.access("c", 2).guards.size(), 2u);
}

TEST(Lifter, SharedArraysHaveExtentsAndSubscripts) {
  auto lifted = liftBody("__shared__ float tile[2][32][33]; tile[n & 1][threadIdx.x / 8][threadIdx.x % 8] = a[threadIdx.x]; __syncthreads(); c[0] = (&tile[0][0][0])[5];");
  const Access &write = lifted.access("tile");
  EXPECT_EQ(write.subscripts.size(), 3u);
  EXPECT_EQ(write.space, Space::Shared);
  const Buffer *buffer = lifted.kernel().bufferOf(write.buffer);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(buffer->extents, (std::vector<int64_t>{2, 32, 33}));
  EXPECT_EQ(buffer->bytes, 2 * 32 * 33 * 4);
  EXPECT_EQ(lifted.access("tile", 1).index, IndexExpr(5));
  EXPECT_EQ(lifted.kernel().barriers.size(), 1u);
}

TEST(Lifter, ATypedViewOfDynamicSharedMemoryIsABuffer) {
  auto lifted = liftBody("extern __shared__ unsigned char raw[]; float *first = reinterpret_cast<float *>(raw); float *second = first + 128; second[threadIdx.x] = a[0];");
  const Access &write = lifted.access("first");
  EXPECT_EQ(write.index, t + 128);
  EXPECT_EQ(write.space, Space::Shared);
  const Buffer *buffer = lifted.kernel().bufferOf(write.buffer);
  ASSERT_NE(buffer, nullptr);
  EXPECT_NE(buffer->origin, nullptr);
}

TEST(Lifter, AccessesInHelpersAreSeenThroughTheCall) {
  auto lifted = liftBody("put(c + blockIdx.x * 8, threadIdx.x, get(a, n));", "256",
                         "__device__ float get(const float *p, int i) { return p[i + 1]; }\n__device__ void put(float *p, int i, float v) { if (i < 8) p[i] = v; }");
  EXPECT_EQ(lifted.access("c").index, b * 8 + t);
  EXPECT_EQ(lifted.access("c").calls.size(), 1u);
  EXPECT_EQ(lifted.access("c").guards.size(), 1u);
  EXPECT_EQ(lifted.access("a").index, parameterNamed(lifted.kernel(), "n") + 1);
}

TEST(Lifter, CompoundAssignmentsAndAtomicsAreTold) {
  auto lifted = liftBody("c[0] += a[1]; atomicAdd(&c[threadIdx.x], 1.0f); c[2]++;");
  EXPECT_EQ(lifted.access("c", 0).kind, Access::ReadWrite);
  EXPECT_EQ(lifted.access("c", 1).kind, Access::Atomic);
  EXPECT_EQ(lifted.access("c", 1).index, t);
  EXPECT_EQ(lifted.access("c", 2).kind, Access::ReadWrite);
}

TEST(Lifter, AnAsynchronousCopyIsAReadAndAWrite) {
  auto lifted = liftBody("__shared__ float s[256]; unsigned to = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x * 4]);\n"
                         "asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" :: \"r\"(to), \"l\"(a + threadIdx.x * 4));\n"
                         "asm volatile(\"cp.async.wait_all;\"); __syncthreads(); c[0] = s[0];");
  const Access &write = lifted.access("s");
  EXPECT_EQ(write.kind, Access::Write);
  EXPECT_EQ(write.width, 4u);
  EXPECT_EQ(write.index, t * 4);
  ASSERT_NE(write.asyncSource, nullptr);
  EXPECT_EQ(write.asyncSource->index, t * 4);
  ASSERT_EQ(lifted.kernel().barriers.size(), 2u);
  EXPECT_EQ(lifted.kernel().barriers[0].kind, Barrier::AsyncWait);
}

TEST(Lifter, AClampIsBoundedOnBothSides) {
  auto lifted = liftText("__global__ void kernel(float *c) { c[blockIdx.x] = 1.0f; }\n"
                         "extern \"C\" void launch(float *c, long long n) {\n"
                         "  const long long wanted = (n + 4095) / 4096;\n"
                         "  const int blocks = static_cast<int>(wanted < 1 ? 1 : (wanted < 1024 ? wanted : 1024));\n"
                         "  kernel<<<blocks, 32>>>(c);\n"
                         "  kernel<<<(wanted > 9 ? 9 : (wanted > 2 ? wanted : 2)), 32>>>(c);\n"
                         "  kernel<<<(wanted < 20 ? 20 : (wanted < 10 ? wanted : 10)), 32>>>(c);\n" // no clamp: its low end is above its high end
                         "}\n");
  const auto &launches = lifted.kernel().launches;
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(lowerBound(launches[0].gridShape[0]), 1);
  EXPECT_EQ(upperBound(launches[0].gridShape[0]), 1024);
  EXPECT_EQ(lowerBound(launches[1].gridShape[0]), 2);
  EXPECT_EQ(upperBound(launches[1].gridShape[0]), 9);
  EXPECT_EQ(lowerBound(launches[2].gridShape[0]), 0); // 20 or at most 10: bounds that hold, though not the closest
  EXPECT_EQ(upperBound(launches[2].gridShape[0]), 20);
}

TEST(Lifter, ABlockSizeChosenByASizeIsKnownForEachSize) {
  Lifted lifted = liftText("__global__ void kernel(float *c, int n) { c[threadIdx.x] = n; }\n"
                           "extern \"C\" void launch(float *c, int n) {\n"
                           "  const int threads = n <= 64 ? 128 : n < 1000 ? 256 : n == 4096 ? 64 : 512;\n"
                           "  kernel<<<1, threads>>>(c, n);\n}\n");
  const Launch &launch = lifted.kernel().launches.at(0);
  IndexExpr threads = launch.blockShape[0];
  EXPECT_EQ(knownDivisor(threads), 64) << threads.key();
  AtomRef n = parameter(launch.launcher->getParamDecl(1));
  for (auto [size, expected] : std::vector<std::pair<int64_t, int64_t>>{{1, 128}, {64, 128}, {65, 256}, {999, 256}, {1000, 512}, {4096, 64}, {4097, 512}})
    EXPECT_EQ(threads.substitute(n, size).constant(), expected) << size;
}

TEST(Lifter, AChoiceByWhatIsLoadedStaysOpaque) {
  Lifted lifted = liftBody("c[threadIdx.x < 3 ? n : m] = a[0]; c[a[0] > 0.0f ? 1 : 2] = 0.0f;");
  EXPECT_TRUE(lifted.access("c", 0).index.mentionsOpaque());
  EXPECT_TRUE(lifted.access("c", 1).index.mentionsOpaque());
}

TEST(Lifter, InstantiationsAreLiftedWithTheirArguments) {
  auto lifted = liftText(
      "constexpr int side = 16;\n"
      "template <int T, typename E> __global__ void kernel(E *c, int n) { __shared__ E s[T][T + 1]; s[threadIdx.y][threadIdx.x] = c[threadIdx.x]; __syncthreads(); c[n] = s[0][0]; }\n"
      "template <int T> void start(float *p, int rows) { dim3 block(T, T); dim3 grid((rows + T - 1) / T, rows); if (rows > 3) kernel<T, float><<<grid, block, T * 4>>>(p + rows, rows / 4); }\n"
      "extern \"C\" void launch(float *out, int n) { start<side>(out, 2 * n); }\n");
  ASSERT_EQ(lifted.kernels.size(), 1u);
  const KernelModel &kernel = lifted.kernel();
  EXPECT_EQ(lifted.access("s").index, axis(threadIdx(1)) * 17 + t);
  ASSERT_EQ(kernel.launches.size(), 1u);
  const Launch &launch = kernel.launches[0];
  EXPECT_EQ(launch.launcher->getNameAsString(), "launch");
  EXPECT_EQ(launch.blockSize(0), 16);
  EXPECT_EQ(launch.blockSize(1), 16);
  EXPECT_EQ(launch.blockSize(2), 1);
  IndexExpr n = axis(parameter(launch.launcher->getParamDecl(1)));
  EXPECT_EQ(launch.gridShape[1], n * 2);
  EXPECT_EQ(launch.gridShape[0], quotient(n * 2 + 15, 16));
  EXPECT_EQ(launch.sharedSize, IndexExpr(64));
  EXPECT_EQ(launch.buffers[0], launch.launcher->getParamDecl(0));
  EXPECT_EQ(launch.values[0], n * 8);
  EXPECT_EQ(launch.values[1], quotient(n * 2, 4));
  EXPECT_EQ(launch.guards.size(), 1u);
  EXPECT_EQ(kernel.bound(axis(blockDim(0)) * 2), IndexExpr(32));
}

TEST(Uniformity, BarriersUnderThreadDependentConditionsAreNotUniform) {
  struct Case { const char *body; bool uniform; };
  for (auto [body, uniform] : std::initializer_list<Case>{
           {"__syncthreads();", true},
           {"if (n > 3) __syncthreads();", true},
           {"if (threadIdx.x < 3) __syncthreads();", false},
           {"if (threadIdx.x >= n) return; __syncthreads();", false},
           {"if (blockIdx.x >= n) return; __syncthreads();", true},
           {"for (int k = 0; k < n; ++k) __syncthreads();", true},
           {"for (int k = threadIdx.x; k < n; k += blockDim.x) __syncthreads();", false},
           {"for (int k = 0; k < n; ++k) { __syncthreads(); if (a[threadIdx.x] > k) break; }", false},
           {"int trips = n / 4; while (trips > 0) { __syncthreads(); --trips; }", true},
           {"int trips = threadIdx.x; while (trips > 0) { __syncthreads(); --trips; }", false},
           {"int flag = 0; if (a[threadIdx.x] > 0) flag = 1; if (flag) __syncthreads();", false},
           {"if (a[blockIdx.x] > 0) __syncthreads();", true},
           {"if (c[blockIdx.x] > 0) __syncthreads(); c[0] = 1;", false},
           {"if (m) { if (threadIdx.x == 0) return; } __syncthreads();", false}}) {
    auto lifted = liftBody(body);
    ASSERT_EQ(lifted.kernel().barriers.size(), 1u) << body;
    EXPECT_EQ(lifted.kernel().isUniform(lifted.kernel().barriers[0]), uniform) << body;
  }
}

} // namespace
